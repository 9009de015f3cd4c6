package org.kernbench.torch.collective;

import org.kernbench.tensor.BinaryOp;

/** How a reducing collective combines the elements of its ranks ({@code ReduceOp} in PyTorch). */
public enum ReduceKind {
  /** The sum over the ranks. */
  SUM(BinaryOp.ADD),
  /** The product over the ranks. */
  PRODUCT(BinaryOp.MUL),
  /** The least over the ranks. */
  MIN(BinaryOp.MINIMUM),
  /** The greatest over the ranks. */
  MAX(BinaryOp.MAXIMUM),
  /** The sum over the ranks, divided by their number. */
  AVG(BinaryOp.ADD);

  private final BinaryOp combine;

  ReduceKind(BinaryOp combine) {
    this.combine = combine;
  }

  /** Combines two partial results; for {@link #AVG} the sum, which is divided at the end. */
  public BinaryOp combine() {
    return combine;
  }
}
