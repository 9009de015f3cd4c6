package org.kernbench.nn.autograd;

import java.util.List;
import java.util.Optional;
import org.kernbench.nn.kernels.F8Products;
import org.kernbench.nn.kernels.F8Products.Scaled;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;

/**
 * {@code x w^T} where a {@link Graph} may multiply in 8 bits ({@link F8}). What the backward pass
 * needs of input and weight is kept in 8 bits.
 */
public final class F8Linear {
  private F8Linear() {}

  /**
   * In 8 bits if the graph does so, else as {@link Graph#linear}.
   *
   * @param x {@code [..., in]}
   * @param w {@code [out, in]}
   * @param beside as in {@link Graph#linear(Variable, Variable, boolean)}
   */
  public static Variable apply(Graph graph, Variable x, Variable w, boolean beside) {
    Optional<F8> how = graph.f8();
    return how.isEmpty() ? graph.linear(x, w, beside) : apply(graph, how.get(), x, w, beside);
  }

  private static Variable apply(Graph graph, F8 how, Variable x, Variable w, boolean beside) {
    if (w.shape().rank() != 2 || w.dim(1) != x.columns() || w.dtype() != x.dtype()) {
      throw graph.wrong(
          "linear of %s with weight %s: expected [..., in] and [out, in] of one type"
              .formatted(x, w));
    }
    F8Products products = new F8Products(graph.compute());
    int rows = x.rows();
    int in = x.columns();
    int out = w.dim(0);
    Scaling scaling = new Scaling(graph, products, how);
    Scaled input = scaling.of("input", x.value(), rows, in, DType.F8E4M3, how.ofActivations());
    Scaled weight = scaling.of("weight", w.value(), out, in, DType.F8E4M3, how.parts());
    Tensor y =
        products.matmul(
            graph.name("matmul"), input.as(rows, in), weight.as(out, in).transpose(), x.dtype());
    Shape shape = Variable.withLast(x.shape(), out);
    return graph.record(
        y,
        shape,
        List.of(x, w),
        (grad, into) -> {
          Scaled dy = scaling.of("gradient", grad, rows, out, DType.F8E5M2, how.ofActivations());
          if (into.wants(0)) {
            into.give(
                0,
                products.matmul(graph.name("dx"), dy.as(rows, out), weight.as(out, in), x.dtype()));
          }
          if (into.wants(1)) {
            graph.defer(beside, () -> weightGrad(graph, products, into, w, dy, input));
          }
        });
  }

  /** Rounds to 8 bits, with a scale of now or of earlier steps. */
  private record Scaling(Graph graph, F8Products products, F8 how) {
    Scaled of(String what, Tensor x, int rows, int columns, DType to, List<ProcessGroup> agreed) {
      String name = graph.name(what);
      return how.history()
          .map(all -> {
            F8History.Entry of = all.of(name);
            return products.scaled(name, x, rows, columns, to, of.history(), of.now());
          })
          .orElseGet(() -> products.scaled(name, x, rows, columns, to, agreed));
    }
  }

  private static void weightGrad(
      Graph graph, F8Products products, Graph.Sink into, Variable w, Scaled dy, Scaled input) {
    int rows = Math.toIntExact(dy.values().shape().elements() / w.dim(0));
    F8Products.Operand a = dy.as(rows, w.dim(0)).transpose();
    F8Products.Operand b = input.as(rows, w.dim(1));
    if (w instanceof Parameter p) {
      boolean add = p.grad().isPresent();
      Tensor to = p.grad().orElseGet(() -> p.startGrad(graph.torch()));
      products.matmulInto(graph.name("dw"), a, b, to, add);
    } else {
      into.give(1, products.matmul(graph.name("dw"), a, b, w.gradientType()));
    }
  }
}
