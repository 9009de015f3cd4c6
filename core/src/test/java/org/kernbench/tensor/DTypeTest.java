package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Rounding against an oracle that knows only the definition of a format: it lists all values,
 * searches the two neighbours of a number and takes the nearer by exact decimal arithmetic.
 */
class DTypeTest {
  /** All non-negative values of a format by code, then the value after the largest. */
  private record Oracle(double[] values, boolean hasInfinity) {
    static Oracle of(DType t) {
      return switch (t) {
        case F16 -> of(5, 10, 0x7c00, true);
        case BF16 -> of(8, 7, 0x7f80, true);
        case F8E4M3 -> of(4, 3, 0x7f, false);
        case F8E5M2 -> of(5, 2, 0x7c, true);
        default -> throw new AssertionError(t);
      };
    }

    private static Oracle of(int exponentBits, int mantissaBits, int finite, boolean hasInfinity) {
      double[] values = new double[finite + 1];
      double bias = Math.pow(2, exponentBits - 1) - 1;
      for (int code = 0; code <= finite; code++) {
        double field = code >> mantissaBits;
        double fraction = (code % (1 << mantissaBits)) / Math.pow(2, mantissaBits);
        values[code] =
            field == 0
                ? fraction * Math.pow(2, 1 - bias)
                : (1 + fraction) * Math.pow(2, field - bias);
      }
      return new Oracle(values, hasInfinity);
    }

    int finiteCodes() {
      return values.length - 1;
    }

    double nearest(double x) {
      if (Double.isNaN(x)) {
        return Double.NaN;
      }
      double magnitude = Math.abs(x);
      int low = 0;
      int high = finiteCodes();
      if (magnitude >= values[high]) {
        low = high;
      }
      while (high - low > 1) {
        int middle = (low + high) / 2;
        if (values[middle] <= magnitude) {
          low = middle;
        } else {
          high = middle;
        }
      }
      int code = low == high ? low : nearer(magnitude, low, high);
      double rounded =
          code < finiteCodes() ? values[code] : hasInfinity ? Double.POSITIVE_INFINITY : Double.NaN;
      return Math.copySign(rounded, x);
    }

    private int nearer(double magnitude, int low, int high) {
      BigDecimal exact = new BigDecimal(magnitude);
      BigDecimal below = exact.subtract(new BigDecimal(values[low]));
      BigDecimal above = new BigDecimal(values[high]).subtract(exact);
      int order = below.compareTo(above);
      return order < 0 || (order == 0 && low % 2 == 0) ? low : high;
    }
  }

  private static void assertSame(double actual, double expected, String what) {
    if (Double.doubleToLongBits(actual) != Double.doubleToLongBits(expected)
        && !(Double.isNaN(actual) && Double.isNaN(expected))) {
      throw new AssertionError(what + ": got " + actual + ", expected " + expected);
    }
  }

  private static int code(DType t, byte[] bytes) {
    return t.sizeBytes() == 1 ? bytes[0] & 0xff : LittleEndian.getShort(bytes, 0) & 0xffff;
  }

  private static byte[] bytes(DType t, int code) {
    byte[] bytes = new byte[t.sizeBytes()];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) (code >> (8 * i));
    }
    return bytes;
  }

  @ParameterizedTest
  @EnumSource(names = {"F16", "BF16", "F8E4M3", "F8E5M2"})
  void getDouble_everyCode_matchesDefinition(DType t) {
    Oracle oracle = Oracle.of(t);
    int sign = 1 << (8 * t.sizeBytes() - 1);
    for (int code = 0; code < sign; code++) {
      double expected = Double.NaN;
      if (code < oracle.finiteCodes()) {
        expected = oracle.values[code];
      } else if (code == oracle.finiteCodes() && oracle.hasInfinity) {
        expected = Double.POSITIVE_INFINITY;
      }
      assertSame(t.getDouble(bytes(t, code), 0), expected, t + " code " + code);
      assertSame(t.getDouble(bytes(t, code | sign), 0), -expected, t + " code -" + code);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"F16", "BF16", "F8E4M3", "F8E5M2"})
  void putDouble_everyValue_givesItsCodeBack(DType t) {
    int codes = 1 << (8 * t.sizeBytes());
    int nan = t == DType.F16 ? 0x7e00 : t == DType.BF16 ? 0x7fc0 : 0x7f;
    for (int code = 0; code < codes; code++) {
      byte[] out = new byte[t.sizeBytes()];
      double value = t.getDouble(bytes(t, code), 0);
      t.putDouble(out, 0, value);
      assertThat(code(t, out)).isEqualTo(Double.isNaN(value) ? nan : code);
      assertThat(t.mini().encode((float) value)).isEqualTo(Double.isNaN(value) ? nan : code);
    }
  }

  /** Between any two neighbours: the tie, and the doubles just below and above it. */
  @ParameterizedTest
  @EnumSource(names = {"F16", "BF16", "F8E4M3", "F8E5M2"})
  void round_everyTieAndItsNeighbours_matchesDefinition(DType t) {
    double[] values = Oracle.of(t).values;
    boolean infinity = Oracle.of(t).hasInfinity;
    for (int code = 0; code < values.length - 1; code++) {
      double tie = (values[code] + values[code + 1]) / 2;
      double beyond = infinity ? Double.POSITIVE_INFINITY : Double.NaN;
      double above = code + 1 < values.length - 1 ? values[code + 1] : beyond;
      double even = code % 2 == 0 ? values[code] : above;
      String what = t + " between codes " + code + " and " + (code + 1);
      assertSame(t.round(tie), even, what + ", tie");
      assertSame(t.round(Math.nextDown(tie)), values[code], what + ", below the tie");
      assertSame(t.round(Math.nextUp(tie)), above, what + ", above the tie");
      assertSame(t.round(-tie), -even, what + ", negative tie");
      assertSame(t.round(-Math.nextUp(tie)), -above, what + ", below the negative tie");
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"F16", "BF16", "F8E4M3", "F8E5M2"})
  void round_randomDoubles_matchesNearestNeighbourSearch(DType t) {
    Oracle oracle = Oracle.of(t);
    SplittableRandom random = new SplittableRandom(17);
    double range = Math.log(t.maxFinite() / t.minPositive()) / Math.log(2) + 6;
    for (int i = 0; i < 100_000; i++) {
      double scale = Math.pow(2, random.nextDouble() * range) * t.minPositive() / 8;
      double value = i % 9 == 0 ? Double.longBitsToDouble(random.nextLong()) : scale;
      double signed = random.nextBoolean() ? value : -value;
      assertSame(t.round(signed), oracle.nearest(signed), t + " of " + signed);
      float single = (float) signed;
      double fromFloat = t.getDouble(bytes(t, t.mini().encode(single)), 0);
      assertSame(fromFloat, oracle.nearest(single), t + " of float " + single);
    }
  }

  /** The neighbours of a float are known to Math.nextUp; the distances are exact decimals. */
  @Test
  void round_f32RandomDoubles_matchesNearestNeighbourSearch() {
    SplittableRandom random = new SplittableRandom(18);
    for (int i = 0; i < 100_000; i++) {
      double value = random.nextDouble(1, 2) * Math.pow(2, random.nextInt(-155, 128));
      int exponent = Math.max(Math.getExponent(value), Float.MIN_EXPONENT);
      double quantum = Math.pow(2, exponent - 23);
      float low = (float) (Math.floor(value / quantum) * quantum); // exact
      float high = Math.nextUp(low);
      if (Float.isInfinite(high)) {
        continue;
      }
      BigDecimal exact = new BigDecimal(value);
      int order =
          exact.subtract(new BigDecimal(low)).compareTo(new BigDecimal(high).subtract(exact));
      boolean lowIsEven = (Float.floatToIntBits(low) & 1) == 0;
      float expected = order < 0 || (order == 0 && lowIsEven) ? low : high;
      assertSame(DType.F32.round(value), expected, "f32 of " + value);
    }
  }

  /** 1 + 2^-11 is a tie of f16; a little above it must go up, but f32 cannot see the little. */
  @Test
  void round_justAboveTieInDouble_doesNotRoundTwice() {
    double value = 1 + 0x1p-11 + 0x1p-40;
    assertThat(DType.F16.round(value)).isEqualTo(1 + 0x1p-10);
    assertThat(DType.F16.round((float) value)).isEqualTo(1.0);
    double brain = 1 + 0x1p-8 + 0x1p-40;
    assertThat(DType.BF16.round(brain)).isEqualTo(1 + 0x1p-7);
    assertThat(DType.BF16.round((float) brain)).isEqualTo(1.0);
    assertThat(DType.F8E4M3.round(1 + 0x1p-4 + 0x1p-40)).isEqualTo(1.125);
    assertThat(DType.F8E5M2.round(1 + 0x1p-3 + 0x1p-40)).isEqualTo(1.25);
  }

  /** 2^62 + 2^54 is a tie of bf16, one more is above it; a double in between cannot see the one. */
  @Test
  void putLong_justAboveTie_doesNotRoundTwice() {
    byte[] out = new byte[4];
    DType.BF16.putLong(out, 0, (1L << 62) + (1L << 54) + 1);
    assertThat(DType.BF16.getDouble(out, 0)).isEqualTo(0x1p62 + 0x1p55);
    DType.BF16.putLong(out, 0, (1L << 62) + (1L << 54));
    assertThat(DType.BF16.getDouble(out, 0)).isEqualTo(0x1p62);
    DType.BF16.putLong(out, 0, -((1L << 62) + (1L << 54) + 1));
    assertThat(DType.BF16.getDouble(out, 0)).isEqualTo(-0x1p62 - 0x1p55);
    DType.F32.putLong(out, 0, (1L << 62) + (1L << 38) + 1);
    assertThat(DType.F32.getDouble(out, 0)).isEqualTo(0x1p62 + 0x1p39);
  }

  @Test
  void putLong_f32RandomLongs_matchesBigDecimalNeighbours() {
    SplittableRandom random = new SplittableRandom(19);
    byte[] out = new byte[4];
    for (int i = 0; i < 100_000; i++) {
      long value = random.nextLong() >> random.nextInt(63);
      DType.F32.putLong(out, 0, value);
      assertThat(DType.F32.getDouble(out, 0)).isEqualTo(new BigDecimal(value).floatValue());
    }
    DType.F32.putLong(out, 0, Long.MIN_VALUE);
    assertThat(DType.F32.getDouble(out, 0)).isEqualTo(-0x1p63);
  }

  /** The table of OCP's 8-bit floating point formats, and the casts of PyTorch. */
  @ParameterizedTest
  @CsvSource({
    "F8E4M3, 448, 448",
    "F8E4M3, 464, 448",
    "F8E4M3, 464.001, NaN",
    "F8E4M3, Infinity, NaN",
    "F8E4M3, -1e9, NaN",
    "F8E4M3, 0.001953125, 0.001953125",
    "F8E4M3, 0.0009765625, 0",
    "F8E4M3, 0.00097656251, 0.001953125",
    "F8E4M3, 0.015625, 0.015625",
    "F8E5M2, 57344, 57344",
    "F8E5M2, 61439.9, 57344",
    "F8E5M2, 61440, Infinity",
    "F8E5M2, -61440, -Infinity",
    "F8E5M2, 1.52587890625e-05, 1.52587890625e-05",
    "F16, 65519.99, 65504",
    "F16, 65520, Infinity",
    "F16, 5.960464477539063e-08, 5.960464477539063e-08",
    "F16, 2.98e-08, 0"
  })
  void round_documentedValues_areExact(DType t, double value, double expected) {
    assertSame(t.round(value), expected, t + " of " + value);
  }

  @ParameterizedTest
  @EnumSource(names = {"F64", "F32", "F16", "BF16", "F8E4M3", "F8E5M2"})
  void limits_everyFloat_areConsistentWithRounding(DType t) {
    assertThat(t.round(t.maxFinite())).isEqualTo(t.maxFinite());
    assertThat(t.round(t.maxFinite() * (1 + t.unitRoundoff() * 4))).isNotEqualTo(t.maxFinite());
    assertThat(t.round(t.minPositive())).isEqualTo(t.minPositive());
    assertThat(t.round(t.minPositive() / 2)).isZero();
    assertThat(t.round(1 + t.unitRoundoff())).isEqualTo(1);
    assertThat(t.round(1 + 2 * t.unitRoundoff())).isEqualTo(1 + 2 * t.unitRoundoff());
    assertThat(t.minNormal() * 2 * t.unitRoundoff()).isEqualTo(t.minPositive());
    assertThat(1 / t.round(-0.0)).isEqualTo(Double.NEGATIVE_INFINITY);
  }

  @Test
  void putDouble_integers_truncateAndSaturate() {
    assertThat(DType.I8.round(-3.9)).isEqualTo(-3);
    assertThat(DType.I8.round(200)).isEqualTo(127);
    assertThat(DType.I8.round(-1e30)).isEqualTo(-128);
    assertThat(DType.I32.round(3e9)).isEqualTo(Integer.MAX_VALUE);
    assertThat(DType.I32.round(Double.NaN)).isZero();
    assertThat(DType.I64.round(Double.NEGATIVE_INFINITY)).isEqualTo(-0x1p63);
    assertThat(DType.BOOL.round(0.25)).isEqualTo(1);
  }

  @Test
  void putLong_integers_wrap() {
    byte[] out = new byte[8];
    DType.I8.putLong(out, 0, 130);
    assertThat(DType.I8.getLong(out, 0)).isEqualTo(-126);
    DType.I32.putLong(out, 0, 1L << 31);
    assertThat(DType.I32.getLong(out, 0)).isEqualTo(Integer.MIN_VALUE);
    DType.I64.putLong(out, 0, 0x123456789abcdef0L);
    assertThat(out).startsWith(0xf0, 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12);
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void parse_code_givesType(DType t) {
    assertThat(DType.parse(t.code())).isEqualTo(t);
  }

  @ParameterizedTest
  @CsvSource({
    "float16, f16",
    "float64, f64",
    "double, f64",
    "fp32, f32",
    "bfloat16, bf16",
    "f8_e5m2, f8e5m2",
    "float8_e4m3fn, f8e4m3",
    "int32, i32",
    "INT64, i64",
    "boolean, bool",
    "f17, f16"
  })
  void parse_unknownName_suggestsNearest(String text, String nearest) {
    assertThatThrownBy(() -> DType.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("unknown dtype \"" + text + "\"; did you mean " + nearest + "?")
        .hasMessageContaining("f64, f32, f16, bf16, f8e4m3, f8e5m2, i8, i32, i64, bool");
  }
}
