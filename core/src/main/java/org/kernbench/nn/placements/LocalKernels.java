package org.kernbench.nn.placements;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.BlockCopy;
import org.kernbench.nn.kernels.Compute.Formula;
import org.kernbench.nn.kernels.Compute.Matrix;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.nn.kernels.Compute.RowFormula;
import org.kernbench.nn.placements.Extents.Run;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/** What a rank computes with its parts, which may be empty. */
final class LocalKernels {
  /** Rows and columns that are turned at a time. */
  private static final int TURNED = 32;

  private final Compute compute;

  LocalKernels(Compute compute) {
    this.compute = compute;
  }

  private static int count(long elements) {
    return Math.toIntExact(elements);
  }

  Tensor matmul(Tensor a, Tensor b, Shape result) {
    int k = b.shape().dim(0);
    int n = b.shape().dim(1);
    int m = count(result.elements() / Math.max(1, n));
    if (result.elements() == 0) {
      return compute.empty("matmul", result, a.dtype());
    }
    if (k == 0) {
      return zeros("matmul", result, a.dtype());
    }
    return shaped(
        compute.matmul("matmul", Matrix.of(a, m, k), Matrix.of(b, k, n), a.dtype()), result);
  }

  /** Element by element. */
  Tensor map(String name, List<Tensor> in, Formula formula) {
    Tensor first = in.getFirst();
    return first.shape().elements() == 0
        ? compute.empty(name, first.shape(), first.dtype())
        : compute.map(name, first.shape(), first.dtype(), in, formula);
  }

  /**
   * Rows of the last axis of the first operand, each by itself; of the others rows as well if they
   * have as many elements as there are rows, or one row for all.
   */
  Tensor rows(String name, List<Tensor> in, RowFormula formula) {
    Tensor x = in.getFirst();
    Tensor y = compute.empty(name, x.shape(), x.dtype());
    if (x.shape().elements() > 0) {
      int columns = x.shape().dim(x.shape().rank() - 1);
      List<RowArg> args = new ArrayList<>(List.of(RowArg.rows(x, columns)));
      in.subList(1, in.size()).forEach(t -> args.add(RowArg.once(t, columns)));
      rows(name, args, y, columns, formula);
    }
    return y;
  }

  /** Rows of a tensor, each by itself, with one number for each row. */
  Tensor rowsWith(String name, Tensor x, List<Tensor> stats, RowFormula formula) {
    Tensor y = compute.empty(name, x.shape(), x.dtype());
    if (x.shape().elements() > 0) {
      int columns = x.shape().dim(x.shape().rank() - 1);
      List<RowArg> args = new ArrayList<>(List.of(RowArg.rows(x, columns)));
      stats.forEach(t -> args.add(RowArg.rows(t, 1)));
      rows(name, args, y, columns, formula);
    }
    return y;
  }

  private void rows(String name, List<RowArg> in, Tensor out, int columns, RowFormula formula) {
    int rows = count(in.getFirst().tensor().shape().elements() / in.getFirst().columns());
    compute.rows(name, rows, in, List.of(RowArg.rows(out, columns)), formula);
  }

  /** Sums over an axis. */
  Tensor sum(Tensor x, int axis) {
    Shape result = x.shape().without(axis);
    if (x.shape().elements() == 0) {
      return result.elements() == 0
          ? compute.empty("sum", result, x.dtype())
          : zeros("sum", result, x.dtype());
    }
    int n = x.shape().dim(axis);
    if (x.shape().inner(axis) == 1) {
      Tensor sums = compute.empty("sum", result, x.dtype());
      rows(
          "sum",
          List.of(RowArg.rows(x, n)),
          sums,
          1,
          (tl, v) -> List.of(v.getFirst().sum(1).expandDims(1)));
      return sums;
    }
    int width = count(result.elements());
    Tensor front = axis == 0 ? x : toFront(x, axis);
    Tensor sums = compute.empty("sum", result, x.dtype());
    compute.rows(
        "sum",
        n,
        List.of(RowArg.rows(front, width)),
        List.of(RowArg.once(sums, width)),
        (tl, v) -> List.of(v.getFirst().sum(0).reshape(1, width)));
    return sums;
  }

  /** From {@code [outer, n, inner]} to {@code [n, outer, inner]}. */
  private Tensor toFront(Tensor x, int axis) {
    int n = x.shape().dim(axis);
    int outer = count(x.shape().outer(axis));
    int inner = count(x.shape().inner(axis));
    List<BlockCopy> copies = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      copies.add(new BlockCopy(x, n * inner, 0, i * inner, outer, inner, i * outer, 0));
    }
    return compute.assemble("to-front", n * outer, inner, x.dtype(), false, copies);
  }

  /** Copies along a new axis of so many. */
  Tensor expand(Tensor x, int axis, int copies) {
    Shape result = inserted(x.shape(), axis, copies);
    if (result.elements() == 0) {
      return compute.empty("expand", result, x.dtype());
    }
    int inner = 1;
    for (int i = axis; i < x.shape().rank(); i++) {
      inner *= x.shape().dim(i);
    }
    int outer = count(x.shape().elements() / inner);
    List<BlockCopy> blocks = new ArrayList<>();
    for (int i = 0; i < copies; i++) {
      blocks.add(new BlockCopy(x, inner, 0, 0, outer, inner, 0, i * inner));
    }
    Tensor made = compute.assemble("expand", outer, copies * inner, x.dtype(), false, blocks);
    return shaped(made, result);
  }

  /** A shape with a further axis. */
  static Shape inserted(Shape shape, int axis, int extent) {
    int[] dims = new int[shape.rank() + 1];
    for (int i = 0; i < dims.length; i++) {
      dims[i] = i < axis ? shape.dim(i) : i == axis ? extent : shape.dim(i - 1);
    }
    return Shape.of(dims);
  }

  /** Rows of two tensors together, with a vector for all. */
  Tensor twoRows(String name, Tensor a, Tensor b, Tensor vector, RowFormula formula) {
    Tensor y = compute.empty(name, a.shape(), a.dtype());
    if (a.shape().elements() > 0) {
      int columns = a.shape().dim(a.shape().rank() - 1);
      List<RowArg> args =
          List.of(RowArg.rows(a, columns), RowArg.rows(b, columns), RowArg.once(vector, columns));
      rows(name, args, y, columns, formula);
    }
    return y;
  }

  /**
   * Sums of rows by number, the inverse of {@link #look}: of ids from {@code first}, to those of
   * the table that a rank has.
   */
  Tensor scatter(Torch torch, Tensor rows, int[] ids, int first, Run has) {
    int columns = rows.shape().dim(1);
    int n = rows.shape().dim(0);
    Shape result = Shape.of(has.count(), columns);
    if (result.elements() == 0) {
      return compute.empty("scatter", result, rows.dtype());
    }
    if (n == 0) {
      return zeros("scatter", result, rows.dtype());
    }
    Tensor chosen =
        Compute.spread(
            torch,
            "chosen",
            Shape.of(has.count(), n),
            rows.dtype(),
            () -> {
              double[] ones = new double[has.count() * n];
              for (int i = 0; i < n; i++) {
                int row = ids[first + i] - has.start();
                if (row >= 0 && row < has.count()) {
                  ones[row * n + i] = 1;
                }
              }
              return ones;
            });
    try (chosen) {
      return matmul(chosen, rows, result);
    }
  }

  /** Maxima of rows; of no columns the least there is. */
  Tensor rowMax(Tensor x) {
    int last = x.shape().rank() - 1;
    Tensor most = compute.empty("max", x.shape().without(last), x.dtype());
    if (most.shape().elements() > 0 && x.shape().elements() == 0) {
      compute.mapInto("lowest", most, List.of(zeros("zeros", most.shape(), most.dtype())), LOWEST);
    } else if (x.shape().elements() > 0) {
      RowFormula max = (tl, v) -> List.of(v.getFirst().max(1).expandDims(1));
      rows("max", List.of(RowArg.rows(x, x.shape().dim(last))), most, 1, max);
    }
    return most;
  }

  private static final Formula LOWEST = x -> x.getFirst().add(Double.NEGATIVE_INFINITY);

  /** The transpose of a matrix. */
  Tensor transpose(Tensor x) {
    int m = x.shape().dim(0);
    int n = x.shape().dim(1);
    Tensor turned = compute.empty("transpose", Shape.of(n, m), x.dtype());
    if (x.shape().elements() > 0) {
      compute.cut(
          "transpose",
          Math.ceilDiv(n, TURNED),
          List.of(turned),
          List.of(x),
          (tl, from, to) -> {
            for (int j = from * TURNED; j < Math.min(n, to * TURNED); j += TURNED) {
              turn(tl, x, turned, j, Math.min(TURNED, n - j));
            }
          });
    }
    return turned;
  }

  private static void turn(Tl tl, Tensor x, Tensor turned, int column, int columns) {
    int m = x.shape().dim(0);
    int n = x.shape().dim(1);
    for (int i = 0; i < m; i += TURNED) {
      int rows = Math.min(TURNED, m - i);
      try (Scope one = tl.scope()) {
        Value tile = tl.load(tl.whole(x).as(m, n).block(i, rows, column, columns));
        tl.store(tl.whole(turned).as(n, m).block(column, columns, i, rows), tile.trans());
      }
    }
  }

  /** Rows by number of those that a rank has; zeros for the others. */
  Tensor look(Tensor table, int[] ids, Run has) {
    int columns = table.shape().dim(1);
    Shape result = Shape.of(ids.length, columns);
    if (result.elements() == 0) {
      return compute.empty("embedding", result, table.dtype());
    }
    List<BlockCopy> copies = new ArrayList<>();
    for (int i = 0; i < ids.length; i++) {
      int row = ids[i] - has.start();
      if (row >= 0 && row < has.count()) {
        copies.add(new BlockCopy(table, columns, row, 0, 1, columns, i, 0));
      }
    }
    return shaped(
        compute.assemble("embedding", ids.length, columns, table.dtype(), true, copies), result);
  }

  private Tensor zeros(String name, Shape shape, DType dtype) {
    Tensor made = compute.empty(name, shape, dtype);
    compute.zero(name, made);
    return made;
  }

  private static Tensor shaped(Tensor of, Shape shape) {
    return of.shape().equals(shape) ? of : of.view(0, shape, of.name());
  }
}
