package org.kernbench.nn.autograd;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.Matrix;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.nn.kernels.Ending;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;

/**
 * Products of matrices in a {@link Graph}, and the bias of a linear layer, with their gradients:
 * what these put off goes on beside other work ({@link Tape}).
 */
final class Products {
  private final Graph graph;
  private final Compute compute;

  /** What was made with others ahead of {@link #linear}, by weight. */
  private final Map<Variable, Known> known = new IdentityHashMap<>();

  private record Known(Variable x, Tensor y) {}

  Products(Graph graph) {
    this.graph = graph;
    this.compute = graph.compute();
  }

  private Matrix matrix(Variable a) {
    return a instanceof Parameter p
        ? Matrix.of(a.value(), a.rows(), a.columns(), p.copies())
        : Matrix.of(a.value(), a.rows(), a.columns());
  }

  Variable linear(Variable x, Variable w, boolean beside) {
    check(x, w);
    Known made = known.remove(w);
    return linear(x, w, beside, made != null && made.x == x ? made.y : product(x, w));
  }

  private Tensor product(Variable x, Variable w) {
    return compute.matmul(graph.name("matmul"), matrix(x), matrix(w).transpose(), x.dtype());
  }

  private static boolean fits(Variable x, Variable w) {
    return w.shape().rank() == 2 && w.dim(1) == x.columns() && w.dtype() == x.dtype();
  }

  private void check(Variable x, Variable w) {
    if (!fits(x, w)) {
      throw graph.wrong(
          """
          linear of %s with weight %s: expected [..., in] and [out, in] of one type\
          """
              .formatted(x, w));
    }
  }

  /** As {@link Graph#linearAhead} says. */
  void ahead(Variable x, List<? extends Variable> ws, boolean gated) {
    if (graph.f8().isPresent() || !ws.stream().allMatch(w -> fits(x, w))) {
      return; // scaled one by one; or each layer says what is wrong with its own
    }
    Matrix left = matrix(x);
    if (!compute.sharesOperands(left, matrix(ws.getFirst()).transpose())) {
      return;
    }
    List<Matrix> rights = ws.stream().map(w -> matrix(w).transpose()).toList();
    List<String> names = ws.stream().map(w -> graph.name("matmul")).toList();
    Shape shape = Variable.withLast(x.shape(), ws.getFirst().dim(0));
    Optional<Tensor> active =
        gated
            ? Optional.of(compute.empty(graph.name("swiglu"), shape, x.dtype()))
            : Optional.empty();
    Optional<Ending> ending =
        active.map(y ->
            new Ending(List.of(y), of -> List.of(Elementwise.swiglu(of.getLast(), of.getFirst()))));
    List<Tensor> made = compute.matmuls(names, left, rights, shape, x.dtype(), ending);
    for (int i = 0; i < ws.size(); i++) {
      known.put(ws.get(i), new Known(x, made.get(i)));
    }
    active.ifPresent(y -> graph.elements().isActivated(made.getLast(), made.getFirst(), y));
  }

  private Variable linear(Variable x, Variable w, boolean beside, Tensor y) {
    DType type = x.dtype();
    return graph.record(
        y,
        Variable.withLast(x.shape(), w.dim(0)),
        List.of(x, w),
        (grad, into) -> {
          Matrix dy = Matrix.of(grad, x.rows(), w.dim(0));
          if (into.wants(1) && !graph.leavesWeights()) {
            x.value(); // if its elements are to be made again, that goes on beside dx
          }
          boolean late = compute.isPackage();
          if (into.wants(0)) {
            // what an earlier product has put off goes on beside the copies for this one
            Matrix left = late && graph.hasDeferred() ? dy.residing() : dy;
            Runnable between = late ? graph::runDeferred : () -> {};
            into.give(0, compute.matmul(graph.name("dx"), left, matrix(w), type, between));
          }
          if (into.wants(1)) {
            Matrix left = dy.residing().transpose();
            Matrix right = matrix(x).residing();
            if (late && !graph.leavesWeights()) {
              compute.copy(graph.name("dw"), left, right, true); // beside dx
            }
            graph.defer(beside || late, () -> weightGrad(into, w, left, right));
          }
        });
  }

  /** The gradient of a weight, which is added up in the parameter's memory. */
  private void weightGrad(Graph.Sink into, Variable w, Matrix a, Matrix b) {
    if (w instanceof Parameter p) {
      boolean add = p.grad().isPresent();
      Tensor to = p.grad().orElseGet(() -> p.startGrad(graph.torch()));
      compute.matmulInto(graph.name("dw"), a, b, to, add, true);
    } else {
      into.give(1, compute.matmul(graph.name("dw"), a, b, w.gradientType()));
    }
  }

  Variable matmul(Variable a, Variable b) {
    if (b.shape().rank() != 2 || b.dim(0) != a.columns() || a.dtype() != b.dtype()) {
      throw graph.wrong(
          "matmul of " + a + " and " + b + ": expected [..., k] and [k, n] of one type");
    }
    DType type = a.dtype();
    Tensor c = compute.matmul(graph.name("matmul"), matrix(a), matrix(b), type);
    return graph.record(
        c,
        Variable.withLast(a.shape(), b.dim(1)),
        List.of(a, b),
        (grad, into) -> {
          Matrix dc = Matrix.of(grad, a.rows(), b.dim(1));
          if (into.wants(0)) {
            into.give(0, compute.matmul(graph.name("da"), dc, matrix(b).transpose(), type));
          }
          if (into.wants(1)) {
            into.give(
                1, compute.matmul(graph.name("db"), matrix(a).transpose(), dc, b.gradientType()));
          }
        });
  }

  Variable addBias(Variable x, Variable bias) {
    int columns = x.columns();
    if (bias.shape().elements() != columns) {
      throw graph.wrong("bias " + bias + " of " + x + ": expected [" + columns + "]");
    }
    Tensor y = compute.empty(graph.name("bias"), x.shape(), x.dtype());
    compute.rows(
        graph.name("bias"),
        x.rows(),
        List.of(RowArg.rows(x.value(), columns), RowArg.once(graph.near(bias), columns)),
        List.of(RowArg.rows(y, columns)),
        (tl, v) -> List.of(v.get(0).add(v.get(1))));
    return graph.record(
        y,
        x.shape(),
        List.of(x, bias),
        (grad, into) -> {
          into.give(0, grad);
          if (into.wants(1)) {
            into.give(1, columnSums(grad, x.rows(), columns, bias.gradientType(), into.home(1)));
          }
        });
  }

  private Tensor columnSums(Tensor x, int rows, int columns, DType dtype, Optional<Tensor> home) {
    Tensor sums =
        home.orElseGet(() -> compute.empty(graph.name("column-sum"), Shape.of(columns), dtype));
    compute.rows(
        graph.name("column-sum"),
        rows,
        List.of(RowArg.rows(x, columns)),
        List.of(RowArg.once(sums, columns)),
        (tl, v) -> List.of(v.get(0).sum(0).reshape(1, columns)));
    return sums;
  }
}
