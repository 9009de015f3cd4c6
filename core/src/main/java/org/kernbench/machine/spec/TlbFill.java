package org.kernbench.machine.spec;

/** When a translation enters the TLB of a PE. */
public enum TlbFill {
  /**
   * When the host maps memory of the PE, it writes the translations into the PE's TLB, so that only
   * evicted ones and those of other PEs' memory miss.
   */
  AT_MAP,
  /** At the first access, which misses. */
  AT_MISS
}
