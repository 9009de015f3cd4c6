package org.kernbench.tensor;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every fast kernel against its scalar twin, bit for bit, for every type and function. */
class NumericsTwinTest {
  /** Bytes before each operand, so that a forgotten offset shows; odd, so nothing is aligned. */
  private static final int PAD = 3;

  private static byte[] padded(byte[] operand) {
    byte[] bytes = new byte[operand.length + PAD];
    System.arraycopy(operand, 0, bytes, PAD, operand.length);
    return bytes;
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void binary_everyFunction_matchesTwin(DType t) {
    for (BinaryOp op : BinaryOp.values()) {
      if (!op.supports(t)) {
        continue;
      }
      for (int n : Operands.SIZES) {
        byte[] a = padded(Operands.mixed(t, n, 1));
        byte[] b = padded(divisors(op, t, Operands.mixed(t, n, 2)));
        byte[] fast = new byte[a.length];
        byte[] slow = new byte[a.length];
        Numerics.binary(op, t, a, PAD, b, PAD, fast, PAD, n);
        ScalarNumerics.binary(op, t, a, PAD, b, PAD, slow, PAD, n);
        assertThat(fast).as("%s %s %d", op, t, n).isEqualTo(slow);
        Numerics.binary(op, t, a, PAD, b, PAD, a, PAD, n);
        assertThat(a).as("%s %s %d in place", op, t, n).isEqualTo(slow);
      }
    }
  }

  /** Integer division needs a divisor other than 0, an integer power one that is not negative. */
  private static byte[] divisors(BinaryOp op, DType t, byte[] b) {
    if (t.isFloatingPoint() || !(op == BinaryOp.DIV || op == BinaryOp.REM || op == BinaryOp.POW)) {
      return b;
    }
    for (int at = 0; at < b.length; at += t.sizeBytes()) {
      long value = t.getLong(b, at);
      t.putLong(b, at, op == BinaryOp.POW ? value & 0x7f : value | 1);
    }
    return b;
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void binaryScalar_everyFunction_matchesTwinOnFilledOperand(DType t) {
    int n = 1500;
    byte[] a = padded(divisors(BinaryOp.DIV, t, Operands.mixed(t, n, 3)));
    for (BinaryOp op : BinaryOp.values()) {
      if (!op.supports(t)) {
        continue;
      }
      double scalar = t == DType.BOOL ? 1 : 3;
      byte[] filled = new byte[a.length];
      for (int i = 0; i < n; i++) {
        t.putDouble(filled, PAD + i * t.sizeBytes(), scalar);
      }
      byte[] fast = new byte[a.length];
      byte[] slow = new byte[a.length];
      Numerics.binaryScalar(op, t, a, PAD, scalar, fast, PAD, n);
      ScalarNumerics.binary(op, t, a, PAD, filled, PAD, slow, PAD, n);
      assertThat(fast).as("%s %s", op, t).isEqualTo(slow);
      if (op != BinaryOp.POW || t.isFloatingPoint()) {
        Numerics.scalarBinary(op, t, scalar, a, PAD, fast, PAD, n);
        ScalarNumerics.binary(op, t, filled, PAD, a, PAD, slow, PAD, n);
        assertThat(fast).as("scalar %s %s", op, t).isEqualTo(slow);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void unary_everyFunction_matchesTwin(DType t) {
    for (UnaryOp op : UnaryOp.values()) {
      if (!op.supports(t)) {
        continue;
      }
      for (int n : Operands.SIZES) {
        byte[] a = padded(Operands.mixed(t, n, 4));
        byte[] fast = new byte[a.length];
        byte[] slow = new byte[a.length];
        Numerics.unary(op, t, a, PAD, fast, PAD, n);
        ScalarNumerics.unary(op, t, a, PAD, slow, PAD, n);
        assertThat(fast).as("%s %s %d", op, t, n).isEqualTo(slow);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void compare_everyComparison_matchesTwin(DType t) {
    for (CompareOp op : CompareOp.values()) {
      for (int n : Operands.SIZES) {
        byte[] a = padded(Operands.mixed(t, n, 5));
        byte[] b = padded(Operands.mixed(t, n, 6));
        System.arraycopy(a, PAD, b, PAD, n / 2 * t.sizeBytes());
        byte[] fast = new byte[n + PAD];
        byte[] slow = new byte[n + PAD];
        Numerics.compare(op, t, a, PAD, b, PAD, fast, PAD, n);
        ScalarNumerics.compare(op, t, a, PAD, b, PAD, slow, PAD, n);
        assertThat(fast).as("%s %s %d", op, t, n).isEqualTo(slow);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void cast_everyPair_matchesTwin(DType from) {
    for (DType to : DType.values()) {
      if (to == from) {
        continue;
      }
      for (int n : Operands.SIZES) {
        byte[] in = padded(Operands.mixed(from, n, 7));
        byte[] fast = new byte[n * to.sizeBytes() + PAD];
        byte[] slow = new byte[n * to.sizeBytes() + PAD];
        Numerics.cast(from, in, PAD, to, fast, PAD, n);
        ScalarNumerics.cast(from, in, PAD, to, slow, PAD, n);
        assertThat(fast).as("%s to %s %d", from, to, n).isEqualTo(slow);
      }
    }
  }

  /** Host numbers on both sides of every tie, of the largest value and of the smallest. */
  @ParameterizedTest
  @EnumSource(DType.class)
  void fromDoubles_tiesAndLimits_roundsOnceAsOneByOne(DType t) {
    SplittableRandom random = new SplittableRandom(31);
    double[] values = new double[6000];
    for (int i = 0; i < values.length; i++) {
      double x = Double.longBitsToDouble(random.nextLong());
      int kind = random.nextInt(4);
      if (kind > 0) {
        double y = t.round(random.nextDouble(-2, 2) * Math.pow(2, random.nextInt(-24, 17)));
        double step = Math.max(Math.abs(y) * t.unitRoundoff() * 2, t.minPositive());
        x = y + step / 2 * random.nextInt(-1, 2);
      }
      values[i] = kind == 3 ? x * (1 + (random.nextInt(3) - 1) * 0x1p-50) : x;
    }
    double[] limits = {
      t.maxFinite(),
      t.maxFinite() * (1 + t.unitRoundoff() / 2),
      -t.maxFinite() * 1.01,
      t.minPositive() / 2,
      Math.nextUp(t.minPositive() / 2),
      -t.minPositive() / 4,
      1e-300,
      -1e300,
      Double.NaN,
      Double.POSITIVE_INFINITY,
      Double.NEGATIVE_INFINITY,
      -0.0,
      Double.MIN_VALUE
    };
    System.arraycopy(limits, 0, values, 100, limits.length);
    byte[] fast = new byte[PAD + values.length * t.sizeBytes()];
    byte[] slow = new byte[fast.length];
    double[] back = new double[values.length];
    double[] want = new double[values.length];
    for (int i = 0; i < values.length; i++) {
      t.putDouble(slow, PAD + i * t.sizeBytes(), values[i]);
      want[i] = t.getDouble(slow, PAD + i * t.sizeBytes());
    }
    Numerics.fromDoubles(t, values, fast, PAD);
    assertThat(fast).isEqualTo(slow);
    Numerics.toDoubles(t, slow, PAD, back);
    assertThat(back).isEqualTo(want);
  }

  @ParameterizedTest
  @EnumSource(names = {"F64", "F32", "F16", "BF16", "F8E4M3", "F8E5M2"})
  void reduce_everyFunctionAndShape_matchesTwin(DType t) {
    int[][] shapes = {
      {1, 1, 1}, {1, 5000, 1}, {3, 7, 1}, {9, 1025, 1}, {4, 1024, 1}, {1500, 3, 1}, {1023, 2, 1},
      {2, 5, 3}, {3, 700, 5}, {1, 2, 1024}, {2, 3, 1025}, {1, 1, 3000}, {2, 9, 2500}, {0, 3, 2},
      {3, 4, 0}, {2, 300, 17}
    };
    for (ReduceOp op : ReduceOp.values()) {
      for (int[] s : shapes) {
        int n = s[0] * s[1] * s[2];
        for (byte[] data : new byte[][] {Operands.mixed(t, n, 8), Operands.uniform(t, n, 1.3, 9)}) {
          byte[] in = padded(data);
          byte[] fast = new byte[s[0] * s[2] * t.sizeBytes() + PAD];
          byte[] slow = new byte[fast.length];
          Numerics.reduce(op, t, s[0], s[1], s[2], in, PAD, fast, PAD);
          ScalarNumerics.reduce(op, t, s[0], s[1], s[2], in, PAD, slow, PAD);
          assertThat(fast).as("%s %s %s", op, t, Shape.of(s)).isEqualTo(slow);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"F64", "F32", "F16", "BF16", "F8E4M3", "F8E5M2"})
  void gemm_everyShape_matchesTwin(DType t) {
    int[][] shapes = {
      {1, 1, 1},
      {4, 4, 4},
      {5, 7, 3},
      {1, 600, 9},
      {600, 1, 9},
      {40, 3, 11},
      {16, 16, 16},
      {17, 513, 33},
      {3, 1030, 5},
      {20, 12, 0},
      {0, 5, 5},
      {5, 0, 5},
      {33, 31, 64}
    };
    DType kept = t.accumulator();
    for (DType out : new DType[] {t, DType.F32, DType.F64, DType.F16}) {
      for (int[] s : shapes) {
        int m = s[0];
        int n = s[1];
        int k = s[2];
        byte[] a = padded(Operands.uniform(t, m * k, 2, 10));
        byte[] b = padded(Operands.uniform(t, k * n, 2, 11));
        byte[] acc = padded(Operands.uniform(kept, m * n, 2, 12));
        byte[] fast = new byte[m * n * out.sizeBytes() + PAD];
        byte[] slow = new byte[fast.length];
        Numerics.gemm(t, t, out, m, n, k, a, PAD, b, PAD, null, 0, fast, PAD);
        ScalarNumerics.gemm(t, t, out, m, n, k, a, PAD, b, PAD, null, 0, slow, PAD);
        assertThat(fast).as("%s %s %s", t, out, Shape.of(s)).isEqualTo(slow);
        Numerics.gemm(t, t, out, m, n, k, a, PAD, b, PAD, acc, PAD, fast, PAD);
        ScalarNumerics.gemm(t, t, out, m, n, k, a, PAD, b, PAD, acc, PAD, slow, PAD);
        assertThat(fast).as("%s %s %s with acc", t, out, Shape.of(s)).isEqualTo(slow);
      }
    }
  }

  @Test
  void gemm_ofTwoTypes_matchesTwin() {
    DType left = DType.F8E4M3;
    DType right = DType.F8E5M2;
    byte[] a = padded(Operands.mixed(left, 17 * 33, 15));
    byte[] b = padded(Operands.uniform(right, 33 * 9, 2, 16));
    byte[] acc = padded(Operands.uniform(DType.F32, 17 * 9, 2, 17));
    byte[] fast = new byte[acc.length];
    byte[] slow = new byte[acc.length];
    Numerics.gemm(left, right, DType.F32, 17, 9, 33, a, PAD, b, PAD, acc, PAD, fast, PAD);
    ScalarNumerics.gemm(left, right, DType.F32, 17, 9, 33, a, PAD, b, PAD, acc, PAD, slow, PAD);
    assertThat(fast).isEqualTo(slow);
    assertThatThrownBy(() ->
            Numerics.gemm(DType.F32, left, DType.F32, 1, 1, 1, a, PAD, b, PAD, null, 0, fast, PAD))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("expected one type, or two of 8-bit");
  }

  @ParameterizedTest
  @EnumSource(names = {"F64", "F32", "F16", "BF16", "F8E4M3", "F8E5M2"})
  void gemm_specialValues_matchesTwin(DType t) {
    byte[] a = Operands.mixed(t, 21 * 6, 13);
    byte[] b = Operands.mixed(t, 6 * 19, 14);
    byte[] fast = new byte[21 * 19 * t.sizeBytes()];
    byte[] slow = new byte[fast.length];
    Numerics.gemm(t, t, t, 21, 19, 6, a, 0, b, 0, null, 0, fast, 0);
    ScalarNumerics.gemm(t, t, t, 21, 19, 6, a, 0, b, 0, null, 0, slow, 0);
    assertThat(fast).isEqualTo(slow);
  }

  // ---- along an axis ----

  private static final int[][] AXES = {
    {1, 1, 1}, {1, 7, 1}, {3, 1, 5}, {2, 1025, 1}, {1, 3, 1500}, {4, 9, 17}, {0, 3, 2}, {3, 4, 0}
  };

  @ParameterizedTest
  @EnumSource(DType.class)
  void cumulativeSum_everyShape_matchesTwin(DType t) {
    for (int[] s : AXES) {
      int n = s[0] * s[1] * s[2];
      for (byte[] data : new byte[][] {Operands.mixed(t, n, 21), Operands.uniform(t, n, 9, 22)}) {
        byte[] in = padded(data);
        byte[] fast = new byte[in.length];
        byte[] slow = new byte[in.length];
        if (t == DType.BOOL) {
          continue; // not defined
        }
        Numerics.cumulativeSum(t, s[0], s[1], s[2], in, PAD, fast, PAD);
        ScalarNumerics.cumulativeSum(t, s[0], s[1], s[2], in, PAD, slow, PAD);
        assertThat(fast).as("%s %s", t, Shape.of(s)).isEqualTo(slow);
        Numerics.cumulativeSum(t, s[0], s[1], s[2], in, PAD, in, PAD);
        System.arraycopy(slow, 0, in, 0, PAD);
        assertThat(in).as("%s %s in place", t, Shape.of(s)).isEqualTo(slow);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"F64", "F32", "F16", "BF16", "F8E4M3", "F8E5M2"})
  void softmax_everyShape_matchesTwin(DType t) {
    for (int[] s : AXES) {
      int n = s[0] * s[1] * s[2];
      for (byte[] data : new byte[][] {Operands.mixed(t, n, 23), Operands.uniform(t, n, 9, 24)}) {
        byte[] in = padded(data);
        byte[] fast = new byte[in.length];
        byte[] slow = new byte[in.length];
        Numerics.softmax(t, s[0], s[1], s[2], in, PAD, fast, PAD);
        ScalarNumerics.softmax(t, s[0], s[1], s[2], in, PAD, slow, PAD);
        assertThat(fast).as("%s %s", t, Shape.of(s)).isEqualTo(slow);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void argReduce_everyShape_matchesTwin(DType t) {
    for (int[] s : AXES) {
      for (ArgReduceOp op : ArgReduceOp.values()) {
        byte[] in = padded(Operands.mixed(t, s[0] * s[1] * s[2], 25));
        byte[] fast = new byte[s[0] * s[2] * 4 + PAD];
        byte[] slow = new byte[fast.length];
        Numerics.argReduce(op, t, s[0], s[1], s[2], in, PAD, fast, PAD);
        ScalarNumerics.argReduce(op, t, s[0], s[1], s[2], in, PAD, slow, PAD);
        assertThat(fast).as("%s %s %s", op, t, Shape.of(s)).isEqualTo(slow);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"I8", "I32", "I64", "BOOL"})
  void reduce_integers_matchesTwin(DType t) {
    for (int[] s : AXES) {
      for (ReduceOp op : ReduceOp.values()) {
        byte[] in = padded(Operands.mixed(t, s[0] * s[1] * s[2], 26));
        byte[] fast = new byte[s[0] * s[2] * t.sizeBytes() + PAD];
        byte[] slow = new byte[fast.length];
        Numerics.reduce(op, t, s[0], s[1], s[2], in, PAD, fast, PAD);
        ScalarNumerics.reduce(op, t, s[0], s[1], s[2], in, PAD, slow, PAD);
        assertThat(fast).as("%s %s %s", op, t, Shape.of(s)).isEqualTo(slow);
      }
    }
  }

  @Test
  void gemm_integers_matchesTwin() {
    int m = 17;
    int n = 33;
    int k = 515;
    byte[] a = padded(Operands.mixed(DType.I8, m * k, 27));
    byte[] b = padded(Operands.mixed(DType.I8, k * n, 28));
    byte[] acc = padded(Operands.mixed(DType.I32, m * n, 29));
    byte[] fast = new byte[acc.length];
    byte[] slow = new byte[acc.length];
    Numerics.gemm(DType.I8, DType.I8, DType.I32, m, n, k, a, PAD, b, PAD, acc, PAD, fast, PAD);
    ScalarNumerics.gemm(
        DType.I8, DType.I8, DType.I32, m, n, k, a, PAD, b, PAD, acc, PAD, slow, PAD);
    assertThat(fast).isEqualTo(slow);
  }

  // ---- the rest ----

  @ParameterizedTest
  @EnumSource(DType.class)
  void scalars_everyFunction_matchTwin(DType t) {
    int n = 1500;
    byte[] a = padded(divisors(BinaryOp.DIV, t, Operands.mixed(t, n, 31)));
    double scalar = t == DType.BOOL ? 1 : t.isFloatingPoint() ? 0.3 : 3;
    for (BinaryOp op : BinaryOp.values()) {
      byte[] fast = new byte[a.length];
      byte[] slow = new byte[a.length];
      if (!op.supports(t) || (op == BinaryOp.POW && !t.isFloatingPoint())) {
        continue;
      }
      Numerics.binaryScalar(op, t, a, PAD, scalar, fast, PAD, n);
      ScalarNumerics.binaryScalar(op, t, a, PAD, scalar, slow, PAD, n);
      assertThat(fast).as("%s %s", op, t).isEqualTo(slow);
      Numerics.scalarBinary(op, t, scalar, a, PAD, fast, PAD, n);
      ScalarNumerics.scalarBinary(op, t, scalar, a, PAD, slow, PAD, n);
      assertThat(fast).as("scalar %s %s", op, t).isEqualTo(slow);
    }
    for (CompareOp op : CompareOp.values()) {
      byte[] fast = new byte[n];
      byte[] slow = new byte[n];
      Numerics.compareScalar(op, t, a, PAD, scalar, fast, 0, n);
      ScalarNumerics.compareScalar(op, t, a, PAD, scalar, slow, 0, n);
      assertThat(fast).as("%s %s", op, t).isEqualTo(slow);
    }
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void fill_arange_where_fma_fromAndToDoubles_matchTwin(DType t) {
    for (int n : Operands.SIZES) {
      int bytes = n * t.sizeBytes() + PAD;
      byte[] a = padded(Operands.mixed(t, n, 32));
      byte[] b = padded(Operands.mixed(t, n, 33));
      byte[] c = padded(Operands.mixed(t, n, 34));
      byte[] conditions = padded(Operands.mixed(DType.BOOL, n, 35));
      byte[] fast = new byte[bytes];
      byte[] slow = new byte[bytes];
      Numerics.fill(t, -1.7, fast, PAD, n);
      ScalarNumerics.fill(t, -1.7, slow, PAD, n);
      assertThat(fast).as("fill %s", t).isEqualTo(slow);
      Numerics.arange(t, -3, 0.7, fast, PAD, n);
      ScalarNumerics.arange(t, -3, 0.7, slow, PAD, n);
      assertThat(fast).as("arange %s", t).isEqualTo(slow);
      Numerics.where(t, conditions, PAD, a, PAD, b, PAD, fast, PAD, n);
      ScalarNumerics.where(t, conditions, PAD, a, PAD, b, PAD, slow, PAD, n);
      assertThat(fast).as("where %s", t).isEqualTo(slow);
      double[] out = new double[n];
      double[] want = new double[n];
      Numerics.toDoubles(t, a, PAD, out);
      ScalarNumerics.toDoubles(t, a, PAD, want);
      assertThat(out).as("toDoubles %s", t).isEqualTo(want);
      Numerics.fromDoubles(t, want, fast, PAD);
      ScalarNumerics.fromDoubles(t, want, slow, PAD);
      assertThat(fast).as("fromDoubles %s", t).isEqualTo(slow);
      if (t.isFloatingPoint()) {
        Numerics.fma(t, a, PAD, b, PAD, c, PAD, fast, PAD, n);
        ScalarNumerics.fma(t, a, PAD, b, PAD, c, PAD, slow, PAD, n);
        assertThat(fast).as("fma %s", t).isEqualTo(slow);
      }
    }
  }

  @Test
  void copyStrided_transposesAndBroadcasts_matchesTwin() {
    Shape shape = Shape.of(5, 1, 7, 3);
    byte[] src = Operands.mixed(DType.I32, 105, 36);
    for (long[] from : new long[][] {{21, 21, 3, 1}, {1, 0, 5, 35}, {0, 9, 0, 1}}) {
      byte[] fast = new byte[500];
      byte[] slow = new byte[500];
      long[] to = {1, 50, 5, 35};
      Numerics.copyStrided(4, shape, src, 0, from, fast, 8, to);
      ScalarNumerics.copyStrided(4, shape, src, 0, from, slow, 8, to);
      assertThat(fast).isEqualTo(slow);
    }
  }

  // ---- the claim itself ----

  /** Every public function of the one has the other's arguments. */
  @Test
  void everyFunction_hasATwin() throws NoSuchMethodException {
    for (Method m : Numerics.class.getDeclaredMethods()) {
      if (Modifier.isPublic(m.getModifiers()) && !m.getName().equals("backEnd")) {
        assertThat(ScalarNumerics.class.getDeclaredMethod(m.getName(), m.getParameterTypes()))
            .isNotNull();
      }
    }
  }

  /** A twin that the product calls would be compared with itself. */
  @Test
  void twin_isCalledByNothingInTheProduct() {
    noClasses()
        .that()
        .doNotHaveFullyQualifiedName(ScalarNumerics.class.getName())
        .should()
        .dependOnClassesThat()
        .haveFullyQualifiedName(ScalarNumerics.class.getName())
        .check(
            new ClassFileImporter()
                .withImportOption(new ImportOption.DoNotIncludeTests())
                .withImportOption(location -> !location.contains("test-classes"))
                .importPackages("org.kernbench.tensor"));
  }
}
