package org.kernbench.machine;

/**
 * An address that a load, a store or the host names: a byte of a memory, or what a PE's MMU
 * translates to one. The two are types of their own and their values never meet: a physical address
 * has {@link AddressMap#addressBits} bits, a virtual one has a higher bit set.
 */
public sealed interface MemoryAddress permits PhysicalAddress, VirtualAddress {
  /** The number. */
  long value();

  /** The address {@code bytes} further on. */
  MemoryAddress plus(long bytes);
}
