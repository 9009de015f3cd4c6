package org.kernbench.nn.kernels;

import java.util.List;
import org.kernbench.nn.kernels.Compute.Matrix;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.collective.ReduceKind;

/**
 * Products of 8-bit floating-point numbers, with one scale for each tensor. A tensor is multiplied
 * by its scale, the type's largest number over the tensor's, and rounded; sums are kept in f32, and
 * divided by both scales where a tile of the result is stored. Source: Micikevicius et al., "FP8
 * Formats for Deep Learning", 2022.
 */
public final class F8Products {
  private final Compute compute;

  /** Products of some rank's kernels. */
  public F8Products(Compute compute) {
    this.compute = compute;
  }

  /**
   * A tensor in 8 bits.
   *
   * @param values each times the scale
   * @param inverse {@code [1]}, f32: one over the scale
   */
  public record Scaled(Tensor values, Tensor inverse) {
    /** As a matrix of so many rows and columns. */
    public Operand as(int rows, int columns) {
      return new Operand(Matrix.of(values, rows, columns), inverse);
    }
  }

  /** A matrix of which each element is to be multiplied by one number. */
  public record Operand(Matrix matrix, Tensor inverse) {
    /** Rows as columns. */
    public Operand transpose() {
      return new Operand(matrix.transpose(), inverse);
    }
  }

  /**
   * Scales by the largest absolute value and rounds: {@code scale = max(type) / max |x|} in f32, or
   * 1 if all elements are zero.
   *
   * @param agreed groups whose ranks have other parts of the tensor, or other rows: the largest
   *     value of all of them counts
   */
  public Scaled scaled(
      String name, Tensor x, int rows, int columns, DType to, List<ProcessGroup> agreed) {
    Tensor most = largest(name, x, rows, columns);
    for (ProcessGroup group : agreed) {
      if (group.size() > 1) {
        group.allReduce(most, ReduceKind.MAX);
      }
    }
    return rounded(name, x, rows, columns, to, most);
  }

  /**
   * Scales by the largest value of earlier steps and rounds; what is too large by that becomes the
   * largest number of the type. The tensor's own largest value is noted for later steps.
   *
   * @param history largest values of earlier steps, f32, 0 where there is none yet
   * @param now {@code [1]}, f32: the largest of this step so far
   */
  public Scaled scaled(
      String name, Tensor x, int rows, int columns, DType to, Tensor history, Tensor now) {
    Tensor most = compute.empty(name + ".amax", Shape.of(1), DType.F32);
    compute.rows(
        name + ".amax",
        1,
        List.of(RowArg.rows(history, Math.toIntExact(history.shape().elements()))),
        List.of(RowArg.rows(most, 1)),
        (tl, v) -> List.of(v.get(0).max(1).expandDims(1)));
    Scaled scaled = rounded(name, x, rows, columns, to, most);
    Tensor own = largest(name, x, rows, columns);
    compute.mapInto(name + ".amax", now, List.of(now, own), v -> v.get(0).maximum(v.get(1)));
    return scaled;
  }

  /** The largest absolute value, {@code [1]}; 0 if there is none. */
  private Tensor largest(String name, Tensor x, int rows, int columns) {
    Tensor most = compute.empty(name + ".amax", Shape.of(1), DType.F32);
    if (rows == 0) {
      compute.zero(name + ".amax", most);
      return most;
    }
    Tensor ofRows = compute.empty(name + ".amax", Shape.of(rows, 1), DType.F32);
    compute.rows(
        name + ".amax",
        rows,
        List.of(RowArg.rows(x, columns)),
        List.of(RowArg.rows(ofRows, 1)),
        (tl, v) -> List.of(v.get(0).abs().max(1).expandDims(1)));
    compute.rows(
        name + ".amax",
        1,
        List.of(RowArg.rows(ofRows, rows)),
        List.of(RowArg.rows(most, 1)),
        (tl, v) -> List.of(v.get(0).max(1).expandDims(1)));
    return most;
  }

  private Scaled rounded(String name, Tensor x, int rows, int columns, DType to, Tensor most) {
    double largest = to.maxFinite();
    Tensor inverse = compute.empty(name + ".scale", Shape.of(1), DType.F32);
    compute.rows(
        name + ".scale",
        1,
        List.of(RowArg.rows(most, 1)),
        List.of(RowArg.rows(inverse, 1)),
        (tl, v) -> List.of(scale(tl, v.get(0), largest).rdiv(1)));
    Tensor values = compute.empty(name + ".f8", x.shape(), to);
    if (rows > 0) {
      compute.rows(
          name + ".f8",
          rows,
          List.of(RowArg.rows(x, columns), RowArg.once(most, 1)),
          List.of(RowArg.rows(values, columns)),
          (tl, v) -> List.of(v.get(0).mul(scale(tl, v.get(1), largest)).clamp(-largest, largest)));
    }
    return new Scaled(values, inverse);
  }

  private static Value scale(Tl tl, Value most, double largest) {
    return tl.where(most.eq(0), 1, most.rdiv(largest));
  }

  /** {@code a b}, divided by both scales and rounded once. */
  public Tensor matmul(String name, Operand a, Operand b, DType out) {
    Tensor c = compute.empty(name, Shape.of(a.matrix.height(), b.matrix.width()), out);
    product(name, a, b, c, false, false).launch();
    return c;
  }

  /**
   * Such a product into a tensor that lies as a parameter does.
   *
   * @param add whether it is added to what is there
   */
  public void matmulInto(String name, Operand a, Operand b, Tensor c, boolean add) {
    product(name, a, b, c, add, true).launch();
  }

  private Product product(
      String name, Operand a, Operand b, Tensor c, boolean add, boolean likeParameter) {
    List<Tensor> inverses = List.of(a.inverse, b.inverse);
    return new Product(compute, name, a.matrix, b.matrix, c, add, likeParameter, inverses);
  }
}
