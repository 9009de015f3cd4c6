package org.kernbench.machine;

/**
 * An address that a PE would translate; a type of its own, so that it cannot be taken for a {@link
 * PhysicalAddress}. Reserved: kernels name tensors and their shards today.
 *
 * @param value the address
 */
public record VirtualAddress(long value) {
  /** The address {@code bytes} further on. */
  public VirtualAddress plus(long bytes) {
    return new VirtualAddress(value + bytes);
  }

  @Override
  public String toString() {
    return "va:0x" + Long.toHexString(value);
  }
}
