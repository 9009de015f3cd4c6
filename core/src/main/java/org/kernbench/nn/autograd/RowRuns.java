package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.BlockCopy;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;

/** Rows picked by index, moved in runs of neighbours. */
final class RowRuns {
  private RowRuns() {}

  /** The copies that gather rows; negative indices are left out. */
  static List<BlockCopy> gather(Tensor from, int columns, int[] rows) {
    List<BlockCopy> blocks = new ArrayList<>();
    for (int i = 0; i < rows.length; ) {
      int first = rows[i];
      int count = 1;
      while (i + count < rows.length && first >= 0 && rows[i + count] == first + count) {
        count++;
      }
      if (first >= 0) {
        blocks.add(new BlockCopy(from, columns, first, 0, count, columns, i, 0));
      }
      i += count;
    }
    return blocks;
  }

  /** The copies that put row {@code i} at row {@code at[i]}. */
  static List<BlockCopy> place(Tensor from, int columns, int[] at) {
    List<BlockCopy> blocks = new ArrayList<>();
    for (int i = 0; i < at.length; ) {
      int count = 1;
      while (i + count < at.length && at[i + count] == at[i] + count) {
        count++;
      }
      blocks.add(new BlockCopy(from, columns, i, 0, count, columns, at[i], 0));
      i += count;
    }
    return blocks;
  }

  /**
   * The adjoint of {@link #gather}: each row of a gradient goes back to the row it came from, in
   * ascending order where several do.
   *
   * @param height rows of the result
   */
  static Tensor scatterAdd(
      Graph graph, Tensor grad, int columns, int[] rows, int height, DType dtype) {
    Compute compute = graph.compute();
    List<int[]> passes = passes(rows, height);
    Shape shape = Shape.of(height, columns);
    Tensor sum = null;
    for (int[] from : passes) {
      // from[j] is the row of the gradient that goes to row j in this pass
      Tensor pass =
          compute.assembleWhere(
              graph.name("scatter"),
              place(graph, "scatter", shape, grad.dtype()),
              gather(grad, columns, from));
      if (sum == null && pass.dtype() == dtype) {
        sum = pass;
        continue;
      }
      List<Tensor> both = sum == null ? List.of(pass) : List.of(sum, pass);
      sum = place(graph, "scatter-add", shape, dtype);
      compute.mapInto(
          graph.name("scatter-add"),
          sum,
          both,
          x -> x.size() == 1 ? x.get(0) : x.get(0).add(x.get(1)));
      both.forEach(graph::drop);
    }
    if (sum == null) {
      throw new IllegalStateException("bug: no pass");
    }
    return sum;
  }

  /** Lies as a parameter does, so that it can be added to its gradient where it lies. */
  private static Tensor place(Graph graph, String name, Shape shape, DType dtype) {
    return graph.own(Compute.parameter(graph.torch(), graph.name(name), shape, dtype));
  }

  /** As many passes as the most frequent row occurs; in each, a row occurs at most once. */
  private static List<int[]> passes(int[] rows, int height) {
    List<int[]> passes = new ArrayList<>();
    int[] seen = new int[height];
    passes.add(none(height));
    for (int i = 0; i < rows.length; i++) {
      if (rows[i] >= 0) {
        int pass = seen[rows[i]]++;
        if (pass == passes.size()) {
          passes.add(none(height));
        }
        passes.get(pass)[rows[i]] = i;
      }
    }
    return passes;
  }

  private static int[] none(int height) {
    int[] none = new int[height];
    Arrays.fill(none, -1);
    return none;
  }
}
