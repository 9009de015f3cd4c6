package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Meaning of the kernels, against closed forms, exact arithmetic and f64 with bounds. */
class NumericsTest {
  private static double[] binary(BinaryOp op, DType t, byte[] a, byte[] b) {
    byte[] out = new byte[a.length];
    Numerics.binary(op, t, a, 0, b, 0, out, 0, a.length / t.sizeBytes());
    return Operands.values(t, out);
  }

  private static double exact(BinaryOp op, double x, double y) {
    return switch (op) {
      case ADD -> x + y;
      case SUB -> x - y;
      case MUL -> x * y;
      case DIV -> x / y;
      default -> throw new AssertionError(op);
    };
  }

  private static byte[] codes(DType t, int from, int to, boolean outer) {
    byte[] bytes = new byte[(to - from) * 256 * t.sizeBytes()];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) (outer ? from + i / 256 : i % 256);
    }
    return bytes;
  }

  /** Sums and products of two such values are exact in double; a quotient rounds harmlessly. */
  @ParameterizedTest
  @EnumSource(names = {"F8E4M3", "F8E5M2"})
  void arithmetic_allPairsOfFloat8_isCorrectlyRounded(DType t) {
    byte[] a = codes(t, 0, 256, true);
    byte[] b = codes(t, 0, 256, false);
    double[] x = Operands.values(t, a);
    double[] y = Operands.values(t, b);
    for (BinaryOp op : new BinaryOp[] {BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV}) {
      double[] actual = binary(op, t, a, b);
      for (int i = 0; i < x.length; i++) {
        Double expected = t.round(exact(op, x[i], y[i]));
        assertThat(actual[i]).as("%s %s %s", x[i], op, y[i]).isEqualTo(expected);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"F16", "BF16"})
  void arithmetic_randomHalves_isCorrectlyRounded(DType t) {
    int n = 100_000;
    byte[] a = new byte[2 * n];
    byte[] b = new byte[2 * n];
    new SplittableRandom(1).nextBytes(a);
    new SplittableRandom(2).nextBytes(b);
    double[] x = Operands.values(t, a);
    double[] y = Operands.values(t, b);
    for (BinaryOp op : new BinaryOp[] {BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV}) {
      double[] actual = binary(op, t, a, b);
      for (int i = 0; i < n; i++) {
        Double expected = t.round(exact(op, x[i], y[i]));
        if (t == DType.BF16 && Math.abs(expected) < 2 * t.minNormal()) {
          continue; // f32 and bf16 share the exponent range: rounding to f32 first shows here
        }
        assertThat(actual[i]).as("%s %s %s", x[i], op, y[i]).isEqualTo(expected);
      }
    }
  }

  @Test
  void squareRoot_allHalves_isCorrectlyRounded() {
    byte[] a = new byte[2 << 16];
    for (int code = 0; code < 1 << 16; code++) {
      LittleEndian.putShort(a, 2 * code, (short) code);
    }
    byte[] out = new byte[a.length];
    Numerics.unary(UnaryOp.SQRT, DType.F16, a, 0, out, 0, 1 << 16);
    for (int code = 0; code < 1 << 16; code++) {
      double x = DType.F16.getDouble(a, 2 * code);
      assertThat(DType.F16.getDouble(out, 2 * code))
          .as("sqrt %s", x)
          .isEqualTo(Double.valueOf(DType.F16.round(Math.sqrt(x))));
    }
  }

  @Test
  void integers_allPairsOfI8_wrap() {
    byte[] a = codes(DType.I8, 0, 256, true);
    byte[] b = codes(DType.I8, 0, 256, false);
    double[] sum = binary(BinaryOp.ADD, DType.I8, a, b);
    double[] difference = binary(BinaryOp.SUB, DType.I8, a, b);
    double[] product = binary(BinaryOp.MUL, DType.I8, a, b);
    double[] largest = binary(BinaryOp.MAXIMUM, DType.I8, a, b);
    for (int i = 0; i < a.length; i++) {
      assertThat(sum[i]).isEqualTo((byte) (a[i] + b[i]));
      assertThat(difference[i]).isEqualTo((byte) (a[i] - b[i]));
      assertThat(product[i]).isEqualTo((byte) (a[i] * b[i]));
      assertThat(largest[i]).isEqualTo(Math.max(a[i], b[i]));
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"I32", "I64"})
  void integers_randomPairs_matchBigIntegerModuloWidth(DType t) {
    int n = 3000;
    byte[] a = new byte[n * t.sizeBytes()];
    byte[] b = new byte[n * t.sizeBytes()];
    new SplittableRandom(3).nextBytes(a);
    new SplittableRandom(4).nextBytes(b);
    byte[] out = new byte[a.length];
    for (BinaryOp op : new BinaryOp[] {BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV}) {
      Numerics.binary(op, t, a, 0, b, 0, out, 0, n);
      for (int at = 0; at < out.length; at += t.sizeBytes()) {
        BigInteger x = BigInteger.valueOf(t.getLong(a, at));
        BigInteger y = BigInteger.valueOf(t.getLong(b, at));
        BigInteger exact =
            switch (op) {
              case ADD -> x.add(y);
              case SUB -> x.subtract(y);
              case MUL -> x.multiply(y);
              default -> x.divide(y);
            };
        long expected = t == DType.I32 ? exact.intValue() : exact.longValue();
        assertThat(t.getLong(out, at)).as("%s %s %s", x, op, y).isEqualTo(expected);
      }
    }
  }

  @Test
  void integers_edgeCases_areDefined() {
    byte[] a = Operands.of(DType.I32, -7, 7, Integer.MIN_VALUE, 3, -1, 1);
    byte[] b = Operands.of(DType.I32, 2, -2, -1, 5, 40, 31);
    double min = Integer.MIN_VALUE;
    assertThat(binary(BinaryOp.DIV, DType.I32, a, b)).containsExactly(-3, -3, min, 0, 0, 0);
    assertThat(binary(BinaryOp.REM, DType.I32, a, b)).containsExactly(-1, 1, 0, 3, -1, 1);
    assertThat(binary(BinaryOp.SHL, DType.I32, a, b)).containsExactly(-28, 0, 0, 96, 0, min);
    assertThat(binary(BinaryOp.SHR, DType.I32, a, b)).containsExactly(-2, 0, -1, 0, -1, 0);
    byte[] p = Operands.of(DType.I8, 2, 3, -2, 0, 7);
    byte[] q = Operands.of(DType.I8, 6, 5, 7, 0, 2);
    assertThat(binary(BinaryOp.POW, DType.I8, p, q)).containsExactly(64, -13, -128, 1, 49);
    assertThatThrownBy(() -> binary(BinaryOp.DIV, DType.I8, p, new byte[5]))
        .isInstanceOf(ShapeException.class)
        .hasMessageContaining("integer division by zero");
    assertThatThrownBy(() -> binary(BinaryOp.POW, DType.I8, p, p))
        .isInstanceOf(ShapeException.class)
        .hasMessageContaining("exponent -2");
  }

  @Test
  void bool_arithmetic_isLogic() {
    byte[] a = {0, 0, 1, 7};
    byte[] b = {0, 1, 0, 1};
    assertThat(binary(BinaryOp.ADD, DType.BOOL, a, b)).containsExactly(0, 1, 1, 1);
    assertThat(binary(BinaryOp.MUL, DType.BOOL, a, b)).containsExactly(0, 0, 0, 1);
    assertThat(binary(BinaryOp.XOR, DType.BOOL, a, b)).containsExactly(0, 1, 1, 0);
    byte[] out = new byte[4];
    Numerics.unary(UnaryOp.NOT, DType.BOOL, a, 0, out, 0, 4);
    assertThat(out).containsExactly(1, 1, 0, 0);
  }

  @ParameterizedTest
  @EnumSource(names = {"F64", "F32", "F16", "BF16", "F8E4M3", "F8E5M2"})
  void nan_anyPayload_isStoredAsOneCode(DType t) {
    int n = 2100;
    int size = t.sizeBytes();
    byte[] nan = new byte[n * size];
    Arrays.fill(nan, (byte) 0xff);
    byte[] one = new byte[n * size];
    Numerics.fill(t, 1, one, 0, n);
    byte[] canonical = new byte[n * size];
    Numerics.fill(t, Double.NaN, canonical, 0, n);
    long expected =
        switch (t) {
          case F64 -> 0x7ff8000000000000L;
          case F32 -> 0x7fc00000;
          case F16 -> 0x7e00;
          case BF16 -> 0x7fc0;
          default -> 0x7f;
        };
    assertThat(littleEndian(canonical, size)).isEqualTo(expected);
    byte[] out = new byte[n * size];
    for (BinaryOp op : BinaryOp.values()) {
      if (op.supports(t) && op != BinaryOp.POW) {
        Numerics.binary(op, t, nan, 0, one, 0, out, 0, n);
        assertThat(out).as("%s", op).isEqualTo(canonical);
        Numerics.binary(op, t, one, 0, nan, 0, out, 0, n);
        assertThat(out).as("%s", op).isEqualTo(canonical);
      }
    }
    for (UnaryOp op : UnaryOp.values()) {
      if (op.supports(t)) {
        Numerics.unary(op, t, nan, 0, out, 0, n);
        assertThat(out).as("%s", op).isEqualTo(canonical);
      }
    }
    Numerics.binary(BinaryOp.SUB, t, nan, 0, nan, 0, out, 0, n);
    assertThat(out).isEqualTo(canonical);
  }

  private static long littleEndian(byte[] bytes, int size) {
    long value = 0;
    for (int i = 0; i < size; i++) {
      value |= (bytes[i] & 0xffL) << (8 * i);
    }
    return value;
  }

  @ParameterizedTest
  @EnumSource(names = {"F64", "F32", "F16", "BF16", "F8E5M2"})
  void infinities_arithmetic_isIeee(DType t) {
    double inf = Double.POSITIVE_INFINITY;
    double max = t.maxFinite();
    byte[] a = Operands.of(t, inf, inf, max, 0, -1, -0.0, -inf);
    byte[] b = Operands.of(t, -inf, 1, max, 0, 0, 0, 2);
    double nan = Double.NaN;
    assertThat(binary(BinaryOp.ADD, t, a, b)).containsExactly(nan, inf, inf, 0, -1, 0, -inf);
    assertThat(binary(BinaryOp.DIV, t, a, b)).containsExactly(nan, inf, 1, nan, -inf, nan, -inf);
    assertThat(binary(BinaryOp.MAXIMUM, t, a, b)).containsExactly(inf, inf, max, 0, 0, 0.0, 2);
    assertThat(binary(BinaryOp.MINIMUM, t, a, b)).containsExactly(-inf, 1, max, 0, -1, -0.0, -inf);
  }

  @Test
  void binaryScalar_scalarThatF16CannotHold_isUsedInF32() {
    byte[] a = Operands.of(DType.F16, 1024);
    byte[] out = new byte[2];
    Numerics.binaryScalar(BinaryOp.ADD, DType.F16, a, 0, 2049.5, out, 0, 1);
    assertThat(DType.F16.getDouble(out, 0)).isEqualTo(3074); // 3073.5 ties to even
    Numerics.scalarBinary(BinaryOp.SUB, DType.F16, 1, a, 0, out, 0, 1);
    assertThat(DType.F16.getDouble(out, 0)).isEqualTo(-1023);
    byte[] whole = new byte[4];
    assertThatThrownBy(
            () -> Numerics.binaryScalar(BinaryOp.ADD, DType.I32, whole, 0, 0.5, whole, 0, 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("scalar 0.5 is not a value of i32");
  }

  @Test
  void compare_nanAndZeros_isIeee() {
    byte[] a = Operands.of(DType.F16, Double.NaN, -0.0, 1, 2, Double.NaN);
    byte[] b = Operands.of(DType.F16, 1, 0.0, 2, 1, Double.NaN);
    byte[] out = new byte[5];
    byte[][] expected = {
      {0, 0, 1, 0, 0},
      {0, 1, 1, 0, 0},
      {0, 0, 0, 1, 0},
      {0, 1, 0, 1, 0},
      {0, 1, 0, 0, 0},
      {1, 0, 1, 1, 1}
    };
    for (CompareOp op : CompareOp.values()) {
      Numerics.compare(op, DType.F16, a, 0, b, 0, out, 0, 5);
      assertThat(out).as("%s", op).isEqualTo(expected[op.ordinal()]);
    }
    Numerics.compareScalar(CompareOp.GT, DType.F16, a, 0, 0.5, out, 0, 5);
    assertThat(out).containsExactly(0, 0, 1, 1, 0);
    byte[] whole = Operands.of(DType.I64, -1, 0, 5);
    Numerics.compareScalar(CompareOp.LE, DType.I64, whole, 0, 0, out, 0, 3);
    assertThat(out).startsWith(1, 1, 0);
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void where_condition_selectsBytes(DType t) {
    int n = 37;
    byte[] a = Operands.mixed(t, n, 20);
    byte[] b = Operands.mixed(t, n, 21);
    byte[] condition = Operands.mixed(DType.BOOL, n, 22);
    byte[] out = new byte[a.length];
    Numerics.where(t, condition, 0, a, 0, b, 0, out, 0, n);
    for (int i = 0; i < out.length; i++) {
      assertThat(out[i]).isEqualTo(condition[i / t.sizeBytes()] != 0 ? a[i] : b[i]);
    }
  }

  @Test
  void cast_betweenKinds_isDefined() {
    byte[] reals = Operands.of(DType.F32, 1.9, -1.9, 300, Double.NaN, -1e20, 0);
    byte[] small = new byte[6];
    Numerics.cast(DType.F32, reals, 0, DType.I8, small, 0, 6);
    assertThat(small).containsExactly(1, -1, 127, 0, -128, 0);
    Numerics.cast(DType.F32, reals, 0, DType.BOOL, small, 0, 6);
    assertThat(small).containsExactly(1, 1, 1, 1, 1, 0);
    byte[] wide = Operands.of(DType.I32, 300, -129, 16_777_217, 65_519, 65_520, -1);
    Numerics.cast(DType.I32, wide, 0, DType.I8, small, 0, 6);
    assertThat(small).containsExactly(44, 127, 1, -17, -16, -1);
    byte[] halves = new byte[12];
    Numerics.cast(DType.I32, wide, 0, DType.F16, halves, 0, 6);
    double inf = Double.POSITIVE_INFINITY;
    assertThat(Operands.values(DType.F16, halves)).containsExactly(300, -129, inf, 65504, inf, -1);
  }

  @Test
  void fillAndArange_closedForm() {
    byte[] out = new byte[2 * 1000 + 2];
    Numerics.fill(DType.F16, 0.1, out, 2, 1000);
    assertThat(Operands.values(DType.F16, out))
        .startsWith(0, 0.0999755859375)
        .endsWith(0.0999755859375);
    Numerics.arange(DType.F16, 2040, 1, out, 2, 1000);
    for (int i = 0; i < 1000; i++) {
      assertThat(DType.F16.getDouble(out, 2 + 2 * i)).isEqualTo(DType.F16.round(2040 + i));
    }
    byte[] whole = new byte[40];
    Numerics.arange(DType.I64, -2, 3, whole, 0, 5);
    assertThat(Operands.values(DType.I64, whole)).containsExactly(-2, 1, 4, 7, 10);
  }

  @Test
  void reduce_sum_isAscendingInF32AndRoundedOnce() {
    byte[] in = Operands.of(DType.F32, 0x1p24, 1, 1, -0x1p24);
    byte[] out = new byte[4];
    Numerics.reduce(ReduceOp.SUM, DType.F32, 1, 4, 1, in, 0, out, 0);
    assertThat(DType.F32.getDouble(out, 0)).isZero(); // any other order gives 1 or 2
    byte[] ones = new byte[2 * 5000];
    Numerics.fill(DType.F16, 1, ones, 0, 5000);
    Numerics.reduce(ReduceOp.SUM, DType.F16, 1, 5000, 1, ones, 0, out, 0);
    assertThat(DType.F16.getDouble(out, 0)).isEqualTo(5000); // f16 steps would stop at 2048
  }

  @ParameterizedTest
  @EnumSource(ReduceOp.class)
  void reduce_axisOfThree_matchesF64(ReduceOp op) {
    int outer = 3;
    int axis = 50;
    int inner = 7;
    byte[] in = Operands.uniform(DType.F16, outer * axis * inner, 1.5, 30);
    double[] x = Operands.values(DType.F16, in);
    byte[] out = new byte[2 * outer * inner];
    Numerics.reduce(op, DType.F16, outer, axis, inner, in, 0, out, 0);
    for (int o = 0; o < outer; o++) {
      for (int i = 0; i < inner; i++) {
        double expected =
            op == ReduceOp.PRODUCT ? 1 : op == ReduceOp.SUM ? 0 : x[o * axis * inner + i];
        double magnitude = 0;
        for (int a = 0; a < axis; a++) {
          double v = x[(o * axis + a) * inner + i];
          magnitude += Math.abs(v);
          expected =
              switch (op) {
                case SUM -> expected + v;
                case PRODUCT -> expected * v;
                case MAX -> Math.max(expected, v);
                case MIN -> Math.min(expected, v);
              };
        }
        double f32 = axis * 0x1p-24 * (op == ReduceOp.SUM ? magnitude : Math.abs(expected));
        double bound = f32 + Math.abs(expected) * 0x1p-11 + 0x1p-25;
        double actual = DType.F16.getDouble(out, 2 * (o * inner + i));
        assertThat(Math.abs(actual - expected)).isLessThanOrEqualTo(bound);
      }
    }
  }

  @Test
  void reduce_integersAndEdges_areDefined() {
    byte[] in = Operands.of(DType.I8, 100, 100, -3, 7);
    byte[] out = new byte[4];
    Numerics.reduce(ReduceOp.SUM, DType.I8, 2, 2, 1, in, 0, out, 0);
    assertThat(out).startsWith(-56, 4);
    Numerics.reduce(ReduceOp.MIN, DType.I8, 1, 2, 2, in, 0, out, 0);
    assertThat(out).startsWith(-3, 7);
    Numerics.reduce(ReduceOp.SUM, DType.F32, 1, 0, 1, in, 0, out, 0);
    assertThat(out).containsExactly(0, 0, 0, 0);
    Numerics.reduce(ReduceOp.PRODUCT, DType.F32, 1, 0, 1, in, 0, out, 0);
    assertThat(DType.F32.getDouble(out, 0)).isEqualTo(1);
    assertThatThrownBy(() -> Numerics.reduce(ReduceOp.MAX, DType.I8, 1, 0, 1, in, 0, out, 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("MAX of an empty axis");
  }

  @Test
  void combine_repeated_roundsAtEveryStep() {
    byte[] acc = Operands.of(DType.F16, 2048);
    byte[] one = Operands.of(DType.F16, 1);
    for (int i = 0; i < 10; i++) {
      Numerics.combine(ReduceOp.SUM, DType.F16, acc, 0, one, 0, 1);
    }
    assertThat(DType.F16.getDouble(acc, 0)).isEqualTo(2048);
    Numerics.combine(ReduceOp.MIN, DType.F16, acc, 0, one, 0, 1);
    assertThat(DType.F16.getDouble(acc, 0)).isEqualTo(1);
  }

  @Test
  void argReduce_tiesAndNan_takeTheFirst() {
    byte[] in = Operands.of(DType.F16, 1, 5, 5, 2, 3, Double.NaN, 9, Double.NaN, -0.0, 4, 4, 0.0);
    byte[] out = new byte[12];
    Numerics.argReduce(ArgReduceOp.ARGMAX, DType.F16, 3, 4, 1, in, 0, out, 0);
    assertThat(Operands.values(DType.I32, out)).containsExactly(1, 1, 1);
    Numerics.argReduce(ArgReduceOp.ARGMIN, DType.F16, 3, 4, 1, in, 0, out, 0);
    assertThat(Operands.values(DType.I32, out)).containsExactly(0, 1, 0);
    byte[] whole = Operands.of(DType.I64, 3, 9, 1, 9, 2, 1);
    Numerics.argReduce(ArgReduceOp.ARGMAX, DType.I64, 1, 3, 2, whole, 0, out, 0);
    assertThat(Operands.values(DType.I32, out)).startsWith(0, 0);
    Numerics.argReduce(ArgReduceOp.ARGMIN, DType.I64, 1, 3, 2, whole, 0, out, 0);
    assertThat(Operands.values(DType.I32, out)).startsWith(1, 2);
  }

  @Test
  void cumulativeSum_axis_keepsF32BetweenElements() {
    byte[] in = new byte[2 * 3000];
    Numerics.fill(DType.F16, 1, in, 0, 3000);
    Numerics.cumulativeSum(DType.F16, 1, 1500, 2, in, 0, in, 0);
    for (int i = 0; i < 3000; i++) {
      assertThat(DType.F16.getDouble(in, 2 * i)).isEqualTo(DType.F16.round(i / 2 + 1));
    }
    byte[] whole = Operands.of(DType.I8, 100, 100, 100);
    Numerics.cumulativeSum(DType.I8, 1, 3, 1, whole, 0, whole, 0);
    assertThat(whole).containsExactly(100, -56, 44);
  }

  @Test
  void softmax_rows_matchF64() {
    int axis = 33;
    byte[] in = Operands.uniform(DType.F32, 4 * axis * 3, 30, 40);
    double[] x = Operands.values(DType.F32, in);
    byte[] out = new byte[in.length];
    Numerics.softmax(DType.F32, 4, axis, 3, in, 0, out, 0);
    double[] y = Operands.values(DType.F32, out);
    for (int row = 0; row < 12; row++) {
      int base = row / 3 * axis * 3 + row % 3;
      double sum = 0;
      for (int a = 0; a < axis; a++) {
        sum += Math.exp(x[base + 3 * a]);
      }
      for (int a = 0; a < axis; a++) {
        double expected = Math.exp(x[base + 3 * a]) / sum;
        // x - m is off by up to 2^-24 of 60; sums and the quotient add at most axis roundings
        double bound = expected * (60 + axis + 2) * 0x1p-24;
        assertThat(Math.abs(y[base + 3 * a] - expected)).isLessThanOrEqualTo(bound);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"F32,F32", "F16,F16", "BF16,BF16", "F8E4M3,F8E4M3", "F8E5M2,F8E4M3", "F8E4M3,F8E5M2"})
  void gemm_random_isWithinBoundOfF64(DType t, DType right) {
    int m = 37;
    int n = 45;
    int k = 130;
    byte[] a = Operands.uniform(t, m * k, 1, 50);
    byte[] b = Operands.uniform(right, k * n, 1, 51);
    byte[] c = new byte[4 * m * n];
    Numerics.gemm(t, right, DType.F32, m, n, k, a, 0, b, 0, null, 0, c, 0);
    double[] x = Operands.values(t, a);
    double[] y = Operands.values(right, b);
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        double sum = 0;
        double magnitude = 0;
        for (int p = 0; p < k; p++) {
          sum += x[i * k + p] * y[p * n + j];
          magnitude += Math.abs(x[i * k + p] * y[p * n + j]);
        }
        double actual = DType.F32.getDouble(c, 4 * (i * n + j));
        assertThat(Math.abs(actual - sum)).isLessThanOrEqualTo(k * 0x1p-24 * magnitude);
      }
    }
  }

  /** The square of 1 + 2^-12 less 1 + 2^-11 is 2^-24 if fused, and 0 if the product is rounded. */
  @Test
  void gemm_step_isFused() {
    byte[] a = Operands.of(DType.F32, 1 + 0x1p-12);
    byte[] acc = Operands.of(DType.F32, -1 - 0x1p-11);
    byte[] c = new byte[4];
    Numerics.gemm(DType.F32, DType.F32, DType.F32, 1, 1, 1, a, 0, a, 0, acc, 0, c, 0);
    assertThat(DType.F32.getDouble(c, 0)).isEqualTo(0x1p-24);
    Numerics.fma(DType.F32, a, 0, a, 0, acc, 0, c, 0, 1);
    assertThat(DType.F32.getDouble(c, 0)).isEqualTo(0x1p-24);
  }

  @Test
  void gemm_order_isAscendingK() {
    int n = 40;
    byte[] a = Operands.of(DType.F32, 0x1p24, 1, 1, 1, -0x1p24);
    byte[] b = new byte[4 * 5 * n];
    Numerics.fill(DType.F32, 1, b, 0, 5 * n);
    byte[] c = new byte[4 * n];
    Numerics.gemm(DType.F32, DType.F32, DType.F32, 1, n, 5, a, 0, b, 0, null, 0, c, 0);
    assertThat(Operands.values(DType.F32, c)).containsOnly(0);
    Numerics.gemm(DType.F32, DType.F32, DType.F32, n, 1, 5, b, 0, a, 0, null, 0, c, 0);
    assertThat(Operands.values(DType.F32, c)).containsOnly(0);
  }

  @Test
  void gemm_i8_isExactAndWraps() {
    int k = 300;
    byte[] a = new byte[3 * k];
    byte[] b = new byte[k * 5];
    new SplittableRandom(60).nextBytes(a);
    new SplittableRandom(61).nextBytes(b);
    byte[] acc = Operands.of(DType.I32, new double[15]);
    DType.I32.putLong(acc, 0, Integer.MAX_VALUE);
    byte[] c = new byte[60];
    Numerics.gemm(DType.I8, DType.I8, DType.I32, 3, 5, k, a, 0, b, 0, acc, 0, c, 0);
    for (int i = 0; i < 15; i++) {
      long sum = DType.I32.getLong(acc, 4 * i);
      for (int p = 0; p < k; p++) {
        sum += a[i / 5 * k + p] * b[p * 5 + i % 5];
      }
      assertThat(DType.I32.getLong(c, 4 * i)).isEqualTo((int) sum);
    }
  }

  @Test
  void copyStrided_transposeBroadcastAndSlice_moveElements() {
    byte[] matrix = Operands.of(DType.I32, 1, 2, 3, 4, 5, 6); // [2, 3]
    byte[] out = new byte[24];
    Numerics.copyStrided(
        4, Shape.of(3, 2), matrix, 0, new long[] {1, 3}, out, 0, new long[] {2, 1});
    assertThat(Operands.values(DType.I32, out)).containsExactly(1, 4, 2, 5, 3, 6);
    Numerics.copyStrided(
        4, Shape.of(2, 3), matrix, 4, new long[] {3, 0}, out, 0, new long[] {3, 1});
    assertThat(Operands.values(DType.I32, out)).containsExactly(2, 2, 2, 5, 5, 5);
    Numerics.copyStrided(4, Shape.of(), matrix, 20, new long[0], out, 0, new long[0]);
    assertThat(Operands.values(DType.I32, out)).startsWith(6, 2);
    assertThatThrownBy(() ->
            Numerics.copyStrided(4, Shape.of(3), matrix, 0, new long[] {3}, out, 0, new long[] {1}))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessage("strided copy: src reaches bytes 0 to 28; the array has 24");
  }

  @Test
  void operands_thatDoNotFit_areErrorsWithNames() {
    byte[] a = new byte[8];
    assertThatThrownBy(() -> Numerics.add(DType.F32, a, 0, a, 4, a, 0, 2))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessage("operand b: 2 x f32 at byte 4; the array has 8 bytes");
    assertThatThrownBy(() -> Numerics.unary(UnaryOp.EXP, DType.I32, a, 0, a, 0, 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("exp is not defined on i32; cast the operands first");
    assertThatThrownBy(() ->
            Numerics.gemm(DType.F16, DType.F16, DType.I32, 1, 1, 1, a, 0, a, 0, null, 0, a, 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("gemm of f16 to i32");
  }

  /** A step of 2^-40 of the operands shows whether a function went through f32 on its way. */
  @Test
  void doubles_everyFunction_neverPassThroughF32() {
    byte[] a = Operands.of(DType.F64, 1 + 0x1p-40, 3 + 0x1p-40, 0.7 + 0x1p-40);
    byte[] b = Operands.of(DType.F64, 1, 3, 0.7);
    byte[] x = new byte[24];
    byte[] y = new byte[24];
    for (UnaryOp op : UnaryOp.values()) {
      if (!op.supports(DType.F64) || op == UnaryOp.FLOOR || op == UnaryOp.CEIL) {
        continue;
      }
      Numerics.unary(op, DType.F64, a, 0, x, 0, 3);
      Numerics.unary(op, DType.F64, b, 0, y, 0, 3);
      for (int i = 0; i < 3; i++) {
        double dx = DType.F64.getDouble(x, 8 * i) - DType.F64.getDouble(y, 8 * i);
        assertThat(Math.abs(dx)).as("%s %d", op, i).isGreaterThan(0).isLessThan(0x1p-33);
      }
    }
    Numerics.binaryScalar(BinaryOp.SUB, DType.F64, a, 0, 1 + 0x1p-41, x, 0, 1);
    assertThat(DType.F64.getDouble(x, 0)).isEqualTo(0x1p-41);
    Numerics.compareScalar(CompareOp.GT, DType.F64, a, 0, 1, x, 0, 1);
    assertThat(x[0]).isEqualTo((byte) 1);
    Numerics.reduce(ReduceOp.SUM, DType.F64, 1, 3, 1, a, 0, x, 0);
    assertThat(DType.F64.getDouble(x, 0)).isEqualTo(1 + 0x1p-40 + (3 + 0x1p-40) + (0.7 + 0x1p-40));
    Numerics.cast(DType.F64, a, 0, DType.F32, x, 0, 3);
    assertThat(DType.F32.getDouble(x, 0)).isEqualTo(1);
  }

  /** The known values to 16 digits, and identities that double must keep to 1e-12. */
  @Test
  void doubles_functions_matchKnownValues() {
    byte[] one = Operands.of(DType.F64, 1, 0.3, -2.5);
    byte[] out = new byte[24];
    Numerics.unary(UnaryOp.ERF, DType.F64, one, 0, out, 0, 3);
    assertThat(DType.F64.getDouble(out, 0)).isCloseTo(0.8427007929497149, within(1e-13));
    assertThat(DType.F64.getDouble(out, 8)).isCloseTo(0.3286267594591274, within(1e-13));
    assertThat(DType.F64.getDouble(out, 16)).isCloseTo(-0.9995930479825550, within(1e-13));
    Numerics.unary(UnaryOp.GELU, DType.F64, one, 0, out, 0, 3);
    assertThat(DType.F64.getDouble(out, 0)).isCloseTo(0.8413447460685429, within(1e-13));
    Numerics.softmax(DType.F64, 1, 3, 1, one, 0, out, 0);
    double sum = Math.exp(1) + Math.exp(0.3) + Math.exp(-2.5);
    assertThat(DType.F64.getDouble(out, 16)).isCloseTo(Math.exp(-2.5) / sum, within(1e-15));
  }

  @Test
  void gemm_f64_isFusedAscendingInDouble() {
    byte[] a = Operands.of(DType.F64, 1 + 0x1p-30);
    byte[] acc = Operands.of(DType.F64, -1 - 0x1p-29);
    byte[] c = new byte[8];
    Numerics.gemm(DType.F64, DType.F64, DType.F64, 1, 1, 1, a, 0, a, 0, acc, 0, c, 0);
    assertThat(DType.F64.getDouble(c, 0)).isEqualTo(0x1p-60);
    byte[] row = Operands.of(DType.F64, 0x1p53, 1, 1, 1, -0x1p53);
    byte[] ones = Operands.of(DType.F64, 1, 1, 1, 1, 1);
    Numerics.gemm(DType.F64, DType.F64, DType.F64, 1, 1, 5, row, 0, ones, 0, null, 0, c, 0);
    assertThat(DType.F64.getDouble(c, 0)).isZero();
  }
}
