package org.kernbench.nn.autograd;

import java.util.List;
import java.util.function.UnaryOperator;
import org.kernbench.nn.kernels.Activation;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/** Operations of a {@link Graph} on elements at the same place, with their gradients. */
final class Elementwise {
  private final Graph graph;
  private final Compute compute;

  Elementwise(Graph graph) {
    this.graph = graph;
    this.compute = graph.compute();
  }

  private void checkEqual(String op, Variable a, Variable b) {
    if (!a.shape().equals(b.shape()) || a.dtype() != b.dtype()) {
      throw graph.wrong(op + " of " + a + " and " + b + ": expected equal shapes and types");
    }
  }

  private Tensor map(String op, Variable like, List<Tensor> in, Compute.Formula formula) {
    return compute.map(graph.name(op), like.shape(), like.dtype(), in, formula);
  }

  Variable add(Variable a, Variable b) {
    checkEqual("add", a, b);
    Tensor sum = map("add", a, List.of(a.value(), b.value()), x -> x.get(0).add(x.get(1)));
    return graph.record(
        sum,
        a.shape(),
        List.of(a, b),
        (grad, into) -> {
          into.give(0, grad);
          into.give(1, grad);
        });
  }

  Variable mul(Variable a, Variable b) {
    checkEqual("mul", a, b);
    Tensor product = map("mul", a, List.of(a.value(), b.value()), x -> x.get(0).mul(x.get(1)));
    return graph.record(
        product,
        a.shape(),
        List.of(a, b),
        (grad, into) -> {
          for (int i = 0; i < 2; i++) {
            if (into.wants(i)) {
              Tensor other = i == 0 ? b.value() : a.value();
              into.give(i, map("mul", a, List.of(grad, other), x -> x.get(0).mul(x.get(1))));
            }
          }
        });
  }

  Variable scale(Variable a, double factor) {
    return graph.record(
        map("scale", a, List.of(a.value()), x -> x.get(0).mul(factor)),
        a.shape(),
        List.of(a),
        (grad, into) -> into.give(0, map("scale", a, List.of(grad), x -> x.get(0).mul(factor))));
  }

  Variable cast(Variable a, DType to) {
    if (a.dtype() == to) {
      return a;
    }
    return graph.record(
        compute.map(graph.name("cast"), a.shape(), to, List.of(a.value()), x -> x.get(0)),
        a.shape(),
        List.of(a),
        (grad, into) -> into.give(0, map("cast", a, List.of(grad), x -> x.get(0))));
  }

  /** A function of one element, with its derivative. */
  private Variable unary(
      String op, Variable a, UnaryOperator<Value> f, UnaryOperator<Value> derivative) {
    return graph.record(
        map(op, a, List.of(a.value()), x -> f.apply(x.get(0))),
        a.shape(),
        List.of(a),
        (grad, into) ->
            into.give(
                0,
                map(
                    op,
                    a,
                    List.of(grad, a.value()),
                    x -> x.get(0).mul(derivative.apply(x.get(1))))));
  }

  Variable relu(Variable a) {
    return unary("relu", a, Activation.RELU);
  }

  Variable gelu(Variable a) {
    return unary("gelu", a, Activation.GELU);
  }

  Variable silu(Variable a) {
    return unary("silu", a, Activation.SILU);
  }

  private Variable unary(String name, Variable a, Activation of) {
    return unary(name, a, of::of, of::derivative);
  }

  Variable swiglu(Variable gate, Variable up) {
    checkEqual("swiglu", gate, up);
    DType type = gate.dtype();
    Tensor y =
        map(
            "swiglu",
            gate,
            List.of(gate.value(), up.value()),
            x -> rounded(x.get(0).silu(), type).mul(x.get(1)));
    return graph.record(
        y,
        gate.shape(),
        List.of(gate, up),
        (grad, into) -> {
          Tensor dGate = compute.empty(graph.name("swiglu"), gate.shape(), type);
          Tensor dUp = compute.empty(graph.name("swiglu"), up.shape(), type);
          compute.mapAllInto(
              graph.name("swiglu"),
              List.of(dGate, dUp),
              List.of(grad, gate.value(), up.value()),
              (tl, x) -> {
                Value derivative = Activation.SILU.derivative(x.get(1));
                Value active = rounded(x.get(1).silu(), type);
                Value toActive = rounded(x.get(0).mul(x.get(2)), type);
                return List.of(toActive.mul(derivative), x.get(0).mul(active));
              });
          into.give(0, dGate);
          into.give(1, dUp);
        });
  }

  private static Value rounded(Value v, DType type) {
    return v.cast(type).cast(Compute.working(type));
  }
}
