package org.kernbench.nn.autograd;

import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;

/**
 * A tensor in a {@link Graph}: a value on the rank's device and, after {@link Graph#backward}, its
 * gradient. Immutable in value: every operation makes a new one.
 *
 * <p>Value and gradient have the variable's shape; {@link Graph#reshape} gives another view of the
 * same elements.
 */
public sealed class Variable permits Parameter {
  private Tensor value;
  private @Nullable Supplier<Tensor> remake;
  private final Shape shape;
  private final boolean requiresGrad;
  private @Nullable Tensor grad;

  public Variable(Tensor value, Shape shape, boolean requiresGrad) {
    this.value = value;
    this.shape = shape;
    this.requiresGrad = requiresGrad;
  }

  /** The elements in this shape, dense and row-major on the rank's device. */
  public final Tensor value() {
    Supplier<Tensor> again = remake;
    if (again != null && value.isClosed()) {
      value = again.get();
    }
    return value;
  }

  /** Elements that lie elsewhere from now on. */
  public final void moveTo(Tensor other) {
    value = other;
  }

  /** Says how the elements are had again when their tensor is closed, as after {@link #forget}. */
  public final void remakeBy(Supplier<Tensor> again) {
    remake = again;
  }

  /** Frees the elements, if they can be made again; that happens when somebody asks for them. */
  public final void forget() {
    if (remake != null) {
      value.close();
    }
  }

  /** Whether {@link #value} would have to make the elements again. */
  final boolean isForgotten() {
    return remake != null && value.isClosed();
  }

  /** For messages. */
  String name() {
    return value.name();
  }

  /** Extent of each axis. */
  public final Shape shape() {
    return shape;
  }

  /** Extent of an axis. */
  public final int dim(int axis) {
    return shape.dim(axis);
  }

  /** Type of the elements. */
  public final DType dtype() {
    return value.dtype();
  }

  /** Whether a gradient with respect to it is wanted. */
  public final boolean requiresGrad() {
    return requiresGrad;
  }

  /**
   * The sum of the gradients that calls of {@link Graph#backward} have found, in this shape; empty
   * before, and where no result depends on this.
   */
  public Optional<Tensor> grad() {
    return Optional.ofNullable(grad);
  }

  void setGrad(Tensor found) {
    grad = shaped(found, shape);
  }

  /** Elements in a shape of their own, as users look at them. */
  static Tensor shaped(Tensor tensor, Shape shape) {
    return tensor.shape().equals(shape) ? tensor : tensor.view(0, shape, tensor.name());
  }

  /** The shape with another last extent. */
  static Shape withLast(Shape shape, int columns) {
    int[] dims = shape.toArray();
    dims[dims.length - 1] = columns;
    return Shape.of(dims);
  }

  /** Type in which a gradient with respect to it is made. */
  DType gradientType() {
    return dtype();
  }

  /** The product of all extents but the last; a vector is one row. */
  public final int rows() {
    int columns = columns();
    return columns == 0 ? 0 : Math.toIntExact(shape.elements() / columns);
  }

  /** The last extent. */
  public final int columns() {
    return shape.rank() == 0 ? 1 : shape.dim(shape.rank() - 1);
  }

  @Override
  public String toString() {
    return value.name() + " " + dtype() + shape;
  }
}
