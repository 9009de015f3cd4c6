package org.kernbench.tensor;

/**
 * A binary floating-point format of at most 16 bits: sign, exponent, mantissa, from high to low.
 *
 * <p>{@link #encode(double)} works on the bits of the {@code double} and rounds exactly once, to
 * nearest, ties to even. Going through {@code float} first would round twice: {@code 1 + 2^-11 +
 * 2^-40} is just above a tie of f16, becomes the tie itself in f32, and then rounds down.
 *
 * <p>With infinity (IEEE-like): the all-ones exponent holds infinity and NaN, and what rounds past
 * the largest finite value becomes infinity. Without (OCP "FN"): only the all-ones code is NaN, and
 * what rounds past the largest finite value becomes NaN. NaN is stored as one positive code.
 */
final class MiniFloat {
  static final MiniFloat F16 = new MiniFloat(5, 10, true, 0x7e00);
  static final MiniFloat BF16 = new MiniFloat(8, 7, true, 0x7fc0);
  static final MiniFloat F8E4M3 = new MiniFloat(4, 3, false, 0x7f);
  static final MiniFloat F8E5M2 = new MiniFloat(5, 2, true, 0x7f);

  private final int exponentBits;
  private final int mantissaBits;
  private final int minExponent;
  private final int firstNonFinite;
  private final boolean hasInfinity;
  private final int nan;

  /** All values by code, for the 8-bit formats: a block is decoded by lookup. Never written. */
  final float[] table;

  private MiniFloat(int exponentBits, int mantissaBits, boolean hasInfinity, int nan) {
    this.exponentBits = exponentBits;
    this.mantissaBits = mantissaBits;
    this.minExponent = 2 - (1 << (exponentBits - 1));
    int allOnes = (1 << (exponentBits + mantissaBits)) - 1;
    this.firstNonFinite = hasInfinity ? allOnes & -(1 << mantissaBits) : allOnes;
    this.hasInfinity = hasInfinity;
    this.nan = nan;
    this.table = new float[exponentBits + mantissaBits == 7 ? 256 : 0];
    for (int code = 0; code < table.length; code++) {
      table[code] = decode(code);
    }
  }

  /**
   * Codes of the 8-bit formats by the upper half of a float, with its last bit set if the lower
   * half is not zero: eight bits are more than two over the format's four, so they round as the
   * whole does. Made when a large operand is first stored: it takes as long as storing some ten
   * thousand.
   */
  private static final class Codes {
    static final byte[] F8E4M3 = of(MiniFloat.F8E4M3);
    static final byte[] F8E5M2 = of(MiniFloat.F8E5M2);

    private static byte[] of(MiniFloat format) {
      byte[] codes = new byte[1 << 16];
      for (int upper = 0; upper < codes.length; upper++) {
        codes[upper] = (byte) format.encode(Float.intBitsToFloat(upper << 16));
      }
      return codes;
    }
  }

  /** {@code codes[at + i]} = the code of {@code src[i]}, by look-up; of an 8-bit format. */
  void encodeBytes(float[] src, byte[] codes, int at, int n) {
    final byte[] known = this == F8E4M3 ? Codes.F8E4M3 : Codes.F8E5M2;
    for (int i = 0; i < n; i++) {
      int bits = Float.floatToRawIntBits(src[i]);
      codes[at + i] = known[bits >>> 16 | ((bits & 0xffff) + 0xffff) >>> 16];
    }
  }

  /** The code, in the low bits, of the value of this format nearest to {@code value}. */
  int encode(double value) {
    long bits = Double.doubleToRawLongBits(value);
    long magnitude = bits & Long.MAX_VALUE;
    if (magnitude > 0x7ff0000000000000L) {
      return nan;
    }
    int exponent = (int) (magnitude >>> 52) - 1023;
    long significand = magnitude & ((1L << 52) - 1);
    if (exponent != -1023) {
      significand |= 1L << 52;
    }
    int sign = (int) (bits >>> 63) << (exponentBits + mantissaBits);
    int quantum = Math.max(exponent, minExponent);
    int shift = 52 - mantissaBits + quantum - exponent;
    if (shift > 53) {
      return sign; // below half of the smallest subnormal
    }
    long kept = significand >>> shift;
    long rest = significand & ((1L << shift) - 1);
    long half = 1L << (shift - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) {
      kept++; // may carry into the exponent: the codes of one sign are consecutive
    }
    int code = ((quantum - minExponent) << mantissaBits) + (int) kept;
    if (code < firstNonFinite) {
      return sign | code;
    }
    return hasInfinity ? sign | firstNonFinite : nan;
  }

  /**
   * As {@link #encode(double)}, quicker. From the smallest normal value on, codes and bits of a
   * float run in parallel, so rounding is an integer addition; below, adding {@code 2^(23 + k)},
   * where {@code 2^k} is the spacing of the subnormals, makes the processor round for us.
   */
  int encode(float value) {
    int bits = Float.floatToRawIntBits(value);
    int magnitude = bits & Integer.MAX_VALUE;
    if (magnitude > 0x7f800000) {
      return nan;
    }
    int sign = bits >>> 31 << (exponentBits + mantissaBits);
    int shift = 23 - mantissaBits;
    if (magnitude < (minExponent + 127) << 23) {
      float large = Math.scalb(1f, 23 + minExponent - mantissaBits);
      float sum = Float.intBitsToFloat(magnitude) + large;
      return sign | (Float.floatToRawIntBits(sum) - Float.floatToRawIntBits(large));
    }
    int rounded = (magnitude + (1 << (shift - 1)) - 1 + ((magnitude >>> shift) & 1)) >>> shift;
    int code = rounded - ((minExponent + 126) << mantissaBits);
    if (code < firstNonFinite) {
      return sign | code;
    }
    return hasInfinity ? sign | firstNonFinite : nan;
  }

  /** The exact value of a code; bits above the format are ignored. */
  float decode(int code) {
    int magnitude = code & ((1 << (exponentBits + mantissaBits)) - 1);
    boolean negative = ((code >>> (exponentBits + mantissaBits)) & 1) != 0;
    if (magnitude >= firstNonFinite) {
      if (!hasInfinity || magnitude != firstNonFinite) {
        return Float.NaN;
      }
      return negative ? Float.NEGATIVE_INFINITY : Float.POSITIVE_INFINITY;
    }
    int field = magnitude >>> mantissaBits;
    int mantissa = magnitude & ((1 << mantissaBits) - 1);
    float value =
        field == 0
            ? Math.scalb((float) mantissa, minExponent - mantissaBits)
            : Math.scalb(
                (float) (mantissa | (1 << mantissaBits)), minExponent + field - 1 - mantissaBits);
    return negative ? -value : value;
  }

  /** The largest finite value. */
  double maxFinite() {
    return decode(firstNonFinite - 1);
  }

  /** The smallest positive normal value. */
  double minNormal() {
    return Math.scalb(1.0, minExponent);
  }

  /** The smallest positive value. */
  double minPositive() {
    return Math.scalb(1.0, minExponent - mantissaBits);
  }

  /** Half the distance from 1 to the next larger value. */
  double unitRoundoff() {
    return Math.scalb(1.0, -mantissaBits - 1);
  }
}
