package org.kernbench.tensor;

import java.util.Arrays;

/**
 * The extents of a dense, row-major tensor: the last axis is contiguous. Rank 0 is a scalar, one
 * element; an extent of 0 makes an empty tensor.
 */
public final class Shape {
  private final int[] dims;
  private final long elements;

  private Shape(int[] dims) {
    long product = 1;
    for (int axis = 0; axis < dims.length; axis++) {
      if (dims[axis] < 0) {
        throw new ShapeException(
            "shape %s: axis %s is %s; expected 0 or more"
                .formatted(Arrays.toString(dims), axis, dims[axis]));
      }
      product = Math.multiplyExact(product, (long) dims[axis]);
    }
    this.dims = dims;
    this.elements = product;
  }

  /**
   * The shape with these extents, outermost first.
   *
   * @throws ShapeException if an extent is negative
   */
  public static Shape of(int... dims) {
    return new Shape(dims.clone());
  }

  /** The number of axes. */
  public int rank() {
    return dims.length;
  }

  /** The extent of axis {@code i}; a negative {@code i} counts from the last axis, -1. */
  public int dim(int i) {
    return dims[axis(i)];
  }

  /**
   * The axis in {@code 0..rank-1} that {@code i} means; negative numbers count from the end.
   *
   * @throws ShapeException if there is no such axis
   */
  public int axis(int i) {
    int axis = i < 0 ? i + dims.length : i;
    if (axis < 0 || axis >= dims.length) {
      throw new ShapeException(
          "axis %s of shape %s: expected %s to %s"
              .formatted(i, this, -dims.length, dims.length - 1));
    }
    return axis;
  }

  /** The number of elements, the product of the extents; 1 for a scalar. */
  public long elements() {
    return elements;
  }

  /** The extents, a copy. */
  public int[] toArray() {
    return dims.clone();
  }

  /** The distance in elements between neighbours along each axis, outermost first. */
  public long[] strides() {
    long[] strides = new long[dims.length];
    long stride = 1;
    for (int axis = dims.length - 1; axis >= 0; axis--) {
      strides[axis] = stride;
      stride *= dims[axis];
    }
    return strides;
  }

  /** The product of the extents before {@code axis}: how many slices lie outside it. */
  public long outer(int axis) {
    return product(0, axis(axis));
  }

  /** The product of the extents after {@code axis}: the distance in elements along it. */
  public long inner(int axis) {
    return product(axis(axis) + 1, dims.length);
  }

  private long product(int from, int to) {
    long product = 1;
    for (int axis = from; axis < to; axis++) {
      product *= dims[axis];
    }
    return product;
  }

  /** This shape without {@code axis}. */
  public Shape without(int axis) {
    int removed = axis(axis);
    int[] rest = new int[dims.length - 1];
    System.arraycopy(dims, 0, rest, 0, removed);
    System.arraycopy(dims, removed + 1, rest, removed, rest.length - removed);
    return new Shape(rest);
  }

  /** This shape with the extent of {@code axis} replaced. */
  public Shape with(int axis, int extent) {
    int[] changed = dims.clone();
    changed[axis(axis)] = extent;
    return new Shape(changed);
  }

  /**
   * The common shape of two operands: aligned at the last axis, extents equal or one of them 1.
   *
   * @throws ShapeException if the shapes do not fit
   */
  public static Shape broadcast(Shape a, Shape b) {
    int rank = Math.max(a.rank(), b.rank());
    int[] common = new int[rank];
    for (int back = 1; back <= rank; back++) {
      int x = back <= a.rank() ? a.dim(-back) : 1;
      int y = back <= b.rank() ? b.dim(-back) : 1;
      if (x != y && x != 1 && y != 1) {
        throw new ShapeException(
            """
            cannot broadcast %s with %s: axis %s is %s against %s; expected equal extents \
            or 1\
            """
                .formatted(a, b, -back, x, y));
      }
      common[rank - back] = x == 1 ? y : x;
    }
    return new Shape(common);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Shape shape && Arrays.equals(dims, shape.dims);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(dims);
  }

  /** For example {@code [2, 3]}; a scalar is {@code []}. */
  @Override
  public String toString() {
    return Arrays.toString(dims);
  }
}
