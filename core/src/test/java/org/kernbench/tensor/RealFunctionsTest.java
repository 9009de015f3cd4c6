package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/**
 * Transcendental functions against series in 150-digit decimals: the f32 result must be within
 * 0.501 ulp, that is, the nearest float or (rarely) its neighbour across a near tie.
 */
class RealFunctionsTest {
  private static final MathContext DIGITS = new MathContext(150, RoundingMode.HALF_EVEN);
  private static final BigDecimal ONE = BigDecimal.ONE;
  private static final BigDecimal TWO = BigDecimal.TWO;

  /** Where more than 1e-15 of the value may be lost in double: exponents of many digits. */
  private static final Map<UnaryOp, Double> OF_DOUBLES = Map.of(UnaryOp.GELU_TANH, 3e-14);

  private static final BigDecimal TINY = new BigDecimal("1e-160");
  private static final BigDecimal LN_2 = ln(TWO); // needs no halving, hence not itself
  private static final BigDecimal PI = arctanInverse(5, 16).subtract(arctanInverse(239, 4));

  private static BigDecimal exp(BigDecimal x) {
    BigDecimal reduced = x.divide(new BigDecimal(1024), DIGITS);
    BigDecimal term = ONE;
    BigDecimal sum = ONE;
    for (int k = 1; term.abs().compareTo(TINY) > 0; k++) {
      term = term.multiply(reduced, DIGITS).divide(new BigDecimal(k), DIGITS);
      sum = sum.add(term, DIGITS);
    }
    for (int i = 0; i < 10; i++) {
      sum = sum.multiply(sum, DIGITS);
    }
    return sum;
  }

  /** Halves or doubles into 0.66..2.1, then 2 artanh((x - 1) / (x + 1)). */
  private static BigDecimal ln(BigDecimal x) {
    int exponent = 0;
    BigDecimal m = x;
    while (m.compareTo(new BigDecimal("2.1")) > 0) {
      m = m.divide(TWO, DIGITS);
      exponent++;
    }
    while (m.compareTo(new BigDecimal("0.66")) < 0) {
      m = m.multiply(TWO, DIGITS);
      exponent--;
    }
    BigDecimal z = m.subtract(ONE).divide(m.add(ONE), DIGITS);
    BigDecimal square = z.multiply(z, DIGITS);
    BigDecimal power = z;
    BigDecimal sum = BigDecimal.ZERO;
    for (int k = 1; power.abs().compareTo(TINY) > 0; k += 2) {
      sum = sum.add(power.divide(new BigDecimal(k), DIGITS), DIGITS);
      power = power.multiply(square, DIGITS);
    }
    BigDecimal whole = exponent == 0 ? BigDecimal.ZERO : LN_2.multiply(new BigDecimal(exponent));
    return sum.multiply(TWO).add(whole, DIGITS);
  }

  private static BigDecimal arctanInverse(int n, int factor) {
    BigDecimal square = new BigDecimal(n * n);
    BigDecimal power = ONE.divide(new BigDecimal(n), DIGITS);
    BigDecimal sum = BigDecimal.ZERO;
    for (int k = 1; power.compareTo(TINY) > 0; k += 2) {
      BigDecimal term = power.divide(new BigDecimal(k), DIGITS);
      sum = k % 4 == 1 ? sum.add(term, DIGITS) : sum.subtract(term, DIGITS);
      power = power.divide(square, DIGITS);
    }
    return sum.multiply(new BigDecimal(factor));
  }

  /** {@code 2/sqrt(pi) exp(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + …)}: all terms of one sign. */
  private static BigDecimal erf(BigDecimal x) {
    BigDecimal square = x.multiply(x, DIGITS);
    BigDecimal term = x;
    BigDecimal sum = x;
    for (int k = 3; term.abs().compareTo(TINY) > 0; k += 2) {
      term = term.multiply(square, DIGITS).multiply(TWO).divide(new BigDecimal(k), DIGITS);
      sum = sum.add(term, DIGITS);
    }
    BigDecimal factor = TWO.divide(PI.sqrt(DIGITS), DIGITS).multiply(exp(square.negate()), DIGITS);
    return sum.multiply(factor, DIGITS);
  }

  private static BigDecimal sigmoid(BigDecimal x) {
    return ONE.divide(ONE.add(exp(x.negate())), DIGITS);
  }

  private static BigDecimal sin(BigDecimal x, boolean cosine) {
    BigDecimal term = cosine ? ONE : x;
    BigDecimal sum = term;
    BigDecimal square = x.multiply(x, DIGITS).negate();
    for (int k = cosine ? 1 : 2; term.abs().compareTo(TINY) > 0; k += 2) {
      term = term.multiply(square, DIGITS).divide(new BigDecimal(k * (k + 1)), DIGITS);
      sum = sum.add(term, DIGITS);
    }
    return sum;
  }

  private static void assertWithinHalfUlp(
      UnaryOp op, double low, double high, UnaryOperator<BigDecimal> exact) {
    SplittableRandom random = new SplittableRandom(op.ordinal());
    for (int i = 0; i < 400; i++) {
      double drawn = random.nextDouble(low, high);
      float x = (float) (i % 4 == 0 ? drawn * Math.pow(2, -random.nextInt(20)) : drawn);
      if (x < low || x == 0) {
        continue;
      }
      BigDecimal expected = exact.apply(new BigDecimal(x));
      float actual = RealFunctions.apply(op, x);
      BigDecimal error = new BigDecimal(actual).subtract(expected).abs();
      float ulp = Math.min(Math.ulp(actual), Math.ulp(expected.floatValue()));
      assertThat(error.doubleValue() / ulp).as("%s(%s) = %s", op, x, actual).isLessThan(0.501);
      BigDecimal wide = new BigDecimal(RealFunctions.apply(op, (double) x));
      double relative = wide.subtract(expected).divide(expected, DIGITS).abs().doubleValue();
      assertThat(relative)
          .as("%s(%s) in double", op, x)
          .isLessThan(OF_DOUBLES.getOrDefault(op, 1e-15));
    }
  }

  @Test
  void exponentials_randomArguments_areWithinHalfUlp() {
    assertWithinHalfUlp(UnaryOp.EXP, -100, 88, RealFunctionsTest::exp);
    assertWithinHalfUlp(UnaryOp.EXP2, -148, 127, x -> exp(x.multiply(LN_2, DIGITS)));
    assertWithinHalfUlp(UnaryOp.SIGMOID, -100, 20, RealFunctionsTest::sigmoid);
    assertWithinHalfUlp(UnaryOp.SILU, -90, 30, x -> x.multiply(sigmoid(x), DIGITS));
    assertWithinHalfUlp(
        UnaryOp.TANH, -12, 12, x -> sigmoid(x.multiply(TWO)).multiply(TWO).subtract(ONE, DIGITS));
  }

  @Test
  void logarithms_randomArguments_areWithinHalfUlp() {
    assertWithinHalfUlp(UnaryOp.LOG, 1e-30, 1000, RealFunctionsTest::ln);
    assertWithinHalfUlp(UnaryOp.LOG, 0.9, 1.1, RealFunctionsTest::ln);
    assertWithinHalfUlp(UnaryOp.LOG2, 1e-30, 1000, x -> ln(x).divide(LN_2, DIGITS));
    assertWithinHalfUlp(UnaryOp.LOG2, 0.9, 1.1, x -> ln(x).divide(LN_2, DIGITS));
  }

  @Test
  void roots_randomArguments_areWithinHalfUlp() {
    assertWithinHalfUlp(UnaryOp.SQRT, 1e-30, 1000, x -> x.sqrt(DIGITS));
    assertWithinHalfUlp(UnaryOp.RSQRT, 1e-30, 1000, x -> ONE.divide(x.sqrt(DIGITS), DIGITS));
    assertWithinHalfUlp(UnaryOp.RECIPROCAL, 1e-30, 1000, x -> ONE.divide(x, DIGITS));
  }

  @Test
  void errorFunction_randomArguments_isWithinHalfUlp() {
    assertWithinHalfUlp(UnaryOp.ERF, -4.5, 4.5, RealFunctionsTest::erf);
    assertWithinHalfUlp(UnaryOp.ERF, -0.6, 0.6, RealFunctionsTest::erf);
  }

  /** Also far below zero, where 1 + erf has lost all its digits. */
  @Test
  void gelu_randomArguments_isWithinHalfUlp() {
    BigDecimal root = ONE.divide(TWO.sqrt(DIGITS), DIGITS);
    UnaryOperator<BigDecimal> exact =
        x -> x.divide(TWO).multiply(ONE.add(erf(x.multiply(root, DIGITS))), DIGITS);
    assertWithinHalfUlp(UnaryOp.GELU, -13.5, 6, exact);
    assertWithinHalfUlp(UnaryOp.GELU, -1, 1, exact);
  }

  @Test
  void geluTanh_randomArguments_isWithinHalfUlp() {
    BigDecimal scale = TWO.divide(PI, DIGITS).sqrt(DIGITS);
    assertWithinHalfUlp(
        UnaryOp.GELU_TANH,
        -9,
        6,
        x -> {
          BigDecimal cube = x.pow(3).multiply(new BigDecimal("0.044715"));
          BigDecimal u = scale.multiply(x.add(cube), DIGITS);
          return x.multiply(sigmoid(u.multiply(TWO)), DIGITS);
        });
  }

  @Test
  void sineAndCosine_randomArguments_areWithinHalfUlp() {
    assertWithinHalfUlp(UnaryOp.SIN, -50, 50, x -> sin(x, false));
    assertWithinHalfUlp(UnaryOp.COS, -50, 50, x -> sin(x, true));
  }

  @Test
  void functions_specialArguments_areIeee() {
    float inf = Float.POSITIVE_INFINITY;
    assertThat(RealFunctions.apply(UnaryOp.EXP, -inf)).isEqualTo(0f);
    assertThat(RealFunctions.apply(UnaryOp.EXP, 89)).isEqualTo(inf);
    assertThat(RealFunctions.apply(UnaryOp.LOG, 0)).isEqualTo(-inf);
    assertThat(RealFunctions.apply(UnaryOp.LOG, -1)).isNaN();
    assertThat(RealFunctions.apply(UnaryOp.LOG2, 8)).isEqualTo(3f);
    assertThat(RealFunctions.apply(UnaryOp.RSQRT, -0f)).isEqualTo(-inf);
    assertThat(RealFunctions.apply(UnaryOp.SIGMOID, -inf)).isEqualTo(0f);
    assertThat(RealFunctions.apply(UnaryOp.SIGMOID, inf)).isEqualTo(1f);
    assertThat(RealFunctions.apply(UnaryOp.TANH, -inf)).isEqualTo(-1f);
    assertThat(RealFunctions.apply(UnaryOp.ERF, inf)).isEqualTo(1f);
    assertThat(RealFunctions.apply(UnaryOp.ERF, -0f)).isEqualTo(-0f);
    assertThat(RealFunctions.apply(UnaryOp.GELU, inf)).isEqualTo(inf);
    assertThat(RealFunctions.apply(UnaryOp.GELU, -100)).isEqualTo(-0f);
    assertThat(RealFunctions.apply(UnaryOp.GELU, -inf)).isNaN();
    assertThat(RealFunctions.apply(UnaryOp.RELU, -0f)).isEqualTo(0f);
    assertThat(RealFunctions.apply(UnaryOp.FLOOR, -0.5f)).isEqualTo(-1f);
    assertThat(RealFunctions.apply(UnaryOp.CEIL, -0.5f)).isEqualTo(-0f);
    for (UnaryOp op : UnaryOp.values()) {
      if (op.supports(DType.F32)) {
        assertThat(RealFunctions.apply(op, Float.NaN)).as(op.name()).isNaN();
      }
    }
  }

  @Test
  void pow_specialArguments_areIeee() {
    assertThat(RealFunctions.pow(1, Float.NaN)).isEqualTo(1f);
    assertThat(RealFunctions.pow(-1, Float.NEGATIVE_INFINITY)).isEqualTo(1f);
    assertThat(RealFunctions.pow(Float.NaN, 0)).isEqualTo(1f);
    assertThat(RealFunctions.pow(-8, 3)).isEqualTo(-512f);
    assertThat(RealFunctions.pow(-8, 0.5f)).isNaN();
    assertThat(RealFunctions.pow(0, -1)).isEqualTo(Float.POSITIVE_INFINITY);
  }
}
