package org.kernbench.device.memory;

import org.kernbench.machine.MemoryAddress;

/**
 * Bytes in memory: {@code rows} runs of {@code rowBytes}, {@code strideBytes} apart.
 *
 * @param address first byte
 * @param rows how many runs; at least 0
 * @param rowBytes length of a run
 * @param strideBytes distance between the starts of two runs; at least {@code rowBytes}
 */
public record Region(MemoryAddress address, int rows, int rowBytes, long strideBytes) {
  /** Checks the ranges. */
  public Region {
    if (rows < 0 || rowBytes < 0 || (rows > 1 && strideBytes < rowBytes)) {
      throw new IllegalArgumentException(
          """
          region of %s rows of %s bytes, stride %s: expected sizes of at least 0 and a \
          stride of at least one row\
          """
              .formatted(rows, rowBytes, strideBytes));
    }
    Math.multiplyExact(rows, rowBytes);
  }

  /** {@code bytes} consecutive bytes. */
  public static Region of(MemoryAddress address, int bytes) {
    return new Region(address, 1, bytes, bytes);
  }

  /** Bytes in all runs. */
  public int bytes() {
    return rows * rowBytes;
  }

  /** Distance from the first byte to the byte after the last. */
  public long extent() {
    return rows == 0 ? 0 : (rows - 1) * strideBytes + rowBytes;
  }
}
