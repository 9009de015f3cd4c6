package org.kernbench.device;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.kernbench.machine.VirtualAddress;

/**
 * The program of a launch that can say what its commands depend on. What came of it in simulated
 * time may then be used again for another launch that depends on the same (ADR 0112).
 */
public interface ReusableProgram extends Function<PePort, Runnable> {
  /**
   * What the commands depend on, beside the PEs of the launch and the addresses.
   *
   * @param what compared with {@code equals}
   * @param memories that it may load from or store to, in the order in which {@code what} speaks of
   *     them; the commands say addresses relative to theirs
   */
  record Key(List<Object> what, List<Memory> memories) {
    /** Copies the lists. */
    public Key {
      what = List.copyOf(what);
      memories = List.copyOf(memories);
    }
  }

  /**
   * Neighbouring virtual addresses.
   *
   * @param at the first
   * @param bytes how many
   */
  record Memory(VirtualAddress at, long bytes) {}

  /** Asked when the launch starts; empty if that is not known. */
  Optional<Key> key();
}
