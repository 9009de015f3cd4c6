package org.kernbench.tl;

import java.util.Optional;
import org.kernbench.machine.Pe;

/** A tensor that a kernel can reach: it knows which part of it lies at a PE. */
public interface DeviceTensor {
  /** The part that lies in the memory of a PE; empty if none does. */
  Optional<Shard> shardOn(Pe pe);

  /** The name used in messages. */
  String name();
}
