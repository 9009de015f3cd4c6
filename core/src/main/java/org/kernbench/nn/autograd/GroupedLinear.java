package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.Matrix;
import org.kernbench.nn.kernels.GroupedProduct;
import org.kernbench.nn.kernels.GroupedProduct.Extents;
import org.kernbench.nn.kernels.GroupedProduct.Part;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * Linear layers of several experts in one launch: the rows of each expert go through its own weight
 * ({@code GroupedLinear} of Transformer Engine). An expert without rows computes nothing, and its
 * gradient is zero.
 */
public final class GroupedLinear {
  private final Graph graph;
  private final Compute compute;
  private final int[] counts;
  private final List<Parameter> weights;
  private final int out;
  private final int in;

  private GroupedLinear(Graph graph, int[] counts, List<Parameter> weights) {
    this.graph = graph;
    this.compute = graph.compute();
    this.counts = counts.clone();
    this.weights = weights;
    this.out = weights.getFirst().dim(0);
    this.in = weights.getFirst().dim(1);
  }

  /**
   * {@code x_e w_e^T} for the rows of every expert e.
   *
   * @param x {@code [rows, in]}, in the order of experts
   * @param counts rows of each expert; they sum to the rows of {@code x}
   * @param weights {@code [out, in]} of each expert
   * @return {@code [rows, out]}
   */
  public static Variable apply(Graph graph, Variable x, int[] counts, List<Parameter> weights) {
    GroupedLinear layer = new GroupedLinear(graph, counts, weights);
    if (counts.length != weights.size()
        || Arrays.stream(counts).sum() != x.dim(0)
        || x.columns() != layer.in) {
      throw graph.wrong(
          "grouped linear of %s with %s weights %s and rows %s; expected as many rows, and one count for each weight"
              .formatted(x, weights.size(), weights.getFirst().shape(), Arrays.toString(counts)));
    }
    return layer.apply(x);
  }

  /** Rows of a tile: so many rows of an expert, or the rest, take the time of all. */
  public static int tileRows(Torch torch) {
    return torch.machine().pe().gemm().rows();
  }

  private Variable apply(Variable x) {
    Tensor y = compute.empty(graph.name("grouped-matmul"), Shape.of(x.dim(0), out), x.dtype());
    Matrix left = Matrix.of(x.value(), x.dim(0), in);
    List<Part> parts = new ArrayList<>();
    each((e, from, n) ->
        parts.add(
            new Part(
                left, from, 0, weight(e).transpose(), 0, y, from, new Extents(n, out, in), false)));
    new GroupedProduct(compute, graph.name("grouped-matmul"), parts).launch();
    List<Variable> operands = new ArrayList<>(List.of(x));
    operands.addAll(weights);
    return graph.record(
        y,
        Shape.of(x.dim(0), out),
        operands,
        (grad, into) -> {
          if (into.wants(0)) {
            into.give(0, inputGrad(x, grad));
          }
          weightGrads(x, grad, into);
        });
  }

  private Tensor inputGrad(Variable x, Tensor grad) {
    Tensor dx = compute.empty(graph.name("grouped-dx"), x.shape(), x.dtype());
    Matrix dy = Matrix.of(grad, x.dim(0), out);
    List<Part> parts = new ArrayList<>();
    each((e, from, n) ->
        parts.add(new Part(dy, from, 0, weight(e), 0, dx, from, new Extents(n, in, out), false)));
    new GroupedProduct(compute, graph.name("grouped-dx"), parts).launch();
    return dx;
  }

  private void weightGrads(Variable x, Tensor grad, Graph.Sink into) {
    Matrix dy = Matrix.of(grad, x.dim(0), out).transpose();
    Matrix right = Matrix.of(x.value(), x.dim(0), in);
    List<Part> parts = new ArrayList<>();
    each((e, from, n) -> {
      if (into.wants(1 + e)) {
        Parameter p = weights.get(e);
        boolean add = p.grad().isPresent();
        Tensor to = p.grad().orElseGet(() -> p.startGrad(graph.torch()));
        parts.add(new Part(dy, 0, from, right, from, to, 0, new Extents(out, in, n), add));
      }
    });
    // one without rows has a gradient as well, so that all ranks sum the same ones at the same time
    for (int e = 0; e < counts.length; e++) {
      Parameter p = weights.get(e);
      if (counts[e] == 0 && into.wants(1 + e) && p.grad().isEmpty()) {
        compute.zero(graph.name("grouped-dw"), p.startGrad(graph.torch()));
      }
    }
    new GroupedProduct(compute, graph.name("grouped-dw"), parts).launch();
  }

  private Matrix weight(int e) {
    return Matrix.of(weights.get(e).value(), out, in);
  }

  /** What is done for the rows of an expert. */
  private interface Rows {
    void of(int expert, int from, int count);
  }

  private void each(Rows what) {
    int from = 0;
    for (int e = 0; e < counts.length; e++) {
      if (counts[e] > 0) {
        what.of(e, from, counts[e]);
      }
      from += counts[e];
    }
  }
}
