package org.kernbench.tensor;

/**
 * Functions of one real number, evaluated in double and, for types other than f64, rounded once to
 * f32.
 *
 * <p>Only StrictMath and exactly specified arithmetic: {@code Math.exp} may differ in the last bit
 * between processors, and equal inputs must give equal bytes everywhere. The error in double stays
 * below 1e-12, so the f32 result is within 0.50001 ulp.
 */
final class RealFunctions {
  private static final double LN_2 = 0.6931471805599453;
  private static final double SQRT_HALF = 0.7071067811865476;
  private static final double SQRT_2_OVER_PI = 0.7978845608028654;
  private static final double TWO_OVER_SQRT_PI = 1.1283791670955126;

  /**
   * Chebyshev series of {@code ln(erfc(z) / t) + z^2} in {@code t = 2 / (2 + z)}, for z from 0 to
   * 16 (t from 1/9 to 1), interpolated at 50 digits; largest error 2.6e-14. The form is that of
   * Press et al., Numerical Recipes, section 6.2.2.
   */
  private static final double[] ERFC = {
    -0.585336465279499, 0.5820524896316697, 0.010845046097266896, -0.007446733367798513,
    -0.00035071783552109487, 0.0002404453179799504, 5.394498757757068e-06, -1.0252217658585128e-05,
    4.145921512627025e-07, 4.5031605103235136e-07, -6.000721404045824e-08, -1.6636660462905037e-08,
    4.853548132002672e-09, 2.9363055887600595e-10, -2.881574987360742e-10, 2.252037447339208e-11,
    1.181474613908766e-11, -2.8557118734277026e-12, -1.743685729838129e-13, 1.743470024355191e-13
  };

  private RealFunctions() {}

  /** {@code op(x)} in double: within 1e-12 of the true value, relative to it. */
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
      case GELU -> x * 0.5 * erfc(-x * SQRT_HALF);
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

  private static double erfcPositive(double z) {
    if (z > 16) {
      return 0; // below 1e-113
    }
    double t = 2 / (2 + z);
    return t * StrictMath.exp(erfcExponent(t) - z * z);
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
