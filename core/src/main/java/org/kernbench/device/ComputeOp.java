package org.kernbench.device;

import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.ReduceOp;
import org.kernbench.tensor.UnaryOp;

/**
 * What a MATH or GEMM command computes. Operands are dense, in the registers named by the command;
 * {@code n} counts elements.
 *
 * <p>A new case must be priced in {@link CostModel} and executed in {@link ComputeKernels}, or the
 * build fails.
 */
public sealed interface ComputeOp {
  /** {@code out[i] = a[i] op b[i]}. */
  record Binary(BinaryOp op, DType type, int n) implements ComputeOp {}

  /** {@code out[i] = a[i] op scalar}. */
  record BinaryScalar(BinaryOp op, DType type, int n, double scalar) implements ComputeOp {}

  /** {@code out[i] = op(a[i])}. */
  record Unary(UnaryOp op, DType type, int n) implements ComputeOp {}

  /** {@code [outer, length, inner] -> [outer, inner]}, ascending along the axis. */
  record Reduce(ReduceOp op, DType type, int outer, int length, int inner) implements ComputeOp {}

  /** {@code out[i] = (to) a[i]}. */
  record Cast(DType from, DType to, int n) implements ComputeOp {}

  /** {@code out[i] = value}. */
  record Fill(DType type, int n, double value) implements ComputeOp {}

  /** {@code out = a[m, k] b[k, n] (+ c[m, n] in f32)}; f32 accumulation, ascending k. */
  record Gemm(DType in, DType out, int m, int n, int k, boolean accumulate) implements ComputeOp {}
}
