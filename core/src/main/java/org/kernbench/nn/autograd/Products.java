package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.Factors;
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
  /** Outputs of layers of one input that find gradients together are so many times as wide. */
  private static final int MOST_JOINED = 2;

  private final Graph graph;
  private final Compute compute;

  /** What was made with others ahead of {@link #linear}, by weight. */
  private final Map<Variable, Known> known = new IdentityHashMap<>();

  private record Known(Variable x, Tensor y) {}

  /** Linear layers of one input, by input: their weights. */
  private final Map<Variable, List<Variable>> weightsOf = new IdentityHashMap<>();

  /** What is to be found for the layers of one input that have been asked in a backward pass. */
  private final Map<Variable, List<Asked>> asked = new IdentityHashMap<>();

  /** Gradients of one layer, from that of its output. */
  private record Asked(Variable x, Variable w, Matrix dy, Graph.Sink into) {}

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
    List<Matrix> rights = ws.stream().map(w -> matrix(w).transpose()).toList();
    if (!compute.makesAtOnce(left, rights, gated ? List.of(x.value()) : List.of())) {
      return;
    }
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
    weightsOf.computeIfAbsent(x, of -> new ArrayList<>()).add(w);
    return graph.record(
        y,
        Variable.withLast(x.shape(), w.dim(0)),
        List.of(x, w),
        (grad, into) -> {
          Asked one = new Asked(x, w, Matrix.of(grad, x.rows(), w.dim(0)), into);
          if (mayJoin(x, into)) {
            asked.computeIfAbsent(x, of -> new ArrayList<>()).add(one);
            graph.join(x, () -> together(Objects.requireNonNull(asked.remove(x))));
          } else {
            gradients(one, beside);
          }
        });
  }

  /**
   * Whether layers of one input find gradients together: there are several parameters, and all
   * outputs are not much wider than the input, so that copies of their gradients, which must be
   * there before, go on beside what was put off.
   */
  private boolean mayJoin(Variable x, Graph.Sink into) {
    List<Variable> ws = weightsOf.getOrDefault(x, List.of());
    int wide = ws.stream().mapToInt(w -> w.dim(0)).sum();
    return compute.isPackage()
        && !graph.leavesWeights()
        && ws.size() > 1
        && ws.stream().distinct().count() == ws.size()
        && ws.stream().allMatch(w -> w instanceof Parameter && Graph.wants(w))
        && wide <= MOST_JOINED * x.columns()
        && into.wants(0);
  }

  /** Gradients of layers of one input: their sum for the input in one launch, of weights in one. */
  private void together(List<Asked> all) {
    List<Factors> toInput = all.stream().map(this::toInput).toList();
    List<Factors> toWeights = all.stream().map(this::toWeight).toList();
    if (all.size() == 1 || !compute.addsAtOnce(toInput) || !compute.makesInOneLaunch(toWeights)) {
      all.forEach(one -> gradients(one, true));
      return;
    }
    Variable x = all.getFirst().x;
    x.value(); // if its elements are to be made again, that goes on beside dx
    Runnable between = besideCopies(all.getFirst());
    Tensor dx = compute.matmulSum(graph.name("dx"), toInput, x.dtype(), between);
    all.getFirst().into.give(0, dx);
    toWeights.forEach(this::copyForWeight);
    graph.defer(
        true,
        () -> {
          List<Compute.Into> products = new ArrayList<>();
          for (int i = 0; i < all.size(); i++) {
            products.add(into((Parameter) all.get(i).w, toWeights.get(i)));
          }
          compute.matmulsInto(graph.name("dw"), products);
        });
  }

  private Factors toInput(Asked of) {
    // what an earlier product has put off goes on beside the copies for this one
    boolean beside = compute.isPackage() && graph.hasDeferred();
    return new Factors(beside ? of.dy.residing() : of.dy, matrix(of.w));
  }

  private Factors toWeight(Asked of) {
    return new Factors(of.dy.residing().transpose(), matrix(of.x).residing());
  }

  /** What is launched between the copies for the gradient of an input and the product. */
  private Runnable besideCopies(Asked of) {
    if (!graph.hasDeferred()) {
      return () -> {};
    }
    return () -> {
      if (!graph.leavesWeights()) {
        compute.copyRight(graph.name("dw"), toWeight(of));
      }
      graph.runDeferred();
    };
  }

  private void copyForWeight(Factors of) {
    compute.copyLeft(graph.name("dw"), of);
    compute.copyRight(graph.name("dw"), of);
  }

  private void gradients(Asked of, boolean beside) {
    boolean wantsWeight = of.into.wants(1);
    if (wantsWeight && !graph.leavesWeights()) {
      of.x.value(); // if its elements are to be made again, that goes on beside dx
    }
    boolean late = compute.isPackage();
    if (of.into.wants(0)) {
      Factors factors = toInput(of);
      Runnable between = () -> {};
      if (late) {
        between = wantsWeight ? besideCopies(of) : graph::runDeferred;
      }
      of.into.give(
          0, compute.matmul(graph.name("dx"), factors.a(), factors.b(), of.x.dtype(), between));
    }
    if (wantsWeight) {
      Factors factors = toWeight(of);
      if (late && !graph.leavesWeights()) {
        copyForWeight(factors); // beside dx
      }
      graph.defer(beside || late, () -> weightGrad(of.into, of.w, factors));
    }
  }

  /** The gradient of a weight, which is added up in the parameter's memory. */
  private void weightGrad(Graph.Sink into, Variable w, Factors of) {
    if (w instanceof Parameter p) {
      Compute.Into to = into(p, of);
      compute.matmulInto(graph.name("dw"), of.a(), of.b(), to.c(), to.add(), true);
    } else {
      into.give(1, compute.matmul(graph.name("dw"), of.a(), of.b(), w.gradientType()));
    }
  }

  private Compute.Into into(Parameter p, Factors of) {
    boolean add = p.grad().isPresent();
    return new Compute.Into(of, p.grad().orElseGet(() -> p.startGrad(graph.torch())), add);
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
