package org.kernbench.tl;

import java.util.Locale;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.ReduceOp;
import org.kernbench.tensor.ShapeException;

/**
 * What is known to be wrong of a computation when a kernel says it: said so at once and in every
 * mode, also where nothing is computed.
 */
final class Defined {
  private Defined() {}

  /**
   * Refuses a function that the type does not have, a number that it does not have, and the largest
   * or smallest of none.
   *
   * @throws ShapeException that says which
   */
  static void check(ComputeOp op) {
    switch (op) {
      case ComputeOp.Binary b -> require(b.op().supports(b.type()), b.op(), b.type());
      case ComputeOp.BinaryScalar b -> {
        require(b.op().supports(b.type()), b.op(), b.type());
        requireScalar(b.type(), b.scalar());
      }
      case ComputeOp.ScalarBinary b -> {
        require(b.op().supports(b.type()), b.op(), b.type());
        requireScalar(b.type(), b.scalar());
      }
      case ComputeOp.Unary u -> require(u.op().supports(u.type()), u.op(), u.type());
      case ComputeOp.Fma f -> require(f.type().isFloatingPoint(), "fma", f.type());
      case ComputeOp.CompareScalar c -> requireScalar(c.type(), c.scalar());
      case ComputeOp.WhereScalar w -> requireScalar(w.type(), w.scalar());
      case ComputeOp.Fill f -> requireScalar(f.type(), f.value());
      case ComputeOp.Arange f -> {
        requireScalar(f.type(), f.start());
        requireScalar(f.type(), f.start() + f.step() * Math.max(0, f.n() - 1));
        requireScalar(f.type(), f.start() + f.step() * Math.min(1, Math.max(0, f.n() - 1)));
      }
      case ComputeOp.Reduce r -> {
        boolean isChoice = r.op() == ReduceOp.MAX || r.op() == ReduceOp.MIN;
        requireSome(!isChoice || r.length() > 0 || r.outer() * r.inner() == 0, r.op());
      }
      case ComputeOp.ArgReduce r -> requireSome(r.length() > 0, r.op());
      case ComputeOp.CumulativeSum c -> require(c.type() != DType.BOOL, "cumulative sum", c.type());
      case ComputeOp.Softmax s -> require(s.type().isFloatingPoint(), "softmax", s.type());
      case ComputeOp.Clamp _,
          ComputeOp.Compare _,
          ComputeOp.Where _,
          ComputeOp.Cast _,
          ComputeOp.Random _,
          ComputeOp.Copy _,
          ComputeOp.Concat _,
          ComputeOp.Gemm _,
          ComputeOp.Elapsed _,
          ComputeOp.Strided _ -> {
        // every type has it, or who made it has looked
      }
    }
  }

  private static void require(boolean supported, Object function, DType type) {
    if (!supported) {
      throw new ShapeException(
          "%s is not defined on %s; cast the operands first".formatted(lower(function), type));
    }
  }

  private static void requireScalar(DType type, double scalar) {
    if (!type.isFloatingPoint() && !type.holds(scalar)) {
      throw new ShapeException(
          "scalar %s is not a value of %s; cast the tensor or the scalar".formatted(scalar, type));
    }
  }

  private static void requireSome(boolean some, Object function) {
    if (!some) {
      throw new ShapeException(lower(function) + " of an empty axis; expected 1 element or more");
    }
  }

  private static String lower(Object function) {
    return function.toString().toLowerCase(Locale.ROOT);
  }
}
