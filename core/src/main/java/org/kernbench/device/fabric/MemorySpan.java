package org.kernbench.device.fabric;

import org.kernbench.device.memory.Region;

/**
 * Bytes of one memory that a transfer moves in this order: runs of {@code rowBytes}, {@code
 * strideBytes} apart.
 *
 * @param offset first byte in the memory
 */
public record MemorySpan(long offset, int rowBytes, long strideBytes) {
  public static MemorySpan of(long offset, Region region) {
    return new MemorySpan(offset, Math.max(1, region.rowBytes()), region.strideBytes());
  }
}
