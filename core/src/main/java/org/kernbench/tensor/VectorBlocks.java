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

  private static final int SIGN = 0x80000000;
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

  /** {@code dst[i]} = the element at {@code bytes[at + i * size]}, for the first {@code n}. */
  static void load(DType type, byte[] bytes, int at, float[] dst, int n) {
    switch (type) {
      case F32 -> loadSingle(bytes, at, dst, n);
      case F16 -> loadHalf(bytes, at, dst, n);
      case BF16 -> loadBrain(bytes, at, dst, n);
      case F8E4M3 -> loadE4M3(bytes, at, dst, n);
      case F8E5M2 -> loadE5M2(bytes, at, dst, n);
      case F64, I8, I32, I64, BOOL -> throw new AssertionError(type);
    }
  }

  /** The element at {@code bytes[at + i * size]} = {@code src[i]} rounded, for the first n. */
  static void store(DType type, float[] src, byte[] bytes, int at, int n) {
    switch (type) {
      case F32 -> storeSingle(src, bytes, at, n);
      case F16 -> storeHalf(src, bytes, at, n);
      case BF16 -> storeBrain(src, bytes, at, n);
      case F8E4M3 -> storeE4M3(src, bytes, at, n);
      case F8E5M2 -> storeE5M2(src, bytes, at, n);
      case F64, I8, I32, I64, BOOL -> throw new AssertionError(type);
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

  private static void loadHalf(byte[] bytes, int at, float[] dst, int n) {
    final FloatVector least = FloatVector.broadcast(FLOATS, Math.scalb(1f, -14));
    for (int i = 0; i < n; i += LANES) {
      IntVector codes =
          (IntVector)
              ByteVector.fromArray(PAIRS, bytes, at + 2 * i)
                  .reinterpretAsShorts()
                  .convertShape(VectorOperators.ZERO_EXTEND_S2I, INTS, 0);
      IntVector sign = codes.lanewise(VectorOperators.LSHL, 16).and(SIGN);
      IntVector magnitude = codes.and(0x7fff).lanewise(VectorOperators.LSHL, 13);
      IntVector normal = magnitude.add(112 << 23);
      VectorMask<Integer> isSmall = magnitude.compare(VectorOperators.LT, 1 << 23);
      VectorMask<Integer> isLarge = magnitude.compare(VectorOperators.GE, 31 << 23);
      IntVector small = normal.add(1 << 23).reinterpretAsFloats().sub(least).reinterpretAsInts();
      IntVector bits = normal.add(112 << 23, isLarge).blend(small, isSmall).or(sign);
      bits.blend(NAN, magnitude.compare(VectorOperators.GT, 31 << 23))
          .reinterpretAsFloats()
          .intoArray(dst, i);
    }
  }

  private static void storeHalf(float[] src, byte[] bytes, int at, int n) {
    final FloatVector large = FloatVector.broadcast(FLOATS, 0.5f);
    for (int i = 0; i < n; i += LANES) {
      IntVector bits = FloatVector.fromArray(FLOATS, src, i).reinterpretAsInts();
      IntVector magnitude = bits.and(MAGNITUDE);
      VectorMask<Integer> isNan = magnitude.compare(VectorOperators.GT, INFINITY);
      VectorMask<Integer> isSmall = magnitude.compare(VectorOperators.LT, 113 << 23);
      IntVector odd = magnitude.lanewise(VectorOperators.LSHR, 13).and(1);
      IntVector normal =
          magnitude
              .add(0xfff - (112 << 23))
              .add(odd)
              .lanewise(VectorOperators.LSHR, 13)
              .min(0x7c00);
      IntVector small =
          magnitude
              .reinterpretAsFloats()
              .add(large)
              .reinterpretAsInts()
              .sub(Float.floatToRawIntBits(0.5f));
      IntVector sign = bits.lanewise(VectorOperators.LSHR, 16).and(0x8000);
      IntVector codes = normal.blend(small, isSmall).or(sign).blend(0x7e00, isNan);
      ((ShortVector) codes.convertShape(VectorOperators.I2S, SHORTS, 0))
          .reinterpretAsBytes()
          .intoArray(bytes, at + 2 * i);
    }
  }

  private static void loadE4M3(byte[] bytes, int at, float[] dst, int n) {
    final FloatVector least = FloatVector.broadcast(FLOATS, Math.scalb(1f, -6));
    for (int i = 0; i < n; i += LANES) {
      IntVector codes =
          (IntVector)
              ByteVector.fromArray(SINGLES, bytes, at + i)
                  .convertShape(VectorOperators.ZERO_EXTEND_B2I, INTS, 0);
      IntVector sign = codes.lanewise(VectorOperators.LSHL, 24).and(SIGN);
      IntVector code = codes.and(0x7f);
      IntVector normal = code.lanewise(VectorOperators.LSHL, 20).add(120 << 23);
      IntVector small = normal.add(1 << 23).reinterpretAsFloats().sub(least).reinterpretAsInts();
      normal
          .blend(small, code.compare(VectorOperators.LT, 8))
          .or(sign)
          .blend(NAN, code.compare(VectorOperators.EQ, 0x7f))
          .reinterpretAsFloats()
          .intoArray(dst, i);
    }
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

  private static void loadE5M2(byte[] bytes, int at, float[] dst, int n) {
    final FloatVector least = FloatVector.broadcast(FLOATS, Math.scalb(1f, -14));
    for (int i = 0; i < n; i += LANES) {
      IntVector codes =
          (IntVector)
              ByteVector.fromArray(SINGLES, bytes, at + i)
                  .convertShape(VectorOperators.ZERO_EXTEND_B2I, INTS, 0);
      IntVector sign = codes.lanewise(VectorOperators.LSHL, 24).and(SIGN);
      IntVector code = codes.and(0x7f);
      IntVector normal = code.lanewise(VectorOperators.LSHL, 21).add(112 << 23);
      IntVector small = normal.add(1 << 23).reinterpretAsFloats().sub(least).reinterpretAsInts();
      normal
          .add(112 << 23, code.compare(VectorOperators.GE, 0x7c))
          .blend(small, code.compare(VectorOperators.LT, 4))
          .or(sign)
          .blend(NAN, code.compare(VectorOperators.GT, 0x7c))
          .reinterpretAsFloats()
          .intoArray(dst, i);
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
