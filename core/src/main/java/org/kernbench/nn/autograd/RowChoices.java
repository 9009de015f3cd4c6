package org.kernbench.nn.autograd;

import java.util.List;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.BlockCopy;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;

/** Rows and columns picked out of a matrix, and weighted sums, in a {@link Graph}. */
final class RowChoices {
  private final Graph graph;
  private final Compute compute;

  RowChoices(Graph graph) {
    this.graph = graph;
    this.compute = graph.compute();
  }

  Variable weightedSum(Variable x, double[] weights) {
    int n = Math.toIntExact(x.shape().elements());
    if (weights.length != n) {
      throw graph.wrong(weights.length + " weights for " + x);
    }
    Tensor w = graph.constant(weights, Shape.of(n), x.dtype(), graph.name("weights")).value();
    Tensor sum = compute.empty(graph.name("sum"), Shape.of(1), x.dtype());
    compute.rows(
        graph.name("sum"),
        n,
        List.of(RowArg.rows(x.value(), 1), RowArg.rows(w, 1)),
        List.of(RowArg.once(sum, 1)),
        (tl, v) -> List.of(v.get(0).mul(v.get(1)).sum(0).reshape(1, 1)));
    return graph.record(
        sum,
        Shape.of(1),
        List.of(x),
        (grad, into) -> {
          Tensor dx = compute.empty(graph.name("sum"), x.shape(), x.dtype());
          compute.rows(
              graph.name("sum"),
              n,
              List.of(RowArg.rows(w, 1), RowArg.once(grad, 1)),
              List.of(RowArg.rows(dx, 1)),
              (tl, v) -> List.of(v.get(0).mul(v.get(1))));
          into.give(0, dx);
        });
  }

  Variable select(Variable a, int[] rows) {
    int columns = a.columns();
    int height = a.rows();
    for (int row : rows) {
      if (row >= height) {
        throw graph.wrong("row " + row + " of " + a + ": expected less than " + height);
      }
    }
    int[] kept = rows.clone();
    Tensor selected =
        compute.assemble(
            graph.name("select"),
            kept.length,
            columns,
            a.dtype(),
            true,
            RowRuns.gather(a.value(), columns, kept));
    return graph.record(
        selected,
        Shape.of(kept.length, columns),
        List.of(a),
        (grad, into) ->
            into.giveAway(
                0, RowRuns.scatterAdd(graph, grad, columns, kept, height, a.gradientType())));
  }

  Variable narrowColumns(Variable a, int start, int count) {
    int columns = a.columns();
    int rows = a.rows();
    Tensor part =
        compute.assemble(
            graph.name("narrow"),
            rows,
            count,
            a.dtype(),
            false,
            List.of(new BlockCopy(a.value(), columns, 0, start, rows, count, 0, 0)));
    return graph.record(
        part,
        Variable.withLast(a.shape(), count),
        List.of(a),
        (grad, into) ->
            into.give(
                0,
                compute.assemble(
                    graph.name("pad"),
                    rows,
                    columns,
                    grad.dtype(),
                    true,
                    List.of(new BlockCopy(grad, count, 0, 0, rows, count, 0, start)))));
  }
}
