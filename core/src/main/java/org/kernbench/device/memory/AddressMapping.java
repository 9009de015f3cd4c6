package org.kernbench.device.memory;

import java.util.List;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.VirtualAddress;

/**
 * A range of virtual addresses and the memory behind it: any number of bytes, with one or more
 * copies. A PE that holds a copy sees its own; any other sees the first one in its cube, else in
 * its package, else of all.
 *
 * @param name of what lies there, for messages
 * @param at first address
 * @param bytes length, at least 1
 * @param copies at least one, in structural order, one per PE
 */
public record AddressMapping(String name, VirtualAddress at, long bytes, List<Copy> copies) {
  /** Checks the ranges. */
  public AddressMapping {
    copies = List.copyOf(copies);
    if (bytes < 1 || copies.isEmpty()) {
      throw new IllegalArgumentException(
          "mapping of %s: got %s bytes in %s copies; expected at least one of each"
              .formatted(name, bytes, copies.size()));
    }
  }

  /**
   * The bytes of a mapping in one memory.
   *
   * @param pe whose own copy it is
   * @param address of the first byte
   */
  public record Copy(Pe pe, PhysicalAddress address) {}
}
