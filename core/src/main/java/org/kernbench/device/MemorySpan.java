package org.kernbench.device;

/**
 * Bytes of one memory that a transfer moves in this order: runs of {@code rowBytes}, {@code
 * strideBytes} apart.
 *
 * @param offset first byte in the memory
 */
record MemorySpan(long offset, int rowBytes, long strideBytes) {
  static MemorySpan of(long offset, Region region) {
    return new MemorySpan(offset, Math.max(1, region.rowBytes()), region.strideBytes());
  }
}
