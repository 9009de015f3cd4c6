package org.kernbench.tensor;

import java.nio.IntBuffer;
import org.jspecify.annotations.Nullable;

/** An i8, i32 or bool operand seen as blocks of {@code int}; storing wraps, bool stores 0 or 1. */
final class IntBlocks {
  private final DType type;
  private final byte[] bytes;
  private final int offset;
  private final @Nullable IntBuffer ints;

  IntBlocks(DType type, byte[] bytes, int offset, int n) {
    this.type = type;
    this.bytes = bytes;
    this.offset = offset;
    this.ints =
        type == DType.I32 ? FloatBlocks.littleEndian(bytes, offset, n * 4).asIntBuffer() : null;
  }

  @SuppressWarnings("NullAway") // i32 has its view, see the constructor
  void load(int start, int[] dst, int n) {
    int from = offset + start;
    if (type == DType.I32) {
      ints.get(start, dst, 0, n);
    } else if (type == DType.I8) {
      for (int i = 0; i < n; i++) {
        dst[i] = bytes[from + i];
      }
    } else {
      for (int i = 0; i < n; i++) {
        dst[i] = bytes[from + i] != 0 ? 1 : 0;
      }
    }
  }

  @SuppressWarnings("NullAway") // i32 has its view, see the constructor
  void store(int start, int[] src, int n) {
    int to = offset + start;
    if (type == DType.I32) {
      ints.put(start, src, 0, n);
    } else if (type == DType.I8) {
      for (int i = 0; i < n; i++) {
        bytes[to + i] = (byte) src[i];
      }
    } else {
      for (int i = 0; i < n; i++) {
        bytes[to + i] = (byte) (src[i] != 0 ? 1 : 0);
      }
    }
  }
}
