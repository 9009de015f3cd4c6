package org.kernbench.tensor;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.ShortBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A floating-point operand in bytes, seen as blocks of f32: {@link #load} widens (exactly), {@link
 * #store} rounds once to nearest even and stores any NaN as the type's one code.
 *
 * <p>Why buffers and integer passes: bulk copies between the bytes and small typed arrays run at
 * cache speed, and the loops between typed arrays are ones C2 turns into vector code. It does not
 * vectorise {@code floatToRawIntBits} (bf16 by shifts on floats runs ten times slower), so bits are
 * reinterpreted by copying through a scratch of bytes. Views are made once per operand; a call
 * allocates a few blocks and nothing per element.
 */
final class FloatBlocks {
  /** Elements per block; all blocks of an operation together stay in the first-level cache. */
  static final int BLOCK = 1024;

  private final DType type;
  private final byte[] bytes;
  private final int offset;
  private final @Nullable FloatBuffer floats;
  private final @Nullable IntBuffer ints;
  private final @Nullable ShortBuffer shorts;
  private final short[] half;
  private final int[] bits;
  private final @Nullable FloatBuffer scratchFloats;
  private final @Nullable IntBuffer scratchInts;

  /** The {@code n} elements of {@code type} at {@code bytes[offset..]}. */
  FloatBlocks(DType type, byte[] bytes, int offset, int n) {
    this.type = type;
    this.bytes = bytes;
    this.offset = offset;
    int block = Math.min(n, BLOCK);
    ByteBuffer view = littleEndian(bytes, offset, n * type.sizeBytes());
    this.floats = type == DType.F32 ? view.asFloatBuffer() : null;
    this.ints = type == DType.F32 ? view.asIntBuffer() : null;
    this.shorts = type.sizeBytes() == 2 ? view.asShortBuffer() : null;
    this.half = new short[type.sizeBytes() == 2 ? block : 0];
    this.bits = new int[type == DType.F16 ? 0 : block];
    if (type == DType.BF16) {
      ByteBuffer scratch = littleEndian(new byte[block * 4], 0, block * 4);
      this.scratchFloats = scratch.asFloatBuffer();
      this.scratchInts = scratch.asIntBuffer();
    } else {
      this.scratchFloats = null;
      this.scratchInts = null;
    }
  }

  static ByteBuffer littleEndian(byte[] bytes, int offset, int length) {
    return ByteBuffer.wrap(bytes, offset, length).slice().order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Elements {@code start..start+n-1} as f32 into {@code dst[0..n-1]}; {@code n <= BLOCK}. */
  @SuppressWarnings("NullAway") // the views of a type exist, see the constructor
  void load(int start, float[] dst, int n) {
    switch (type) {
      case F32 -> floats.get(start, dst, 0, n);
      case F16 -> {
        shorts.get(start, half, 0, n);
        widenHalf(half, dst, n);
      }
      case BF16 -> {
        shorts.get(start, half, 0, n);
        widenBrain(half, bits, n);
        scratchInts.put(0, bits, 0, n);
        scratchFloats.get(0, dst, 0, n);
      }
      case F8E4M3, F8E5M2 -> {
        MiniFloat mini = type.mini();
        for (int i = 0; i < n; i++) {
          dst[i] = mini.decode(bytes[offset + start + i]);
        }
      }
      case I8, I32, I64, BOOL -> throw new AssertionError(type);
    }
  }

  /** Rounds {@code src[0..n-1]} into elements {@code start..start+n-1}; {@code n <= BLOCK}. */
  @SuppressWarnings("NullAway") // the views of a type exist, see the constructor
  void store(int start, float[] src, int n) {
    switch (type) {
      case F32 -> {
        floats.put(start, src, 0, n);
        ints.get(start, bits, 0, n);
        if (hasNan(bits, n)) {
          canonicalNan(bits, n);
          ints.put(start, bits, 0, n);
        }
      }
      case F16 -> {
        narrowHalf(src, half, n);
        canonicalHalf(half, n);
        shorts.put(start, half, 0, n);
      }
      case BF16 -> {
        scratchFloats.put(0, src, 0, n);
        scratchInts.get(0, bits, 0, n);
        narrowBrain(bits, half, n);
        shorts.put(start, half, 0, n);
      }
      case F8E4M3, F8E5M2 -> {
        MiniFloat mini = type.mini();
        for (int i = 0; i < n; i++) {
          bytes[offset + start + i] = (byte) mini.encode(src[i]);
        }
      }
      case I8, I32, I64, BOOL -> throw new AssertionError(type);
    }
  }

  /** Makes every NaN among these f16 codes the canonical one. */
  static void canonicalHalf(short[] codes, int n) {
    if (hasNanHalf(codes, n)) {
      for (int i = 0; i < n; i++) {
        codes[i] = (codes[i] & 0x7fff) > 0x7c00 ? (short) 0x7e00 : codes[i];
      }
    }
  }

  private static void widenHalf(short[] src, float[] dst, int n) {
    for (int i = 0; i < n; i++) {
      dst[i] = Float.float16ToFloat(src[i]);
    }
  }

  private static void narrowHalf(float[] src, short[] dst, int n) {
    for (int i = 0; i < n; i++) {
      dst[i] = Float.floatToFloat16(src[i]);
    }
  }

  private static void widenBrain(short[] src, int[] dst, int n) {
    for (int i = 0; i < n; i++) {
      dst[i] = src[i] << 16;
    }
  }

  /** Adds half an ulp less one, plus one if odd, and truncates; NaN by mask, without a branch. */
  private static void narrowBrain(int[] src, short[] dst, int n) {
    for (int i = 0; i < n; i++) {
      int x = src[i];
      int rounded = (x + 0x7fff + ((x >>> 16) & 1)) >>> 16;
      int nan = (0x7f800000 - (x & 0x7fffffff)) >> 31;
      dst[i] = (short) ((rounded & ~nan) | (0x7fc0 & nan));
    }
  }

  private static boolean hasNan(int[] bits, int n) {
    int any = 0;
    for (int i = 0; i < n; i++) {
      any |= 0x7f800000 - (bits[i] & 0x7fffffff);
    }
    return any < 0;
  }

  private static void canonicalNan(int[] bits, int n) {
    for (int i = 0; i < n; i++) {
      int nan = (0x7f800000 - (bits[i] & 0x7fffffff)) >> 31;
      bits[i] = (bits[i] & ~nan) | (0x7fc00000 & nan);
    }
  }

  private static boolean hasNanHalf(short[] codes, int n) {
    int any = 0;
    for (int i = 0; i < n; i++) {
      any |= 0x7c00 - (codes[i] & 0x7fff);
    }
    return any < 0;
  }
}
