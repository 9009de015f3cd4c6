package org.kernbench.machine;

/**
 * A byte of the machine's memories; {@link AddressMap} makes and reads it.
 *
 * @param value 51 bits: package, die, offset in the die
 */
public record PhysicalAddress(long value) implements MemoryAddress {
  @Override
  public PhysicalAddress plus(long bytes) {
    return new PhysicalAddress(value + bytes);
  }

  @Override
  public String toString() {
    return "pa:0x" + Long.toHexString(value);
  }
}
