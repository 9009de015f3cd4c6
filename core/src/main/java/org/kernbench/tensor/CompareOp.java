package org.kernbench.tensor;

/** Comparisons as in IEEE 754: with a NaN operand only {@link #NE} is true, and -0 equals +0. */
public enum CompareOp {
  /** {@code a < b}. */
  LT,
  /** {@code a <= b}. */
  LE,
  /** {@code a > b}. */
  GT,
  /** {@code a >= b}. */
  GE,
  /** {@code a == b}. */
  EQ,
  /** {@code a != b}. */
  NE
}
