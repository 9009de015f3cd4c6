package org.kernbench.tensor;

import java.util.Arrays;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The element types. Elements are little-endian; storing a real number rounds it exactly once, to
 * nearest, ties to even.
 *
 * <table>
 * <caption>Floating-point types</caption>
 * <tr><th>type</th><th>bits: sign, exponent, mantissa</th><th>largest</th><th>past the largest</th>
 *     <th>stored NaN</th></tr>
 * <tr><td>f64</td><td>1, 11, 52</td><td>1.8e308</td><td>infinity</td><td>0x7ff8000000000000</td>
 *     </tr>
 * <tr><td>f32</td><td>1, 8, 23</td><td>3.4e38</td><td>infinity</td><td>0x7fc00000</td></tr>
 * <tr><td>f16</td><td>1, 5, 10</td><td>65504</td><td>infinity</td><td>0x7e00</td></tr>
 * <tr><td>bf16</td><td>1, 8, 7</td><td>3.39e38</td><td>infinity</td><td>0x7fc0</td></tr>
 * <tr><td>f8e4m3</td><td>1, 4, 3</td><td>448</td><td>NaN (there is no infinity)</td><td>0x7f</td>
 *     </tr>
 * <tr><td>f8e5m2</td><td>1, 5, 2</td><td>57344</td><td>infinity</td><td>0x7f</td></tr>
 * </table>
 *
 * <p>f8e4m3 is the OCP E4M3 of PyTorch's {@code float8_e4m3fn}. Like there, and unlike hardware
 * casts that saturate, a value that rounds past 448 (above 464; 464 itself is a tie and gives 448)
 * becomes NaN, so that an overflow cannot pass for a result. Clamp first where saturation is meant.
 *
 * <p>Every NaN that is computed or rounded is stored as the one code in the table, whatever its
 * sign and payload were: processors differ there, and equal inputs must give equal bytes.
 *
 * <p>Integers are two's complement and wrap. A real number stored as an integer is truncated toward
 * zero and saturated, NaN giving 0. {@code bool} is one byte, 0 or 1; reading takes any other byte
 * for true.
 */
public enum DType {
  /**
   * IEEE 754 binary64, code {@code f64}: for references and gradient checks. Every function
   * computes it in double; accelerators seldom have it, and the cost model charges it by its bytes
   * only.
   */
  F64("f64", 8, null),
  /** IEEE 754 binary32, code {@code f32}. */
  F32("f32", 4, null),
  /** IEEE 754 binary16, code {@code f16}. */
  F16("f16", 2, MiniFloat.F16),
  /** The upper half of binary32, code {@code bf16}. */
  BF16("bf16", 2, MiniFloat.BF16),
  /** OCP E4M3 (finite values and NaN only), code {@code f8e4m3}. */
  F8E4M3("f8e4m3", 1, MiniFloat.F8E4M3),
  /** OCP E5M2, code {@code f8e5m2}. */
  F8E5M2("f8e5m2", 1, MiniFloat.F8E5M2),
  /** Signed 8-bit integer, code {@code i8}. */
  I8("i8", 1, null),
  /** Signed 32-bit integer, code {@code i32}. */
  I32("i32", 4, null),
  /** Signed 64-bit integer, code {@code i64}. */
  I64("i64", 8, null),
  /** Truth value in one byte, code {@code bool}. */
  BOOL("bool", 1, null);

  private final String code;
  private final int sizeBytes;
  private final @Nullable MiniFloat mini;

  DType(String code, int sizeBytes, @Nullable MiniFloat mini) {
    this.code = code;
    this.sizeBytes = sizeBytes;
    this.mini = mini;
  }

  /** The short name used in configurations and reports, for example {@code bf16}. */
  public String code() {
    return code;
  }

  /**
   * The type with this {@linkplain #code() code}.
   *
   * @throws IllegalArgumentException if there is none; the message names the nearest code
   */
  public static DType parse(String text) {
    for (DType type : values()) {
      if (type.code.equals(text)) {
        return type;
      }
    }
    String known = Arrays.stream(values()).map(DType::code).collect(Collectors.joining(", "));
    throw new IllegalArgumentException(
        "unknown dtype \"" + text + "\"; did you mean " + nearest(text) + "? Known: " + known);
  }

  private static String nearest(String text) {
    String word = text.toLowerCase(Locale.ROOT).replace("_", "");
    String plain =
        word.replace("double", "f64").replace("float", "f").replace("fp", "f").replace("int", "i");
    if (plain.startsWith("f8e4")) {
      return F8E4M3.code;
    }
    DType best = F32;
    int bestDistance = Integer.MAX_VALUE;
    for (DType type : values()) {
      int distance = editDistance(plain, type.code);
      if (distance < bestDistance) {
        best = type;
        bestDistance = distance;
      }
    }
    return best.code;
  }

  private static int editDistance(String a, String b) {
    int[] row = new int[b.length() + 1];
    Arrays.setAll(row, j -> j);
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int substitute = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(substitute, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[b.length()];
  }

  /** Bytes per element. */
  public int sizeBytes() {
    return sizeBytes;
  }

  /** True for the six floating-point types. */
  public boolean isFloatingPoint() {
    return mini != null || this == F32 || this == F64;
  }

  /** True for the two 8-bit floating-point types. */
  public boolean isF8() {
    return this == F8E4M3 || this == F8E5M2;
  }

  /**
   * The type in which sums of products of this type are kept: f64 for f64, i32 for i8, f32 for the
   * other floating-point types, the type itself for the rest.
   */
  public DType accumulator() {
    return switch (this) {
      case F64 -> F64;
      case F32, F16, BF16, F8E4M3, F8E5M2 -> F32;
      case I8 -> I32;
      case I32, I64, BOOL -> this;
    };
  }

  /** True for i8, i32 and i64; not for bool. */
  public boolean isInteger() {
    return this == I8 || this == I32 || this == I64;
  }

  /** Half the distance from 1 to the next larger value ({@code 2^-11} for f16); 0 if exact. */
  public double unitRoundoff() {
    if (mini != null) {
      return mini.unitRoundoff();
    }
    return this == F32 ? 0x1p-24 : this == F64 ? 0x1p-53 : 0;
  }

  /** Whether a type of whole numbers, or bool, has a number. */
  public boolean holds(double number) {
    return this == BOOL
        ? number == 0 || number == 1
        : number == Math.rint(number)
            && number >= -maxFinite() - 1
            && (this == I64 ? number < 0x1p63 : number <= maxFinite());
  }

  /** The largest finite value; for i64 the nearest double, {@code 2^63}. */
  public double maxFinite() {
    return switch (this) {
      case F64 -> Double.MAX_VALUE;
      case F32 -> Float.MAX_VALUE;
      case F16, BF16, F8E4M3, F8E5M2 -> mini().maxFinite();
      case I8 -> Byte.MAX_VALUE;
      case I32 -> Integer.MAX_VALUE;
      case I64 -> Long.MAX_VALUE;
      case BOOL -> 1;
    };
  }

  /** The smallest positive normal value; 1 for integers and bool. */
  public double minNormal() {
    if (mini != null) {
      return mini.minNormal();
    }
    return this == F32 ? Float.MIN_NORMAL : this == F64 ? Double.MIN_NORMAL : 1;
  }

  /** The smallest positive value (subnormal); 1 for integers and bool. */
  public double minPositive() {
    if (mini != null) {
      return mini.minPositive();
    }
    return this == F32 ? Float.MIN_VALUE : this == F64 ? Double.MIN_VALUE : 1;
  }

  /** The element at {@code byteOffset}, exactly; an i64 beyond 2^53 is rounded. */
  public double getDouble(byte[] src, int byteOffset) {
    return switch (this) {
      case F64 -> Double.longBitsToDouble(LittleEndian.getLong(src, byteOffset));
      case F32 -> Float.intBitsToFloat(LittleEndian.getInt(src, byteOffset));
      case F16 -> Float.float16ToFloat(LittleEndian.getShort(src, byteOffset));
      case BF16 -> Float.intBitsToFloat(LittleEndian.getShort(src, byteOffset) << 16);
      case F8E4M3, F8E5M2 -> mini().decode(src[byteOffset]);
      case I8, I32, I64, BOOL -> getLong(src, byteOffset);
    };
  }

  /** Stores {@code value} at {@code byteOffset}, rounded once as the class describes. */
  public void putDouble(byte[] dst, int byteOffset, double value) {
    switch (this) {
      case F64 -> LittleEndian.putLong(dst, byteOffset, Double.doubleToLongBits(value));
      case F32 -> LittleEndian.putInt(dst, byteOffset, Float.floatToIntBits((float) value));
      case F16, BF16 -> LittleEndian.putShort(dst, byteOffset, (short) mini().encode(value));
      case F8E4M3, F8E5M2 -> dst[byteOffset] = (byte) mini().encode(value);
      case I8 -> dst[byteOffset] = (byte) Math.clamp((long) value, Byte.MIN_VALUE, Byte.MAX_VALUE);
      case I32 -> LittleEndian.putInt(dst, byteOffset, (int) value);
      case I64 -> LittleEndian.putLong(dst, byteOffset, (long) value);
      case BOOL -> dst[byteOffset] = (byte) (value != 0 ? 1 : 0);
    }
  }

  /** The element at {@code byteOffset} as an integer; a real number as {@code (long) value}. */
  public long getLong(byte[] src, int byteOffset) {
    return switch (this) {
      case F64, F32, F16, BF16, F8E4M3, F8E5M2 -> (long) getDouble(src, byteOffset);
      case I8 -> src[byteOffset];
      case I32 -> LittleEndian.getInt(src, byteOffset);
      case I64 -> LittleEndian.getLong(src, byteOffset);
      case BOOL -> src[byteOffset] != 0 ? 1 : 0;
    };
  }

  /**
   * Stores an integer: wrapped to the width of an integer type, rounded once (from the exact
   * integer) to a floating-point type, 1 for non-zero in bool.
   */
  public void putLong(byte[] dst, int byteOffset, long value) {
    switch (this) {
      case F64 -> putDouble(dst, byteOffset, value);
      case F32, F16, BF16, F8E4M3, F8E5M2 -> putDouble(dst, byteOffset, roundToOdd(value));
      case I8 -> dst[byteOffset] = (byte) value;
      case I32 -> LittleEndian.putInt(dst, byteOffset, (int) value);
      case I64 -> LittleEndian.putLong(dst, byteOffset, value);
      case BOOL -> dst[byteOffset] = (byte) (value != 0 ? 1 : 0);
    }
  }

  /**
   * A double that rounds to every narrower type as {@code value} itself would: beyond 2^53 the low
   * bits are folded into one sticky bit, so that a value just off a tie stays off it.
   */
  private static double roundToOdd(long value) {
    if (Math.abs(value) < 1L << 53 && value != Long.MIN_VALUE) {
      return value;
    }
    long sticky = (value & 0x7ff) != 0 ? 0x800 : 0;
    return (double) ((value & ~0x7ffL) | sticky);
  }

  /** The value that {@link #getDouble} gives back after storing {@code value}. */
  public double round(double value) {
    byte[] element = new byte[sizeBytes];
    putDouble(element, 0, value);
    return getDouble(element, 0);
  }

  /** The 16- or 8-bit format behind this type; only for types that have one. */
  MiniFloat mini() {
    return Objects.requireNonNull(mini);
  }

  @Override
  public String toString() {
    return code;
  }
}
