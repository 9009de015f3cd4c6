package org.kernbench.tl;

import java.util.Optional;
import org.kernbench.machine.Pe;

/** A tensor that a kernel can reach: it knows which part of it lies at a PE. */
public interface DeviceTensor {
  /** The part that lies in the memory of a PE; empty if none does. */
  Optional<Shard> shardOn(Pe pe);

  /**
   * All of it, by its virtual addresses, wherever its elements lie: for loads and stores of a PE
   * that need not hold any.
   *
   * @param pe that asks, for messages
   * @throws org.kernbench.machine.SimulationException if its elements do not follow one another in
   *     memory
   */
  Shard whole(Pe pe);

  /** The name used in messages. */
  String name();
}
