package org.kernbench.machine;

/**
 * An address as kernels see it: tensors lie one after another in one space for the whole machine,
 * each in one contiguous range, wherever the bytes really are. The MMU of a PE translates it to a
 * {@link PhysicalAddress}; taken for one by mistake, it names nothing, for {@link #BASE} is above
 * all of them.
 *
 * @param value the address
 */
public record VirtualAddress(long value) implements MemoryAddress {
  /** The lowest virtual address. */
  public static final long BASE = 1L << (AddressMap.MOST_BITS + 1);

  /** Size of the virtual address space in bytes. */
  public static final long SPACE_BYTES = BASE;

  @Override
  public VirtualAddress plus(long bytes) {
    return new VirtualAddress(value + bytes);
  }

  @Override
  public String toString() {
    return "va:0x" + Long.toHexString(value);
  }
}
