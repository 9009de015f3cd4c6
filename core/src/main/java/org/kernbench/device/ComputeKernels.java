package org.kernbench.device;

import org.kernbench.tensor.Numerics;

/** Runs the numerics of a compute command on the bytes of its operands. */
final class ComputeKernels {
  private ComputeKernels() {}

  static void run(
      ComputeOp op,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte[] c,
      int cOff,
      byte[] out,
      int outOff) {
    switch (op) {
      case ComputeOp.Binary x ->
          Numerics.binary(x.op(), x.type(), a, aOff, b, bOff, out, outOff, x.n());
      case ComputeOp.BinaryScalar x ->
          Numerics.binaryScalar(x.op(), x.type(), a, aOff, x.scalar(), out, outOff, x.n());
      case ComputeOp.Unary x -> Numerics.unary(x.op(), x.type(), a, aOff, out, outOff, x.n());
      case ComputeOp.Reduce x ->
          Numerics.reduce(x.op(), x.type(), x.outer(), x.length(), x.inner(), a, aOff, out, outOff);
      case ComputeOp.Cast x -> Numerics.cast(x.from(), a, aOff, x.to(), out, outOff, x.n());
      case ComputeOp.Fill x -> Numerics.fill(x.type(), x.value(), out, outOff, x.n());
      case ComputeOp.Gemm x ->
          Numerics.gemm(
              x.in(),
              x.out(),
              x.m(),
              x.n(),
              x.k(),
              a,
              aOff,
              b,
              bOff,
              x.accumulate() ? c : null,
              cOff,
              out,
              outOff);
    }
  }
}
