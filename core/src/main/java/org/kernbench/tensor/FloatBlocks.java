package org.kernbench.tensor;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.ShortBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A floating-point operand of up to 32 bits in bytes, seen as blocks of f32: {@link #load} widens
 * (exactly), {@link #store} rounds once to nearest even and stores any NaN as the type's one code.
 *
 * <p>The loops are shaped by what C2 of JDK 25 turns into vector code, measured per 1024 elements:
 * {@code float16ToFloat} from {@code short[]} 24 ns; anything that only widens a {@code short} to
 * an {@code int} or narrows it back 400 to 2000 ns, because C2 does not see a conversion there; the
 * same arithmetic on {@code int[]} 90 ns. So bits are reinterpreted by bulk copies through a
 * scratch of bytes (20 ns), and bf16, which must work on bits, goes two elements per int: {@link
 * #loadPlanar} gives the even elements, then the odd ones. Views are made once per operand; a call
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
  private final @Nullable FloatBuffer scratchFloats;
  private final @Nullable IntBuffer scratchInts;
  private final @Nullable HalfNan halfNan;
  private final short[] half;
  private final int[] bits;
  private final float[] table;

  /** Whether tables that take a while to make are worth it. */
  private final boolean large;

  /** Whether vectors do it ({@link VectorBlocks}) rather than the loops here. */
  private final boolean byVectors;

  /** The {@code n} elements of {@code type} at {@code bytes[offset..]}. */
  FloatBlocks(DType type, byte[] bytes, int offset, int n) {
    this(type, bytes, offset, n, Gemm.hasVectors());
  }

  /** Reads elements by vectors or by loops, as asked; the bytes are equal. */
  FloatBlocks(DType type, byte[] bytes, int offset, int n, boolean byVectors) {
    this.byVectors = byVectors;
    this.type = type;
    this.bytes = bytes;
    this.offset = offset;
    this.large = n >= BLOCK;
    int block = Math.min(n, BLOCK);
    ByteBuffer view = littleEndian(bytes, offset, n * type.sizeBytes());
    boolean single = type == DType.F32 && !byVectors;
    boolean brain = type == DType.BF16 && !byVectors;
    boolean half = type == DType.F16;
    boolean quarter = type.sizeBytes() == 1 && byVectors;
    this.floats = single ? view.asFloatBuffer() : null;
    this.ints = single || brain ? view.asIntBuffer() : null;
    this.shorts = half || brain ? view.asShortBuffer() : null;
    ByteBuffer scratch = littleEndian(new byte[brain ? block * 4 : 0], 0, brain ? block * 4 : 0);
    this.scratchFloats = brain ? scratch.asFloatBuffer() : null;
    this.scratchInts = brain ? scratch.asIntBuffer() : null;
    this.halfNan = half && !byVectors ? new HalfNan(block) : null;
    this.half = new short[half || brain || quarter ? block : 0];
    this.bits = new int[single || brain ? block : 0];
    this.table = type.sizeBytes() == 1 ? type.mini().table : new float[0];
  }

  static ByteBuffer littleEndian(byte[] bytes, int offset, int length) {
    return ByteBuffer.wrap(bytes, offset, length).slice().order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Elements {@code start..start+n-1} as f32 into {@code dst[0..n-1]}; {@code n <= BLOCK}. */
  @SuppressWarnings("NullAway") // the views of a type exist, see the constructor
  void load(int start, float[] dst, int n) {
    if (byVectors) {
      loadByVectors(start, dst, n);
      return;
    }
    switch (type) {
      case F32 -> floats.get(start, dst, 0, n);
      case F16 -> loadHalf(start, dst, n);
      case BF16 -> {
        shorts.get(start, half, 0, n);
        widenBrain(half, bits, n);
        scratchInts.put(0, bits, 0, n);
        scratchFloats.get(0, dst, 0, n);
      }
      case F8E4M3, F8E5M2 -> {
        for (int i = 0; i < n; i++) {
          dst[i] = table[bytes[offset + start + i] & 0xff];
        }
      }
      case F64, I8, I32, I64, BOOL -> throw new AssertionError(type);
    }
  }

  private void loadByVectors(int start, float[] dst, int n) {
    int at = offset + start * type.sizeBytes();
    switch (type) {
      case F32, BF16 -> {
        int covered = VectorBlocks.covered(type, n);
        VectorBlocks.load(type, bytes, at, dst, covered);
        loadOneByOne(at, covered, dst, n);
      }
      case F16 -> loadHalf(start, dst, n);
      case F8E4M3 -> {
        int covered = VectorBlocks.coveredHalves(n);
        VectorBlocks.halvesOfE4M3(bytes, at, half, covered);
        widenScaledHalf(half, dst, covered);
        loadOneByOne(at, covered, dst, n);
      }
      case F8E5M2 -> {
        int covered = VectorBlocks.coveredHalves(n);
        VectorBlocks.halvesOfE5M2(bytes, at, half, covered);
        widenHalf(half, dst, covered);
        loadOneByOne(at, covered, dst, n);
      }
      case F64, I8, I32, I64, BOOL -> throw new AssertionError(type);
    }
  }

  private void loadOneByOne(int at, int from, float[] dst, int n) {
    int size = type.sizeBytes();
    for (int i = from; i < n; i++) {
      dst[i] = (float) type.getDouble(bytes, at + i * size);
    }
  }

  @SuppressWarnings("NullAway") // the views of a type exist, see the constructor
  private void loadHalf(int start, float[] dst, int n) {
    shorts.get(start, half, 0, n);
    widenHalf(half, dst, n);
  }

  /** Rounds {@code src[0..n-1]} into elements {@code start..start+n-1}; {@code n <= BLOCK}. */
  @SuppressWarnings("NullAway") // the views of a type exist, see the constructor
  void store(int start, float[] src, int n) {
    if (byVectors) {
      storeByVectors(start, src, n);
      return;
    }
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
        halfNan.canonicalize(half, n);
        shorts.put(start, half, 0, n);
      }
      case BF16 -> {
        scratchFloats.put(0, src, 0, n);
        scratchInts.get(0, bits, 0, n);
        roundBrain(bits, n);
        narrowBrain(bits, half, n);
        shorts.put(start, half, 0, n);
      }
      case F8E4M3, F8E5M2 -> {
        MiniFloat mini = type.mini();
        if (large) {
          mini.encodeBytes(src, bytes, offset + start, n);
          return;
        }
        for (int i = 0; i < n; i++) {
          bytes[offset + start + i] = (byte) mini.encode(src[i]);
        }
      }
      case F64, I8, I32, I64, BOOL -> throw new AssertionError(type);
    }
  }

  @SuppressWarnings("NullAway") // the views of a type exist, see the constructor
  private void storeByVectors(int start, float[] src, int n) {
    int covered = VectorBlocks.covered(type, n);
    if (type == DType.F16) {
      narrowHalf(src, half, n);
      if (VectorBlocks.hasNan(src, covered) || hasNan(src, covered, n)) {
        HalfNan.replace(half, n);
      }
      shorts.put(start, half, 0, n);
      return;
    }
    int size = type.sizeBytes();
    int at = offset + start * size;
    VectorBlocks.store(type, src, bytes, at, covered);
    for (int i = covered; i < n; i++) {
      type.putDouble(bytes, at + i * size, src[i]);
    }
  }

  private static boolean hasNan(float[] src, int from, int n) {
    for (int i = from; i < n; i++) {
      if (Float.isNaN(src[i])) {
        return true;
      }
    }
    return false;
  }

  /**
   * As {@link #load}, but bf16 with the even elements first, then the odd ones: quicker, and fine
   * where the order of elements means nothing. {@code start} is even.
   */
  @SuppressWarnings("NullAway") // the views of a type exist, see the constructor
  void loadPlanar(int start, float[] dst, int n) {
    if (byVectors || type != DType.BF16 || n % 2 != 0) {
      load(start, dst, n);
      return;
    }
    int pairs = n / 2;
    ints.get(start / 2, bits, 0, pairs);
    splitBrain(bits, pairs);
    scratchInts.put(0, bits, 0, n);
    scratchFloats.get(0, dst, 0, n);
  }

  /** The counterpart of {@link #loadPlanar}. */
  @SuppressWarnings("NullAway") // the views of a type exist, see the constructor
  void storePlanar(int start, float[] src, int n) {
    if (byVectors || type != DType.BF16 || n % 2 != 0) {
      store(start, src, n);
      return;
    }
    int pairs = n / 2;
    scratchFloats.put(0, src, 0, n);
    scratchInts.get(0, bits, 0, n);
    roundBrain(bits, n);
    joinBrain(bits, pairs);
    ints.put(start / 2, bits, 0, pairs);
  }

  private static void widenHalf(short[] src, float[] dst, int n) {
    for (int i = 0; i < n; i++) {
      dst[i] = Float.float16ToFloat(src[i]);
    }
  }

  private static void widenScaledHalf(short[] src, float[] dst, int n) {
    for (int i = 0; i < n; i++) {
      dst[i] = Float.float16ToFloat(src[i]) * VectorBlocks.E4M3_SCALE;
    }
  }

  private static void narrowHalf(float[] src, short[] dst, int n) {
    for (int i = 0; i < n; i++) {
      dst[i] = Float.floatToFloat16(src[i]);
    }
  }

  private static void widenBrain(short[] src, int[] dst, int n) {
    for (int i = 0; i < n; i++) {
      dst[i] = src[i] * 65536; // not <<: C2 does that one twice as slowly
    }
  }

  /** Adds half an ulp less one, plus one if odd, and truncates; NaN by mask, without a branch. */
  private static void roundBrain(int[] bits, int n) {
    for (int i = 0; i < n; i++) {
      int x = bits[i];
      int rounded = (x + 0x7fff + ((x >>> 16) & 1)) >>> 16;
      int nan = (0x7f800000 - (x & 0x7fffffff)) >> 31;
      bits[i] = (rounded & ~nan) | (0x7fc0 & nan);
    }
  }

  private static void narrowBrain(int[] src, short[] dst, int n) {
    for (int i = 0; i < n; i++) {
      dst[i] = (short) src[i];
    }
  }

  /** Pairs of codes to the bits of the even, then of the odd elements. */
  private static void splitBrain(int[] bits, int pairs) {
    for (int i = 0; i < pairs; i++) {
      bits[pairs + i] = bits[i] & 0xffff0000;
    }
    for (int i = 0; i < pairs; i++) {
      bits[i] = bits[i] << 16;
    }
  }

  private static void joinBrain(int[] codes, int pairs) {
    for (int i = 0; i < pairs; i++) {
      codes[i] = codes[i] | codes[pairs + i] << 16;
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
}
