package org.kernbench.machine;

/**
 * A byte as a kernel names it; meaningless without the translation of its tensor.
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
