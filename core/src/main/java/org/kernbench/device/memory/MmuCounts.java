package org.kernbench.device.memory;

/**
 * What the MMUs of all PEs did so far.
 *
 * @param lookups pages that loads and stores touched
 * @param misses those of them whose translation was not in the TLB
 */
public record MmuCounts(long lookups, long misses) {}
