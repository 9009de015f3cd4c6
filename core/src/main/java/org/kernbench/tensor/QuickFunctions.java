package org.kernbench.tensor;

/**
 * Exponentials and error functions for results in f32: evaluated in double within 1e-13 of the true
 * value, relative to it, so that the f32 is within 0.50001 ulp; several times as fast as {@link
 * RealFunctions}, which the double type uses.
 *
 * <p>Only exactly specified arithmetic, {@code fma} included, and tables that are made once with
 * StrictMath: equal bytes on every machine, in loops and one at a time.
 */
final class QuickFunctions {
  private static final double SQRT_HALF = 0.7071067811865476;
  private static final double SQRT_2_OVER_PI = 0.7978845608028654;

  // exp: x = (32 e + j) ln2/32 + r
  private static final int STEP_BITS = 5;
  private static final int STEPS = 1 << STEP_BITS;
  private static final double STEPS_PER_LN_2 = STEPS / 0.6931471805599453;

  /** ln2/32 in two parts: of the first the last 21 bits are 0, so its multiples are exact. */
  private static final double STEP_HIGH = 0x1.62e42feep-1 / STEPS;

  private static final double STEP_LOW = 0x1.a39ef35793c76p-33 / STEPS;

  /** Adding it leaves the nearest integer in the low bits. */
  private static final double TO_INTEGER = 0x1.8p52;

  /** The number of steps is in the other 51. */
  private static final int UNUSED_BITS = 64 - 51;

  /** Beyond it, StrictMath has overflow and underflow right. */
  private static final double EXP_LIMIT = 700;

  /** {@code 2^(j/32)}. */
  private static final double[] POWERS = powers();

  /** {@code tanh(z) / z}; from 10 on tanh is 1. */
  private static final class Tanh {
    static final int END = 10;
    static final PolynomialPieces OVER_Z =
        PolynomialPieces.of(16, END, z -> StrictMath.tanh(z) / z);
  }

  /** {@code erf(z) / z}; from 6 on erf is 1. */
  private static final class Erf {
    static final int END = 6;
    static final PolynomialPieces OVER_Z =
        PolynomialPieces.of(16, END, z -> RealFunctions.erf(z) / z);
  }

  /** The part of a normal distribution above z; from 15 on, times 15, it is nothing in f32. */
  private static final class Tail {
    static final int END = 15;
    static final PolynomialPieces OF_NORMAL =
        PolynomialPieces.of(32, END, z -> RealFunctions.erfc(z * SQRT_HALF) / 2);
  }

  private QuickFunctions() {}

  /** Whether it has the function. */
  static boolean has(UnaryOp op) {
    return switch (op) {
      case EXP, EXP2, SIGMOID, SILU, TANH, GELU, GELU_TANH, ERF -> true;
      default -> false;
    };
  }

  /** {@code op(x)} of a function that {@link #has} knows. */
  static float apply(UnaryOp op, float x) {
    return switch (op) {
      case EXP -> (float) exp(x);
      case EXP2 -> (float) exp2(x);
      case SIGMOID -> sigmoid(x);
      case SILU -> silu(x);
      case TANH -> tanh(x);
      case GELU -> gelu(x);
      case GELU_TANH -> geluTanh(x);
      case ERF -> erf(x);
      default -> throw new AssertionError(op);
    };
  }

  /** {@code x[i] = op(x[i])}: a loop of its own for each function, or C2 compiles one for all. */
  static void apply(UnaryOp op, float[] x, int n) {
    switch (op) {
      case EXP -> exps(x, n);
      case SIGMOID -> sigmoids(x, n);
      case SILU -> silus(x, n);
      case TANH -> tanhs(x, n);
      case GELU -> gelus(x, n);
      case GELU_TANH -> geluTanhs(x, n);
      case ERF -> erfs(x, n);
      case EXP2 -> exp2s(x, n);
      default -> throw new AssertionError(op);
    }
  }

  private static void exps(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = (float) exp(x[i]);
    }
  }

  private static void exp2s(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = (float) exp2(x[i]);
    }
  }

  private static void sigmoids(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = sigmoid(x[i]);
    }
  }

  private static void silus(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = silu(x[i]);
    }
  }

  private static void tanhs(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = tanh(x[i]);
    }
  }

  private static void gelus(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = gelu(x[i]);
    }
  }

  private static void geluTanhs(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = geluTanh(x[i]);
    }
  }

  private static void erfs(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = erf(x[i]);
    }
  }

  static float sigmoid(float x) {
    return (float) (1 / (1 + exp(-x)));
  }

  static float silu(float x) {
    return (float) (x / (1 + exp(-x)));
  }

  static float geluTanh(float argument) {
    double x = argument;
    double u = SQRT_2_OVER_PI * (x + 0.044715 * x * x * x);
    return (float) (x / (1 + exp(-2 * u)));
  }

  static float tanh(float x) {
    double z = Math.abs((double) x);
    return z < Tanh.END
        ? (float) (x * Tanh.OVER_Z.at(z))
        : Float.isNaN(x) ? x : Math.copySign(1, x);
  }

  static float erf(float x) {
    double z = Math.abs((double) x);
    return z < Erf.END ? (float) (x * Erf.OVER_Z.at(z)) : Float.isNaN(x) ? x : Math.copySign(1, x);
  }

  /** Below zero {@code x tail}, above {@code x - x tail}: without a branch on the sign. */
  static float gelu(float x) {
    double z = Math.abs((double) x);
    if (!(z < Tail.END)) {
      return x < 0 ? x * 0f : x; // NaN for -inf
    }
    double larger = 0.5 * (x + z); // x or 0
    return (float) Math.copySign(Math.fma(-z, Tail.OF_NORMAL.at(z), larger), x);
  }

  /** e to a power, within 4e-16 of it. */
  static double exp(double x) {
    if (!(Math.abs(x) < EXP_LIMIT)) {
      return StrictMath.exp(x);
    }
    double shifted = x * STEPS_PER_LN_2 + TO_INTEGER;
    double steps = shifted - TO_INTEGER;
    double r = Math.fma(-steps, STEP_LOW, Math.fma(-steps, STEP_HIGH, x));
    return scaled(Double.doubleToRawLongBits(shifted), r);
  }

  private static double exp2(double x) {
    if (!(Math.abs(x) < EXP_LIMIT)) {
      return StrictMath.pow(2, x);
    }
    double shifted = x * STEPS + TO_INTEGER;
    double r = (x - (shifted - TO_INTEGER) / STEPS) * 0.6931471805599453;
    return scaled(Double.doubleToRawLongBits(shifted), r);
  }

  /** {@code 2^(steps/32) e^r} for |r| up to ln2/64: the first term left out is below 4e-18. */
  private static double scaled(long steps, double r) {
    double tail = Math.fma(r, Math.fma(r, Math.fma(r, 1.0 / 720, 1.0 / 120), 1.0 / 24), 1.0 / 6);
    double more = Math.fma(r * r, Math.fma(r, tail, 0.5), r);
    double power = POWERS[(int) steps & (STEPS - 1)];
    double value = Math.fma(power, more, power);
    long exponent = steps << UNUSED_BITS >> (UNUSED_BITS + STEP_BITS);
    return Double.longBitsToDouble(Double.doubleToRawLongBits(value) + (exponent << 52));
  }

  private static double[] powers() {
    double[] powers = new double[STEPS];
    for (int j = 0; j < STEPS; j++) {
      powers[j] = StrictMath.pow(2, (double) j / STEPS);
    }
    return powers;
  }
}
