package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.kernbench.nn.autograd.Compute.BlockCopy;
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
    Tensor sum = null;
    for (int[] from : passes) {
      // from[j] is the row of the gradient that goes to row j in this pass
      Tensor pass =
          compute.assemble(
              graph.name("scatter"),
              height,
              columns,
              grad.dtype(),
              true,
              gather(grad, columns, from));
      sum =
          sum == null && pass.dtype() == dtype
              ? pass
              : compute.map(
                  graph.name("scatter-add"),
                  Shape.of(height, columns),
                  dtype,
                  sum == null ? List.of(pass) : List.of(sum, pass),
                  x -> x.size() == 1 ? x.get(0) : x.get(0).add(x.get(1)));
    }
    if (sum == null) {
      throw new IllegalStateException("bug: no pass");
    }
    return sum;
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
