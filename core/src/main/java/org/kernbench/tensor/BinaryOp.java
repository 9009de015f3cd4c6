package org.kernbench.tensor;

/** Element-wise functions of two operands of one type; see {@link Numerics#binary}. */
public enum BinaryOp {
  /** {@code a + b}; on bool, or. */
  ADD,
  /** {@code a - b}. */
  SUB,
  /** {@code a * b}; on bool, and. */
  MUL,
  /** {@code a / b}; on integers truncated toward zero, and an error if {@code b} is 0. */
  DIV,
  /** The remainder {@code a - b * trunc(a / b)}, with the sign of {@code a}, as in C. */
  REM,
  /** {@code a} to the power {@code b}; on integers {@code b} must not be negative. */
  POW,
  /** The larger; NaN if either is NaN; +0 above -0. */
  MAXIMUM,
  /** The smaller; NaN if either is NaN; -0 below +0. */
  MINIMUM,
  /** Bitwise and; integers and bool only. */
  AND,
  /** Bitwise or; integers and bool only. */
  OR,
  /** Bitwise exclusive or; integers and bool only. */
  XOR,
  /** {@code a << b}; integers only. A count outside the width shifts everything out. */
  SHL,
  /**
   * {@code a >> b} with the sign kept; integers only. A count outside the width leaves the sign.
   */
  SHR;

  /** Whether this function is defined on {@code type}. */
  public boolean supports(DType type) {
    return switch (this) {
      case ADD, MUL, MAXIMUM, MINIMUM -> true;
      case SUB, DIV, REM, POW -> type != DType.BOOL;
      case AND, OR, XOR -> !type.isFloatingPoint();
      case SHL, SHR -> type.isInteger();
    };
  }
}
