package org.kernbench.device.reuse;

import java.util.List;

/**
 * What the commands of a launch depend on.
 *
 * @param what compared with {@code equals}
 * @param memories that it may load from or store to, in the order in which {@code what} speaks of
 *     them
 */
public record Dependence(List<Object> what, List<Memory> memories) {
  /** Copies the lists. */
  public Dependence {
    what = List.copyOf(what);
    memories = List.copyOf(memories);
  }

  /**
   * Neighbouring virtual addresses.
   *
   * @param address the first
   * @param bytes how many
   */
  public record Memory(long address, long bytes) {}
}
