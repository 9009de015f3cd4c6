package org.kernbench.tensor;

/**
 * Element-wise functions of one operand; see {@link Numerics#unary}.
 *
 * <p>Floating-point types compute in f32: {@link #NEG}, {@link #ABS}, {@link #SQRT}, {@link
 * #RECIPROCAL}, {@link #RELU}, {@link #FLOOR} and {@link #CEIL} are correctly rounded, the others
 * within 0.501 ulp of f32 (tests compare with 150-digit series): 0.50001 but for near ties. Only
 * StrictMath and exactly specified arithmetic are used, so the bytes are the same on every machine.
 * The f32 result is then rounded to the type. Where a formula meets an indeterminate form the
 * result is NaN, as in PyTorch: {@code gelu(-inf)}, {@code silu(-inf)}.
 */
public enum UnaryOp {
  /** {@code -x}. */
  NEG,
  /** The magnitude; on integers the smallest value stays itself. */
  ABS,
  /** e to the power {@code x}. */
  EXP,
  /** 2 to the power {@code x}. */
  EXP2,
  /** Natural logarithm. */
  LOG,
  /** Logarithm to base 2. */
  LOG2,
  /** Square root. */
  SQRT,
  /** {@code 1 / sqrt(x)}. */
  RSQRT,
  /** {@code 1 / x}. */
  RECIPROCAL,
  /** {@code 1 / (1 + exp(-x))}. */
  SIGMOID,
  /** {@code x * sigmoid(x)}. */
  SILU,
  /** Hyperbolic tangent. */
  TANH,
  /** {@code x/2 * (1 + erf(x / sqrt(2)))}, PyTorch's default. */
  GELU,
  /** {@code x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))}, PyTorch's "tanh" variant. */
  GELU_TANH,
  /** The error function. */
  ERF,
  /** {@code max(x, 0)}; NaN stays NaN, -0 becomes +0. */
  RELU,
  /** Sine of radians. */
  SIN,
  /** Cosine of radians. */
  COS,
  /** The largest integer not above {@code x}. */
  FLOOR,
  /** The smallest integer not below {@code x}. */
  CEIL,
  /** Bitwise complement on integers, logical on bool. */
  NOT;

  /** Whether this function is defined on {@code type}. */
  public boolean supports(DType type) {
    return switch (this) {
      case NEG, ABS, RELU -> type != DType.BOOL;
      case NOT -> !type.isFloatingPoint();
      case EXP, EXP2, LOG, LOG2, SQRT, RSQRT, RECIPROCAL, SIGMOID, SILU, TANH -> isReal(type);
      case GELU, GELU_TANH, ERF, SIN, COS, FLOOR, CEIL -> isReal(type);
    };
  }

  private static boolean isReal(DType type) {
    return type.isFloatingPoint();
  }
}
