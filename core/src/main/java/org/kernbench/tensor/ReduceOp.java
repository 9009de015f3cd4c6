package org.kernbench.tensor;

/** Ways to combine many elements into one; see {@link Numerics#reduce} and all-reduce. */
public enum ReduceOp {
  /** The sum; on bool, or. */
  SUM(BinaryOp.ADD),
  /** The product; on bool, and. */
  PRODUCT(BinaryOp.MUL),
  /** The largest; NaN if any is NaN. */
  MAX(BinaryOp.MAXIMUM),
  /** The smallest; NaN if any is NaN. */
  MIN(BinaryOp.MINIMUM);

  private final BinaryOp combine;

  ReduceOp(BinaryOp combine) {
    this.combine = combine;
  }

  /** The element-wise function that takes in one more operand. */
  public BinaryOp combine() {
    return combine;
  }
}
