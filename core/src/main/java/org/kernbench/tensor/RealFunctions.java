package org.kernbench.tensor;

/**
 * Functions of one real number, evaluated in double and, for types other than f64, rounded once to
 * f32.
 *
 * <p>Only StrictMath and exactly specified arithmetic: {@code Math.exp} may differ in the last bit
 * between processors, and equal inputs must give equal bytes everywhere. The error in double stays
 * below 1e-14 of the value (3e-14 of gelu_tanh, whose exponents reach 66), so the f32 result is
 * within 0.50001 ulp.
 */
final class RealFunctions {
  private static final double LN_2 = 0.6931471805599453;
  private static final double SQRT_HALF = 0.7071067811865476;
  private static final double SQRT_2_OVER_PI = 0.7978845608028654;
  private static final double TWO_OVER_SQRT_PI = 1.1283791670955126;

  /**
   * Chebyshev series of {@code ln(erfc(z) / t) + z^2} in {@code t = 2 / (2 + z)}, for z from 0 to
   * 16 (t from 1/9 to 1), interpolated at 200 digits; what is left out is below 1e-18. The form is
   * that of Press et al., Numerical Recipes, section 6.2.2.
   */
  private static final double[] ERFC = {
    -0.585336465279499, 0.5820524896316697, 0.010845046097266896, -0.007446733367798513,
    -0.00035071783552109487, 0.0002404453179799504, 5.394498757757068e-06, -1.0252217658585128e-05,
    4.145921512627016e-07, 4.5031605103235263e-07, -6.000721404045252e-08, -1.66366604629419e-08,
    4.8535481321204306e-09, 2.9363055865900293e-10, -2.8815749980705076e-10, 2.2520388547140692e-11,
    1.1814691269946785e-11, -2.8557974736599514e-12, -1.726619628356915e-13, 1.6939841752507911e-13,
    -1.873189107487281e-14, -4.9485849104399986e-15, 1.7066101481213677e-15, -8.560023224891815e-17,
    -5.486914087564315e-17, 1.4073748611940917e-17, -1.0709765153450504e-18
  };

  private RealFunctions() {}

  /** {@code op(x)} in double: within 1e-14 of the true value, relative to it; gelu_tanh 3e-14. */
  static double apply(UnaryOp op, double x) {
    return switch (op) {
      case NEG -> -x;
      case ABS -> Math.abs(x);
      case EXP -> StrictMath.exp(x);
      case EXP2 -> StrictMath.pow(2, x);
      case LOG -> StrictMath.log(x);
      case LOG2 -> StrictMath.log(x) / LN_2;
      case SQRT -> Math.sqrt(x);
      case RSQRT -> 1 / Math.sqrt(x);
      case RECIPROCAL -> 1 / x;
      case SIGMOID -> 1 / (1 + StrictMath.exp(-x));
      case SILU -> x / (1 + StrictMath.exp(-x));
      case TANH -> StrictMath.tanh(x);
      case GELU -> x * cumulated(x);
      case GELU_TANH -> geluTanh(x);
      case ERF -> erf(x);
      case RELU -> Math.max(x, 0);
      case SIN -> StrictMath.sin(x);
      case COS -> StrictMath.cos(x);
      case FLOOR -> Math.floor(x);
      case CEIL -> Math.ceil(x);
      case NOT -> throw new AssertionError(op);
    };
  }

  /** As {@link #pow(float, float)}, in double. */
  static double pow(double base, double exponent) {
    if (base == 1 || (base == -1 && Double.isInfinite(exponent))) {
      return 1;
    }
    return StrictMath.pow(base, exponent);
  }

  /** {@code op(x)} for a floating-point function, rounded to f32. */
  static float apply(UnaryOp op, float x) {
    return switch (op) {
      case NEG -> -x;
      case ABS -> Math.abs(x);
      case RECIPROCAL -> 1f / x;
      case RELU -> Math.max(x, 0f);
      default ->
          QuickFunctions.has(op) ? QuickFunctions.apply(op, x) : (float) apply(op, (double) x);
    };
  }

  /** As IEEE 754 {@code pow}: 1 to any power is 1, also NaN, and -1 to an infinite one. */
  static float pow(float base, float exponent) {
    if (base == 1f || (base == -1f && Float.isInfinite(exponent))) {
      return 1f;
    }
    return (float) StrictMath.pow(base, exponent);
  }

  /** {@code x/2 (1 + tanh u)} is {@code x / (1 + exp(-2u))}, which loses nothing for x below 0. */
  private static double geluTanh(double x) {
    double u = SQRT_2_OVER_PI * (x + 0.044715 * x * x * x);
    return x / (1 + StrictMath.exp(-2 * u));
  }

  static double erf(double x) {
    double z = Math.abs(x);
    if (z < 0.5) {
      return erfSeries(x);
    }
    double magnitude = 1 - erfcPositive(z);
    return x < 0 ? -magnitude : magnitude;
  }

  static double erfc(double x) {
    if (Math.abs(x) < 0.5) {
      return 1 - erfSeries(x);
    }
    return x < 0 ? 2 - erfcPositive(-x) : erfcPositive(x);
  }

  /** The Maclaurin series; at 0.5 the first term left out is below 1e-16 of the sum. */
  private static double erfSeries(double x) {
    double square = x * x;
    double term = x;
    double sum = x;
    for (int k = 1; k <= 12; k++) {
      term *= -square / k;
      sum += term / (2 * k + 1);
    }
    return TWO_OVER_SQRT_PI * sum;
  }

  /** The normal distribution's share below x. Its tail is made of x, not of x over a root. */
  private static double cumulated(double x) {
    double z = Math.abs(x) * SQRT_HALF;
    if (z < 0.5) {
      return 0.5 + 0.5 * erfSeries(x * SQRT_HALF);
    }
    double square = x * x;
    double tail = 0.5 * erfc(z, 0.5 * square, 0.5 * Math.fma(x, x, -square));
    return x < 0 ? tail : 1 - tail;
  }

  private static double erfcPositive(double z) {
    double square = z * z;
    return erfc(z, square, Math.fma(z, z, -square));
  }

  /**
   * The complementary error function, 0 beyond 16, where it is below 1e-113: there and only there
   * the error relative to the true value is not small.
   *
   * @param square of z, rounded
   * @param lost by rounding it, which counts where the square is large
   */
  private static double erfc(double z, double square, double lost) {
    if (z > 16) {
      return 0;
    }
    double t = 2 / (2 + z);
    return t * StrictMath.exp(erfcExponent(t)) * StrictMath.exp(-square) * (1 - lost);
  }

  /** {@code ln(erfc(z) / t) + z^2} for {@code t = 2 / (2 + z)}, from 1/9 to 1. */
  static double erfcExponent(double t) {
    double twice = 2 * (t - 5.0 / 9) * 2.25;
    double last = 0;
    double sum = 0;
    for (int k = ERFC.length - 1; k > 0; k--) {
      double next = twice * sum - last + ERFC[k];
      last = sum;
      sum = next;
    }
    return 0.5 * twice * sum - last + ERFC[0];
  }
}
