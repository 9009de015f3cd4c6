package org.kernbench.tl;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Register;
import org.kernbench.device.log.OperandView;
import org.kernbench.tensor.ArgReduceOp;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.CompareOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.ReduceOp;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tensor.UnaryOp;

/**
 * A tensor in the scratch memory (or a message slot) of the PE that runs the kernel. Immutable;
 * arithmetic makes new values and issues one command each.
 *
 * <p>Views ({@link #range}, {@link #reshape}, {@link #narrow}, {@link #split}, {@link #trans},
 * {@link #expandDims}, {@link #broadcastTo}) cost nothing and share the storage: engines read
 * operands through their strides. What needs consecutive bytes (a store, a message, {@link #range}
 * and {@link #reshape} of a view that is not {@linkplain #isDense dense}) copies such a view first,
 * with one MATH command.
 *
 * <p>Operands of different shapes are broadcast as in Triton and NumPy: aligned at the last axis,
 * an axis of extent 1 (or a missing one) is repeated. So {@code x.sub(x.max(1).expandDims(1))}
 * subtracts from each row its maximum. Types must be equal; {@link #cast} says where precision is
 * lost.
 *
 * <p>Storage lives until the value's scope is closed ({@link Tl#scope}), it is released ({@link
 * Tl#release}) or the kernel ends, and its last reader has finished.
 */
public final class Value {
  final Tl tl;
  final Register register;

  /** Of the first element in the register, in bytes. */
  final int offset;

  private final Shape shape;
  private final DType dtype;

  /** Elements between neighbours along each axis; null if dense. */
  private final long @Nullable [] strides;

  Value(Tl tl, Register register, int offset, Shape shape, DType dtype) {
    this(tl, register, offset, shape, dtype, null);
  }

  private Value(
      Tl tl, Register register, int offset, Shape shape, DType dtype, long @Nullable [] strides) {
    this.tl = tl;
    this.register = register;
    this.offset = offset;
    this.shape = shape;
    this.dtype = dtype;
    this.strides = strides;
  }

  /** Extent of each axis. */
  public Shape shape() {
    return shape;
  }

  /** Type of the elements. */
  public DType dtype() {
    return dtype;
  }

  /** Number of elements. */
  public int elements() {
    return Math.toIntExact(shape.elements());
  }

  int bytes() {
    return elements() * dtype.sizeBytes();
  }

  // ---- views ----

  /** Whether the elements are consecutive and row-major, so that no command need copy them. */
  public boolean isDense() {
    return strides == null;
  }

  OperandView operandView() {
    return strides == null ? OperandView.DENSE : OperandView.of(dtype.sizeBytes(), shape, strides);
  }

  /** This value if it is dense, else a dense copy, made by one command. */
  Value dense() {
    return strides == null ? this : tl.copy(this);
  }

  private long[] strides() {
    return strides == null ? shape.strides() : strides;
  }

  private Value view(Shape to, long[] toStrides, long skip) {
    int at = Math.toIntExact(offset + skip * dtype.sizeBytes());
    return new Value(tl, register, at, to, dtype, isDense(to, toStrides) ? null : toStrides);
  }

  private static boolean isDense(Shape shape, long[] strides) {
    if (shape.elements() == 0) {
      return true;
    }
    long expected = 1;
    for (int axis = strides.length - 1; axis >= 0; axis--) {
      if (shape.dim(axis) != 1 && strides[axis] != expected) {
        return false;
      }
      expected *= shape.dim(axis);
    }
    return true;
  }

  /** A view of {@code count} consecutive elements of the flattened value. */
  public Value range(int start, int count) {
    if (start < 0 || count < 0 || (long) start + count > shape.elements()) {
      throw new RangeException(
          "value %s: elements [%s, %s) are out of range; it has %s"
              .formatted(shape, start, (long) start + count, shape.elements()));
    }
    Value from = dense();
    return from.view(tl.vector(count), new long[] {1}, start);
  }

  /** A view with another shape of as many elements. */
  public Value reshape(int... dims) {
    Shape to = Shape.of(dims);
    if (to.elements() != shape.elements()) {
      throw new ShapeException(
          "cannot reshape %s to %s: %s against %s elements"
              .formatted(shape, to, shape.elements(), to.elements()));
    }
    return dense().view(to, to.strides(), 0);
  }

  /**
   * A view of the elements {@code [start, start + count)} along an axis ({@code narrow} of
   * PyTorch).
   *
   * @param axis negative counts from the last
   */
  public Value narrow(int axis, int start, int count) {
    int a = axis(axis);
    if (start < 0 || count < 0 || (long) start + count > shape.dim(a)) {
      throw new RangeException(
          "value %s: [%s, %s) is out of range along axis %s, which has %s"
              .formatted(shape, start, (long) start + count, axis, shape.dim(a)));
    }
    return view(shape.with(a, count), strides(), start * strides()[a]);
  }

  /**
   * Views of consecutive parts along an axis.
   *
   * @param sizes extents of the parts; together the whole axis
   */
  public List<Value> split(int axis, int... sizes) {
    int a = axis(axis);
    if (Arrays.stream(sizes).sum() != shape.dim(a)) {
      throw new ShapeException(
          "split of %s along axis %s into %s: expected sizes that add up to %s"
              .formatted(this, axis, Arrays.toString(sizes), shape.dim(a)));
    }
    List<Value> parts = new ArrayList<>();
    int start = 0;
    for (int size : sizes) {
      parts.add(narrow(a, start, size));
      start += size;
    }
    return List.copyOf(parts);
  }

  /** A view with the last two axes exchanged. */
  public Value trans() {
    if (shape.rank() < 2) {
      throw new ShapeException("trans of " + this + ": expected two axes or more");
    }
    int[] order = new int[shape.rank()];
    Arrays.setAll(order, i -> i);
    order[order.length - 1]--;
    order[order.length - 2]++;
    return permute(order);
  }

  /**
   * A view with the axes in another order.
   *
   * @param axes for each axis of the result, the axis it was
   */
  public Value permute(int... axes) {
    int[] sorted = axes.clone();
    Arrays.sort(sorted);
    int[] all = new int[shape.rank()];
    Arrays.setAll(all, i -> i);
    if (!Arrays.equals(sorted, all)) {
      throw new ShapeException(
          "permute of %s by %s: expected each of 0..%s once"
              .formatted(this, Arrays.toString(axes), shape.rank() - 1));
    }
    int[] dims = new int[axes.length];
    long[] to = new long[axes.length];
    for (int i = 0; i < axes.length; i++) {
      dims[i] = shape.dim(axes[i]);
      to[i] = strides()[axes[i]];
    }
    return view(Shape.of(dims), to, 0);
  }

  /**
   * A view with a new axis of extent 1 ({@code x[:, None]} of Triton is {@code x.expandDims(1)}).
   *
   * @param axis position in the result; negative counts from its last
   */
  public Value expandDims(int axis) {
    int rank = shape.rank() + 1;
    int at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank) {
      throw new ShapeException(
          "expandDims of " + this + " at axis " + axis + ": expected " + -rank + ".." + (rank - 1));
    }
    int[] dims = new int[rank];
    long[] to = new long[rank];
    for (int i = 0; i < rank; i++) {
      int from = i < at ? i : i - 1;
      dims[i] = i == at ? 1 : shape.dim(from);
      to[i] = i == at ? 0 : strides()[from];
    }
    return view(Shape.of(dims), to, 0);
  }

  /**
   * A view in which axes of extent 1, and missing leading ones, are repeated.
   *
   * @throws ShapeException if an axis has neither extent 1 nor the wanted one
   */
  public Value broadcastTo(Shape to) {
    if (to.equals(shape)) {
      return this;
    }
    if (to.rank() < shape.rank() || !Shape.broadcast(shape, to).equals(to)) {
      throw new ShapeException(
          "broadcast of %s to %s: expected equal extents or 1, from the last axis"
              .formatted(this, to));
    }
    long[] repeated = new long[to.rank()];
    int missing = to.rank() - shape.rank();
    for (int i = missing; i < to.rank(); i++) {
      boolean one = shape.dim(i - missing) == 1 && to.dim(i) != 1;
      repeated[i] = one ? 0 : strides()[i - missing];
    }
    return view(to, repeated, 0);
  }

  private int axis(int axis) {
    if (axis < -shape.rank() || axis >= shape.rank()) {
      throw new ShapeException(
          "axis " + axis + " of " + this + ": expected 0.." + (shape.rank() - 1));
    }
    return shape.axis(axis);
  }

  // ---- arithmetic: one MATH command each ----

  /** {@code this + other}, element by element. */
  public Value add(Value other) {
    return tl.binary(BinaryOp.ADD, this, other);
  }

  /** {@code this + scalar}. */
  public Value add(double scalar) {
    return tl.binary(BinaryOp.ADD, this, scalar);
  }

  /** {@code this - other}, element by element. */
  public Value sub(Value other) {
    return tl.binary(BinaryOp.SUB, this, other);
  }

  /** {@code this - scalar}. */
  public Value sub(double scalar) {
    return tl.binary(BinaryOp.SUB, this, scalar);
  }

  /** {@code this * other}, element by element. */
  public Value mul(Value other) {
    return tl.binary(BinaryOp.MUL, this, other);
  }

  /** {@code this * scalar}. */
  public Value mul(double scalar) {
    return tl.binary(BinaryOp.MUL, this, scalar);
  }

  /** {@code this / other}, element by element; of integers, toward zero. */
  public Value div(Value other) {
    return tl.binary(BinaryOp.DIV, this, other);
  }

  /** {@code this / scalar}. */
  public Value div(double scalar) {
    return tl.binary(BinaryOp.DIV, this, scalar);
  }

  /** The remainder of {@code this / other}, with the sign of this, as in C. */
  public Value rem(Value other) {
    return tl.binary(BinaryOp.REM, this, other);
  }

  /** The remainder of {@code this / scalar}, with the sign of this, as in C. */
  public Value rem(double scalar) {
    return tl.binary(BinaryOp.REM, this, scalar);
  }

  /** {@code scalar - this}. */
  public Value rsub(double scalar) {
    return tl.binary(BinaryOp.SUB, scalar, this);
  }

  /** {@code scalar / this}. */
  public Value rdiv(double scalar) {
    return tl.binary(BinaryOp.DIV, scalar, this);
  }

  /** This to the power of the other, element by element. */
  public Value pow(Value other) {
    return tl.binary(BinaryOp.POW, this, other);
  }

  /** This to the power of a scalar. */
  public Value pow(double scalar) {
    return tl.binary(BinaryOp.POW, this, scalar);
  }

  /** The greater of the two, element by element; NaN if either is. */
  public Value maximum(Value other) {
    return tl.binary(BinaryOp.MAXIMUM, this, other);
  }

  /** The greater of this and a scalar; NaN stays NaN. */
  public Value maximum(double scalar) {
    return tl.binary(BinaryOp.MAXIMUM, this, scalar);
  }

  /** The lesser of the two, element by element; NaN if either is. */
  public Value minimum(Value other) {
    return tl.binary(BinaryOp.MINIMUM, this, other);
  }

  /** The lesser of this and a scalar; NaN stays NaN. */
  public Value minimum(double scalar) {
    return tl.binary(BinaryOp.MINIMUM, this, scalar);
  }

  /** {@code this * factor + addend}, rounded once; floating-point types. */
  public Value fma(Value factor, Value addend) {
    return tl.fma(this, factor, addend);
  }

  /** This between two bounds: {@code min(max(this, low), high)}. */
  public Value clamp(double low, double high) {
    return tl.clamp(this, low, high);
  }

  /** {@code -this}. */
  public Value neg() {
    return tl.unary(UnaryOp.NEG, this);
  }

  /** Absolute value. */
  public Value abs() {
    return tl.unary(UnaryOp.ABS, this);
  }

  /** e to the power of this. */
  public Value exp() {
    return tl.unary(UnaryOp.EXP, this);
  }

  /** 2 to the power of this. */
  public Value exp2() {
    return tl.unary(UnaryOp.EXP2, this);
  }

  /** Natural logarithm. */
  public Value log() {
    return tl.unary(UnaryOp.LOG, this);
  }

  /** Logarithm to base 2. */
  public Value log2() {
    return tl.unary(UnaryOp.LOG2, this);
  }

  /** Square root. */
  public Value sqrt() {
    return tl.unary(UnaryOp.SQRT, this);
  }

  /** One over the square root. */
  public Value rsqrt() {
    return tl.unary(UnaryOp.RSQRT, this);
  }

  /** {@code 1 / this}. */
  public Value reciprocal() {
    return tl.unary(UnaryOp.RECIPROCAL, this);
  }

  /** Logistic function {@code 1 / (1 + exp(-this))}. */
  public Value sigmoid() {
    return tl.unary(UnaryOp.SIGMOID, this);
  }

  /** {@code this * sigmoid(this)}. */
  public Value silu() {
    return tl.unary(UnaryOp.SILU, this);
  }

  /** Hyperbolic tangent. */
  public Value tanh() {
    return tl.unary(UnaryOp.TANH, this);
  }

  /** Gaussian error linear unit, with erf. */
  public Value gelu() {
    return tl.unary(UnaryOp.GELU, this);
  }

  /** Gaussian error linear unit, approximated with tanh. */
  public Value geluTanh() {
    return tl.unary(UnaryOp.GELU_TANH, this);
  }

  /** Error function. */
  public Value erf() {
    return tl.unary(UnaryOp.ERF, this);
  }

  /** {@code max(this, 0)}. */
  public Value relu() {
    return tl.unary(UnaryOp.RELU, this);
  }

  /** Sine. */
  public Value sin() {
    return tl.unary(UnaryOp.SIN, this);
  }

  /** Cosine. */
  public Value cos() {
    return tl.unary(UnaryOp.COS, this);
  }

  /** The largest integer not above this. */
  public Value floor() {
    return tl.unary(UnaryOp.FLOOR, this);
  }

  /** The smallest integer not below this. */
  public Value ceil() {
    return tl.unary(UnaryOp.CEIL, this);
  }

  /** Bitwise complement of integers; of bool, not. */
  public Value not() {
    return tl.unary(UnaryOp.NOT, this);
  }

  // ---- integers and bool ----

  /** Bitwise and of integers or bool. */
  public Value and(Value other) {
    return tl.binary(BinaryOp.AND, this, other);
  }

  /** Bitwise or of integers or bool. */
  public Value or(Value other) {
    return tl.binary(BinaryOp.OR, this, other);
  }

  /** Bitwise exclusive or of integers or bool. */
  public Value xor(Value other) {
    return tl.binary(BinaryOp.XOR, this, other);
  }

  /** {@code this << count}; integers. */
  public Value shl(int count) {
    return tl.binary(BinaryOp.SHL, this, count);
  }

  /** {@code this >> count}, keeping the sign; integers. */
  public Value shr(int count) {
    return tl.binary(BinaryOp.SHR, this, count);
  }

  // ---- comparisons: bool, for Tl.where and masks ----

  /** {@code this < other} as bool. */
  public Value lt(Value other) {
    return tl.compare(CompareOp.LT, this, other);
  }

  /** {@code this < scalar} as bool. */
  public Value lt(double scalar) {
    return tl.compare(CompareOp.LT, this, scalar);
  }

  /** {@code this <= other} as bool. */
  public Value le(Value other) {
    return tl.compare(CompareOp.LE, this, other);
  }

  /** {@code this <= scalar} as bool. */
  public Value le(double scalar) {
    return tl.compare(CompareOp.LE, this, scalar);
  }

  /** {@code this > other} as bool. */
  public Value gt(Value other) {
    return tl.compare(CompareOp.GT, this, other);
  }

  /** {@code this > scalar} as bool. */
  public Value gt(double scalar) {
    return tl.compare(CompareOp.GT, this, scalar);
  }

  /** {@code this >= other} as bool. */
  public Value ge(Value other) {
    return tl.compare(CompareOp.GE, this, other);
  }

  /** {@code this >= scalar} as bool. */
  public Value ge(double scalar) {
    return tl.compare(CompareOp.GE, this, scalar);
  }

  /** {@code this == other} as bool. */
  public Value eq(Value other) {
    return tl.compare(CompareOp.EQ, this, other);
  }

  /** {@code this == scalar} as bool. */
  public Value eq(double scalar) {
    return tl.compare(CompareOp.EQ, this, scalar);
  }

  /** {@code this != other} as bool. */
  public Value ne(Value other) {
    return tl.compare(CompareOp.NE, this, other);
  }

  /** {@code this != scalar} as bool. */
  public Value ne(double scalar) {
    return tl.compare(CompareOp.NE, this, scalar);
  }

  // ---- along an axis; negative counts from the last ----

  /** Sum along an axis, ascending; the axis disappears. */
  public Value sum(int axis) {
    return tl.reduce(ReduceOp.SUM, this, axis(axis));
  }

  /** Product along an axis, ascending; the axis disappears. */
  public Value prod(int axis) {
    return tl.reduce(ReduceOp.PRODUCT, this, axis(axis));
  }

  /** Maximum along an axis; the axis disappears. */
  public Value max(int axis) {
    return tl.reduce(ReduceOp.MAX, this, axis(axis));
  }

  /** Minimum along an axis; the axis disappears. */
  public Value min(int axis) {
    return tl.reduce(ReduceOp.MIN, this, axis(axis));
  }

  /** Position of the maximum along an axis as i32, the first of equals; the axis disappears. */
  public Value argmax(int axis) {
    return tl.argReduce(ArgReduceOp.ARGMAX, this, axis(axis));
  }

  /** Position of the minimum along an axis as i32, the first of equals; the axis disappears. */
  public Value argmin(int axis) {
    return tl.argReduce(ArgReduceOp.ARGMIN, this, axis(axis));
  }

  /**
   * {@code exp(x - max) / sum(exp(x - max))} along an axis, in one command. A row of -inf gives
   * NaN, as it does in PyTorch.
   */
  public Value softmax(int axis) {
    return tl.softmax(this, axis(axis));
  }

  /** The sum so far along an axis, ascending. */
  public Value cumsum(int axis) {
    return tl.cumulativeSum(this, axis(axis));
  }

  /** These numbers, rounded to another type. */
  public Value cast(DType to) {
    return tl.cast(this, to);
  }

  @Override
  public String toString() {
    return dtype + shape.toString();
  }
}
