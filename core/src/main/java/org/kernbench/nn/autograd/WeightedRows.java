package org.kernbench.nn.autograd;

import java.util.List;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * The combination of experts: each row of the result is a sum of rows, each times its weight, added
 * in the order of a token's choices.
 */
public final class WeightedRows implements Dependent {
  private final Graph graph;
  private final Compute compute;
  private final int rows;
  private final int terms;
  private final int width;
  private final DType working;
  private final int block;

  private WeightedRows(Graph graph, int rows, int terms, int width, DType dtype) {
    this.graph = graph;
    this.compute = graph.compute();
    this.rows = rows;
    this.terms = terms;
    this.width = width;
    this.working = Compute.working(dtype);
    this.block = Math.max(1, compute.blockBytes() / (width * working.sizeBytes()));
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(compute, rows, terms, width, working, block);
  }

  /**
   * {@code y_t = sum over j of w_tj x_(t k + j)}.
   *
   * @param x {@code [rows k, width]}
   * @param weights {@code [rows, k]}
   * @return {@code [rows, width]}
   */
  public static Variable apply(Graph graph, Variable x, Variable weights) {
    return new WeightedRows(graph, weights.dim(0), weights.dim(1), x.columns(), x.dtype())
        .apply(x, weights);
  }

  private Variable apply(Variable x, Variable weights) {
    Tensor y = compute.empty(graph.name("combine"), Shape.of(rows, width), x.dtype());
    Tensor of = x.value();
    Tensor by = weights.value();
    compute.cut(
        graph.name("combine"),
        rows,
        List.of(y),
        List.of(of, by),
        (tl, from, to) -> {
          for (int row = from; row < to; row += block) {
            sum(tl, of, by, y, row, Math.min(block, to - row));
          }
        });
    return graph.record(
        y,
        Shape.of(rows, width),
        List.of(x, weights),
        (grad, into) -> {
          Tensor dx = compute.empty(graph.name("combine"), x.shape(), x.dtype());
          Tensor dw = compute.empty(graph.name("combine"), weights.shape(), weights.dtype());
          compute.cut(
              graph.name("combine"),
              rows,
              List.of(dx, dw),
              List.of(grad, of, by),
              (tl, from, to) -> {
                for (int row = from; row < to; row += block) {
                  back(tl, List.of(grad, of, by), dx, dw, row, Math.min(block, to - row));
                }
              });
          into.give(0, dx);
          into.give(1, dw);
        });
  }

  private void sum(Tl tl, Tensor of, Tensor by, Tensor y, int row, int n) {
    try (Scope all = tl.scope()) {
      Value sum = tl.zeros(Shape.of(n, width), working);
      for (int j = 0; j < terms; j++) {
        try (Scope one = tl.scope()) {
          Value term = load(tl, wide(tl, of), row, n, j * width, width);
          Value more = sum.add(term.mul(load(tl, weights(tl, by), row, n, j, 1)));
          one.keep(more);
          tl.release(sum);
          sum = more;
        }
      }
      tl.store(tl.whole(y).as(rows, width).block(row, n, 0, width), sum.cast(y.dtype()));
    }
  }

  private void back(Tl tl, List<Tensor> in, Tensor dx, Tensor dw, int row, int n) {
    try (Scope all = tl.scope()) {
      Value dy = load(tl, tl.whole(in.get(0)).as(rows, width), row, n, 0, width);
      for (int j = 0; j < terms; j++) {
        try (Scope one = tl.scope()) {
          Value term = load(tl, wide(tl, in.get(1)), row, n, j * width, width);
          Value weight = load(tl, weights(tl, in.get(2)), row, n, j, 1);
          tl.store(wide(tl, dx).block(row, n, j * width, width), dy.mul(weight).cast(dx.dtype()));
          tl.store(
              weights(tl, dw).block(row, n, j, 1),
              dy.mul(term).sum(1).expandDims(1).cast(dw.dtype()));
        }
      }
    }
  }

  private Value load(Tl tl, Shard of, int row, int n, int column, int columns) {
    return tl.load(of.block(row, n, column, columns)).cast(working);
  }

  private Shard wide(Tl tl, Tensor of) {
    return tl.whole(of).as(rows, terms * width);
  }

  private Shard weights(Tl tl, Tensor of) {
    return tl.whole(of).as(rows, terms);
  }
}
