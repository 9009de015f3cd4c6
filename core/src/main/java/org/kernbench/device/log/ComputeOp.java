package org.kernbench.device.log;

import java.util.List;
import java.util.Optional;
import org.kernbench.tensor.ArgReduceOp;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.CompareOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.ReduceOp;
import org.kernbench.tensor.UnaryOp;

/**
 * What a MATH or GEMM command computes. Operands are dense, in the registers named by the command,
 * unless a {@link Strided} says otherwise; {@code n} counts elements. What each function gives is
 * said in {@link org.kernbench.tensor.Numerics}, what it costs in {@link CostModel}.
 *
 * <p>A new case must be priced in {@link CostModel} and executed in {@code ComputeKernels}, or the
 * build fails.
 */
public sealed interface ComputeOp {
  /** {@code out[i] = a[i] op b[i]}. */
  record Binary(BinaryOp op, DType type, int n) implements ComputeOp {}

  /** {@code out[i] = a[i] op scalar}. */
  record BinaryScalar(BinaryOp op, DType type, int n, double scalar) implements ComputeOp {}

  /** {@code out[i] = scalar op a[i]}. */
  record ScalarBinary(BinaryOp op, DType type, int n, double scalar) implements ComputeOp {}

  /** {@code out[i] = op(a[i])}. */
  record Unary(UnaryOp op, DType type, int n) implements ComputeOp {}

  /** {@code out[i] = a[i] * b[i] + c[i]}, rounded once. */
  record Fma(DType type, int n) implements ComputeOp {}

  /** {@code out[i] = min(max(a[i], low), high)}; NaN stays NaN. */
  record Clamp(DType type, int n, double low, double high) implements ComputeOp {}

  /** {@code out[i] = a[i] op b[i]} as bool. */
  record Compare(CompareOp op, DType type, int n) implements ComputeOp {}

  /** {@code out[i] = a[i] op scalar} as bool. */
  record CompareScalar(CompareOp op, DType type, int n, double scalar) implements ComputeOp {}

  /** {@code out[i] = a[i] ? b[i] : c[i]}; a is bool, b and c are of {@code type}. */
  record Where(DType type, int n) implements ComputeOp {}

  /** {@code out[i] = a[i] ? b[i] : scalar}, or with the two exchanged. */
  record WhereScalar(DType type, int n, boolean scalarIfTrue, double scalar) implements ComputeOp {}

  /** {@code [outer, length, inner] -> [outer, inner]}, ascending along the axis. */
  record Reduce(ReduceOp op, DType type, int outer, int length, int inner) implements ComputeOp {}

  /** {@code [outer, length, inner] -> [outer, inner]} in i32: positions along the axis. */
  record ArgReduce(ArgReduceOp op, DType type, int outer, int length, int inner)
      implements ComputeOp {}

  /** The sum so far along the axis of {@code [outer, length, inner]}. */
  record CumulativeSum(DType type, int outer, int length, int inner) implements ComputeOp {}

  /** The softmax along the axis of {@code [outer, length, inner]}, less its maximum. */
  record Softmax(DType type, int outer, int length, int inner) implements ComputeOp {}

  /** {@code out[i] = (to) a[i]}. */
  record Cast(DType from, DType to, int n) implements ComputeOp {}

  /** {@code out[i] = value}. */
  record Fill(DType type, int n, double value) implements ComputeOp {}

  /** {@code out[i] = start + i * step}. */
  record Arange(DType type, int n, double start, double step) implements ComputeOp {}

  /**
   * {@code out[i] =} the number of key {@code a[0]}, an i64, that has the number {@code b[i]}, an
   * i32 or i64: uniform in [0, 1), in f32. See {@code Philox}.
   */
  record Random(DType offsets, int n) implements ComputeOp {}

  /** {@code out[i] = a[i]}: makes a view dense. */
  record Copy(DType type, int n) implements ComputeOp {}

  /** {@code out[o] = a[o, 0..aRun), b[o, 0..bRun)}: concatenation along an axis. */
  record Concat(DType type, int outer, int aRun, int bRun) implements ComputeOp {}

  /**
   * {@code out = a[m, k] b[k, n] (+ c[m, n])}; c and the sums are of the {@linkplain
   * DType#accumulator accumulator's} type, k ascends.
   *
   * @param in type of a
   * @param right type of b: the same, or another of 8-bit floating-point numbers
   */
  record Gemm(
      DType in,
      DType right,
      DType out,
      int m,
      int n,
      int k,
      boolean accumulate,
      Optional<Whole> partOf)
      implements ComputeOp {
    /** A product of operands of one type. */
    public Gemm(
        DType in, DType out, int m, int n, int k, boolean accumulate, Optional<Whole> partOf) {
      this(in, in, out, m, n, k, accumulate, partOf);
    }

    /** A product by itself. */
    public Gemm(DType in, DType out, int m, int n, int k, boolean accumulate) {
      this(in, out, m, n, k, accumulate, Optional.empty());
    }

    /** This product as one step of a larger one. */
    public Gemm of(Whole whole) {
      return new Gemm(in, right, out, m, n, k, accumulate, Optional.of(whole));
    }
  }

  /**
   * The size of a product that is worked on in steps: multiprocessors are shared out by that.
   *
   * @param batch equal products at the same time, of which it is one
   */
  record Whole(int m, int n, int k, int batch) {}

  /**
   * Computes nothing and takes a time that was said beforehand. Other commands of the PE go on
   * beside it.
   *
   * @param ps above 0
   * @param of what takes it
   * @param from what of the machine the time comes from; empty if from nothing of it
   */
  record Elapsed(long ps, Of of, Optional<ProtocolTime> from) implements ComputeOp {
    /** What takes a time that is not worked out here. */
    public enum Of {
      /** A computation that was measured elsewhere. */
      COMPUTATION,
      /** The program of a collective library, beside what its messages take on links. */
      PROTOCOL
    }

    /** Checks the time. */
    public Elapsed {
      if (ps <= 0) {
        throw new IllegalArgumentException("a time of " + ps + " ps; expected one above 0");
      }
    }
  }

  /**
   * Another command whose operands are read through views.
   *
   * @param what the command, as if its operands were dense
   * @param views of a, b and c, as many as it has operands
   */
  record Strided(ComputeOp what, List<OperandView> views) implements ComputeOp {
    /** Copies the list. */
    public Strided {
      views = List.copyOf(views);
      if (what instanceof Strided) {
        throw new IllegalArgumentException("views of views; expected a plain command");
      }
    }
  }

  /** Whether the GEMM engine runs it; MATH runs the others. */
  default boolean isProduct() {
    return this instanceof Gemm || (this instanceof Strided s && s.what() instanceof Gemm);
  }
}
