package org.kernbench.tensor;

import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * {@link FloatBlocks}'s conversions with the Vector API, bit for bit: from bytes to f32 and back in
 * one pass, a vector of f32 at a time. As {@link VectorGemm} it names the incubator module, so
 * nothing may touch it where the module is missing.
 *
 * <p>Widening shifts exponent and mantissa to their place in an f32 and adds the difference of the
 * two biases; below the smallest normal value the processor subtracts a power of two instead, which
 * is exact. Narrowing is the same backwards, with the rounding of {@link MiniFloat#encode(float)}:
 * to nearest even by an integer addition, and below the smallest normal value by adding a power of
 * two that leaves just the bits to be kept. No step multiplies subnormal numbers, for which some
 * processors take a hundred cycles.
 *
 * <p>One loop for each type and direction, written out: C2 keeps vectors in registers only within
 * one method.
 */
final class VectorBlocks {
  private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
  private static final int LANES = FLOATS.length();
  private static final VectorSpecies<Integer> INTS =
      VectorSpecies.of(int.class, FLOATS.vectorShape());
  private static final VectorSpecies<Byte> QUADS =
      VectorSpecies.of(byte.class, FLOATS.vectorShape());
  private static final VectorSpecies<Byte> PAIRS = bytes(2);
  private static final VectorSpecies<Short> SHORTS =
      VectorSpecies.of(short.class, PAIRS.vectorShape());

  /** Vectors of a byte for each lane; of vectors with less than 256 bits there are none. */
  private static final boolean HAS_SINGLES = FLOATS.vectorBitSize() >= 256;

  private static final VectorSpecies<Byte> SINGLES = bytes(HAS_SINGLES ? 4 : 2);

  private static final VectorSpecies<Short> HALVES =
      VectorSpecies.of(short.class, FLOATS.vectorShape());
  private static final VectorSpecies<Byte> HALF_BYTES = PAIRS;

  /** What {@link #halvesOfE4M3} divides by: the difference of the two biases, 15 and 7. */
  static final float E4M3_SCALE = 256;

  private static final int MAGNITUDE = 0x7fffffff;
  private static final int INFINITY = 0x7f800000;
  private static final int NAN = 0x7fc00000;

  private VectorBlocks() {}

  private static VectorSpecies<Byte> bytes(int part) {
    return VectorSpecies.of(byte.class, VectorShape.forBitSize(FLOATS.vectorBitSize() / part));
  }

  /** How many of {@code n} elements of a type go by vectors; the caller does the rest. */
  static int covered(DType type, int n) {
    return type.sizeBytes() > 1 || HAS_SINGLES ? n - n % LANES : 0;
  }

  /** How many of {@code n} codes of 8 bits become f16 by vectors; the caller does the rest. */
  static int coveredHalves(int n) {
    return n - n % HALVES.length();
  }

  /** {@code dst[i]} = the element at {@code bytes[at + i * size]}, for the first {@code n}. */
  static void load(DType type, byte[] bytes, int at, float[] dst, int n) {
    switch (type) {
      case F32 -> loadSingle(bytes, at, dst, n);
      case BF16 -> loadBrain(bytes, at, dst, n);
      case F16, F8E4M3, F8E5M2, F64, I8, I32, I64, BOOL -> throw new AssertionError(type);
    }
  }

  /** The element at {@code bytes[at + i * size]} = {@code src[i]} rounded, for the first n. */
  static void store(DType type, float[] src, byte[] bytes, int at, int n) {
    switch (type) {
      case F32 -> storeSingle(src, bytes, at, n);
      case BF16 -> storeBrain(src, bytes, at, n);
      case F8E4M3 -> storeE4M3(src, bytes, at, n);
      case F8E5M2 -> storeE5M2(src, bytes, at, n);
      case F16, F64, I8, I32, I64, BOOL -> throw new AssertionError(type);
    }
  }

  private static void loadSingle(byte[] bytes, int at, float[] dst, int n) {
    for (int i = 0; i < n; i += LANES) {
      ByteVector.fromArray(QUADS, bytes, at + 4 * i).reinterpretAsFloats().intoArray(dst, i);
    }
  }

  private static void storeSingle(float[] src, byte[] bytes, int at, int n) {
    for (int i = 0; i < n; i += LANES) {
      IntVector bits = FloatVector.fromArray(FLOATS, src, i).reinterpretAsInts();
      VectorMask<Integer> isNan = bits.and(MAGNITUDE).compare(VectorOperators.GT, INFINITY);
      bits.blend(NAN, isNan).reinterpretAsBytes().intoArray(bytes, at + 4 * i);
    }
  }

  private static void loadBrain(byte[] bytes, int at, float[] dst, int n) {
    for (int i = 0; i < n; i += LANES) {
      ((IntVector)
              ByteVector.fromArray(PAIRS, bytes, at + 2 * i)
                  .reinterpretAsShorts()
                  .convertShape(VectorOperators.ZERO_EXTEND_S2I, INTS, 0))
          .lanewise(VectorOperators.LSHL, 16)
          .reinterpretAsFloats()
          .intoArray(dst, i);
    }
  }

  private static void storeBrain(float[] src, byte[] bytes, int at, int n) {
    for (int i = 0; i < n; i += LANES) {
      IntVector bits = FloatVector.fromArray(FLOATS, src, i).reinterpretAsInts();
      VectorMask<Integer> isNan = bits.and(MAGNITUDE).compare(VectorOperators.GT, INFINITY);
      IntVector odd = bits.lanewise(VectorOperators.LSHR, 16).and(1);
      IntVector codes = bits.add(0x7fff).add(odd).lanewise(VectorOperators.LSHR, 16);
      ((ShortVector) codes.blend(0x7fc0, isNan).convertShape(VectorOperators.I2S, SHORTS, 0))
          .reinterpretAsBytes()
          .intoArray(bytes, at + 2 * i);
    }
  }

  /**
   * {@code dst[i]} = the f16 code of the element at {@code bytes[at + i]}, an F8E4M3 divided by
   * {@link #E4M3_SCALE}: its exponent has one bit less, so fields only move.
   */
  static void halvesOfE4M3(byte[] bytes, int at, short[] dst, int n) {
    for (int i = 0; i < n; i += HALVES.length()) {
      ShortVector codes =
          ((ShortVector)
                  ByteVector.fromArray(HALF_BYTES, bytes, at + i)
                      .convertShape(VectorOperators.B2S, HALVES, 0))
              .lanewise(VectorOperators.LSHL, 7)
              .and((short) 0xbf80);
      VectorMask<Short> isNan = codes.and((short) 0x7fff).compare(VectorOperators.EQ, 0x3f80);
      codes.blend((short) 0x7e00, isNan).intoArray(dst, i);
    }
  }

  /** {@code dst[i]} = the f16 code of the element at {@code bytes[at + i]}, an F8E5M2. */
  static void halvesOfE5M2(byte[] bytes, int at, short[] dst, int n) {
    for (int i = 0; i < n; i += HALVES.length()) {
      ((ShortVector)
              ByteVector.fromArray(HALF_BYTES, bytes, at + i)
                  .convertShape(VectorOperators.B2S, HALVES, 0))
          .lanewise(VectorOperators.LSHL, 8)
          .intoArray(dst, i);
    }
  }

  /** Whether there is a NaN among the first n, as far as they are {@link #covered}. */
  static boolean hasNan(float[] src, int n) {
    VectorMask<Float> any = FLOATS.maskAll(false);
    for (int i = 0; i < n; i += LANES) {
      any = any.or(FloatVector.fromArray(FLOATS, src, i).test(VectorOperators.IS_NAN));
    }
    return any.anyTrue();
  }

  private static void storeE4M3(float[] src, byte[] bytes, int at, int n) {
    final float power = Math.scalb(1f, 14);
    final FloatVector large = FloatVector.broadcast(FLOATS, power);
    for (int i = 0; i < n; i += LANES) {
      IntVector bits = FloatVector.fromArray(FLOATS, src, i).reinterpretAsInts();
      IntVector magnitude = bits.and(MAGNITUDE);
      VectorMask<Integer> isSmall = magnitude.compare(VectorOperators.LT, 121 << 23);
      IntVector odd = magnitude.lanewise(VectorOperators.LSHR, 20).and(1);
      IntVector normal =
          magnitude.add(0x7ffff).add(odd).lanewise(VectorOperators.LSHR, 20).sub(120 << 3);
      IntVector small =
          magnitude
              .reinterpretAsFloats()
              .add(large)
              .reinterpretAsInts()
              .sub(Float.floatToRawIntBits(power));
      IntVector sign = bits.lanewise(VectorOperators.LSHR, 24).and(0x80);
      IntVector code = normal.blend(small, isSmall);
      VectorMask<Integer> isOut = code.compare(VectorOperators.GE, 0x7f);
      ((ByteVector) code.or(sign).blend(0x7f, isOut).convertShape(VectorOperators.I2B, SINGLES, 0))
          .intoArray(bytes, at + i);
    }
  }

  private static void storeE5M2(float[] src, byte[] bytes, int at, int n) {
    final float power = Math.scalb(1f, 7);
    final FloatVector large = FloatVector.broadcast(FLOATS, power);
    for (int i = 0; i < n; i += LANES) {
      IntVector bits = FloatVector.fromArray(FLOATS, src, i).reinterpretAsInts();
      IntVector magnitude = bits.and(MAGNITUDE);
      VectorMask<Integer> isNan = magnitude.compare(VectorOperators.GT, INFINITY);
      VectorMask<Integer> isSmall = magnitude.compare(VectorOperators.LT, 113 << 23);
      IntVector odd = magnitude.lanewise(VectorOperators.LSHR, 21).and(1);
      IntVector normal =
          magnitude
              .add(0xfffff)
              .add(odd)
              .lanewise(VectorOperators.LSHR, 21)
              .sub(112 << 2)
              .min(0x7c);
      IntVector small =
          magnitude
              .reinterpretAsFloats()
              .add(large)
              .reinterpretAsInts()
              .sub(Float.floatToRawIntBits(power));
      IntVector sign = bits.lanewise(VectorOperators.LSHR, 24).and(0x80);
      IntVector codes = normal.blend(small, isSmall).or(sign).blend(0x7f, isNan);
      ((ByteVector) codes.convertShape(VectorOperators.I2B, SINGLES, 0)).intoArray(bytes, at + i);
    }
  }
}
