package org.kernbench.tensor;

/** Reductions that give a position: the first of equals; the first NaN, if there is one. */
public enum ArgReduceOp {
  /** Where the largest element is. */
  ARGMAX,
  /** Where the smallest element is. */
  ARGMIN
}
