package org.kernbench.tl;

import org.kernbench.device.Register;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.ReduceOp;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.UnaryOp;

/**
 * A tensor in the scratch memory (or a message slot) of the PE that runs the kernel. Immutable;
 * arithmetic makes new values and issues one command each. Views ({@link #range}, {@link #reshape})
 * cost nothing and share the storage.
 *
 * <p>Storage lives until the value's scope is closed ({@link Tl#scope}), it is released ({@link
 * Tl#release}) or the kernel ends, and its last reader has finished.
 */
public final class Value {
  final Tl tl;
  final Register register;
  final int offset;
  private final Shape shape;
  private final DType dtype;

  Value(Tl tl, Register register, int offset, Shape shape, DType dtype) {
    this.tl = tl;
    this.register = register;
    this.offset = offset;
    this.shape = shape;
    this.dtype = dtype;
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

  /** A view of {@code count} consecutive elements of the flattened value; costs nothing. */
  public Value range(int start, int count) {
    if (start < 0 || count < 0 || (long) start + count > shape.elements()) {
      throw new IndexOutOfBoundsException(
          "value "
              + shape
              + ": elements ["
              + start
              + ", "
              + ((long) start + count)
              + ") are out of range; it has "
              + shape.elements());
    }
    return new Value(tl, register, offset + start * dtype.sizeBytes(), Shape.of(count), dtype);
  }

  /** A view with another shape of as many elements; costs nothing. */
  public Value reshape(int... dims) {
    Shape to = Shape.of(dims);
    if (to.elements() != shape.elements()) {
      throw new IllegalArgumentException(
          "cannot reshape "
              + shape
              + " to "
              + to
              + ": "
              + shape.elements()
              + " against "
              + to.elements()
              + " elements");
    }
    return new Value(tl, register, offset, to, dtype);
  }

  /** {@code this + other}. */
  public Value add(Value other) {
    return tl.binary(BinaryOp.ADD, this, other);
  }

  /** {@code this + scalar}. */
  public Value add(double scalar) {
    return tl.binary(BinaryOp.ADD, this, scalar);
  }

  /** {@code this - other}. */
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

  /** {@code this / other}, element by element. */
  public Value div(Value other) {
    return tl.binary(BinaryOp.DIV, this, other);
  }

  /** {@code this / scalar}. */
  public Value div(double scalar) {
    return tl.binary(BinaryOp.DIV, this, scalar);
  }

  /** The greater of the two, element by element. */
  public Value maximum(Value other) {
    return tl.binary(BinaryOp.MAXIMUM, this, other);
  }

  /** The lesser of the two, element by element. */
  public Value minimum(Value other) {
    return tl.binary(BinaryOp.MINIMUM, this, other);
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

  /** Natural logarithm. */
  public Value log() {
    return tl.unary(UnaryOp.LOG, this);
  }

  /** Square root. */
  public Value sqrt() {
    return tl.unary(UnaryOp.SQRT, this);
  }

  /** One over the square root. */
  public Value rsqrt() {
    return tl.unary(UnaryOp.RSQRT, this);
  }

  /** Logistic function. */
  public Value sigmoid() {
    return tl.unary(UnaryOp.SIGMOID, this);
  }

  /** Hyperbolic tangent. */
  public Value tanh() {
    return tl.unary(UnaryOp.TANH, this);
  }

  /** Gaussian error linear unit. */
  public Value gelu() {
    return tl.unary(UnaryOp.GELU, this);
  }

  /** Sum along an axis, ascending; the axis disappears. */
  public Value sum(int axis) {
    return tl.reduce(ReduceOp.SUM, this, axis);
  }

  /** Maximum along an axis; the axis disappears. */
  public Value max(int axis) {
    return tl.reduce(ReduceOp.MAX, this, axis);
  }

  /** Minimum along an axis; the axis disappears. */
  public Value min(int axis) {
    return tl.reduce(ReduceOp.MIN, this, axis);
  }

  /** The same numbers, rounded to another type. */
  public Value cast(DType to) {
    return tl.cast(this, to);
  }

  @Override
  public String toString() {
    return dtype + shape.toString();
  }
}
