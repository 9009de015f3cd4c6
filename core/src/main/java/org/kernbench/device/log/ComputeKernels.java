package org.kernbench.device.log;

import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Numerics;

/** Runs the numerics of a compute command on the bytes of its operands. */
public final class ComputeKernels {
  private ComputeKernels() {}

  /** What a switch makes of the sum so far and of what its next member gives, each so long. */
  public static byte[] combine(
      BinaryOp op, DType type, byte[] sum, int at, byte[] next, int nextAt, int bytes) {
    byte[] out = new byte[bytes];
    int n = bytes / type.sizeBytes();
    Numerics.binary(op, type, sum, at, next, nextAt, out, 0, n);
    return out;
  }

  /** Computes {@code op} on operands, each of which begins at an offset of its array. */
  public static void run(
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
      case ComputeOp.ScalarBinary x ->
          Numerics.scalarBinary(x.op(), x.type(), x.scalar(), a, aOff, out, outOff, x.n());
      case ComputeOp.Fma x -> Numerics.fma(x.type(), a, aOff, b, bOff, c, cOff, out, outOff, x.n());
      case ComputeOp.Clamp x -> {
        Numerics.binaryScalar(BinaryOp.MAXIMUM, x.type(), a, aOff, x.low(), out, outOff, x.n());
        Numerics.binaryScalar(
            BinaryOp.MINIMUM, x.type(), out, outOff, x.high(), out, outOff, x.n());
      }
      case ComputeOp.Compare x ->
          Numerics.compare(x.op(), x.type(), a, aOff, b, bOff, out, outOff, x.n());
      case ComputeOp.CompareScalar x ->
          Numerics.compareScalar(x.op(), x.type(), a, aOff, x.scalar(), out, outOff, x.n());
      case ComputeOp.Where x ->
          Numerics.where(x.type(), a, aOff, b, bOff, c, cOff, out, outOff, x.n());
      case ComputeOp.WhereScalar x -> {
        byte[] scalar = new byte[x.n() * x.type().sizeBytes()];
        Numerics.fill(x.type(), x.scalar(), scalar, 0, x.n());
        if (x.scalarIfTrue()) {
          Numerics.where(x.type(), a, aOff, scalar, 0, b, bOff, out, outOff, x.n());
        } else {
          Numerics.where(x.type(), a, aOff, b, bOff, scalar, 0, out, outOff, x.n());
        }
      }
      case ComputeOp.ArgReduce x ->
          Numerics.argReduce(
              x.op(), x.type(), x.outer(), x.length(), x.inner(), a, aOff, out, outOff);
      case ComputeOp.CumulativeSum x ->
          Numerics.cumulativeSum(x.type(), x.outer(), x.length(), x.inner(), a, aOff, out, outOff);
      case ComputeOp.Softmax x ->
          Numerics.softmax(x.type(), x.outer(), x.length(), x.inner(), a, aOff, out, outOff);
      case ComputeOp.Arange x -> Numerics.arange(x.type(), x.start(), x.step(), out, outOff, x.n());
      case ComputeOp.Random x -> Philox.uniform(a, aOff, x.offsets(), b, bOff, out, outOff, x.n());
      case ComputeOp.Copy x -> System.arraycopy(a, aOff, out, outOff, x.n() * x.type().sizeBytes());
      case ComputeOp.Concat x -> {
        int aBytes = x.aRun() * x.type().sizeBytes();
        int bBytes = x.bRun() * x.type().sizeBytes();
        for (int o = 0; o < x.outer(); o++) {
          int to = outOff + o * (aBytes + bBytes);
          System.arraycopy(a, aOff + o * aBytes, out, to, aBytes);
          System.arraycopy(b, bOff + o * bBytes, out, to + aBytes, bBytes);
        }
      }
      case ComputeOp.Elapsed x -> {
        // nothing to compute
      }
      case ComputeOp.Strided x -> runStrided(x, a, aOff, b, bOff, c, cOff, out, outOff);
      case ComputeOp.Gemm x ->
          Numerics.gemm(
              x.in(),
              x.right(),
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

  private static void runStrided(
      ComputeOp.Strided x,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte[] c,
      int cOff,
      byte[] out,
      int outOff) {
    byte[][] operands = {a, b, c};
    int[] offsets = {aOff, bOff, cOff};
    for (int i = 0; i < x.views().size(); i++) {
      OperandView view = x.views().get(i);
      if (!view.isDense()) {
        operands[i] = dense(view, operands[i], offsets[i]);
        offsets[i] = 0;
      }
    }
    run(
        x.what(),
        operands[0],
        offsets[0],
        operands[1],
        offsets[1],
        operands[2],
        offsets[2],
        out,
        outOff);
  }

  private static byte[] dense(OperandView view, byte[] from, int offset) {
    int size = view.elementBytes();
    byte[] dense = new byte[Math.toIntExact(view.extents().elements() * size)];
    Numerics.copyStrided(
        size, view.extents(), from, offset, view.strides(), dense, 0, view.extents().strides());
    return dense;
  }
}
