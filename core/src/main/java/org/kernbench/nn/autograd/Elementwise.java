package org.kernbench.nn.autograd;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
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

  /** What was made with the products that a gate and its other operand are, by the gate. */
  private record Activated(Tensor up, Tensor active) {}

  private final Map<Tensor, Activated> activated = new IdentityHashMap<>();

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

  /** One operation, or several of which each rounds to the type, as if its result were stored. */
  private Tensor mapRounded(String op, Variable like, List<Tensor> in, Compute.Formula formula) {
    return compute.mapRounded(graph.name(op), like.shape(), like.dtype(), in, formula);
  }

  Variable add(Variable a, Variable b) {
    checkEqual("add", a, b);
    Tensor sum = mapRounded("add", a, List.of(a.value(), b.value()), x -> x.get(0).add(x.get(1)));
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
    Tensor product =
        mapRounded("mul", a, List.of(a.value(), b.value()), x -> x.get(0).mul(x.get(1)));
    return graph.record(
        product,
        a.shape(),
        List.of(a, b),
        (grad, into) -> {
          for (int i = 0; i < 2; i++) {
            if (into.wants(i)) {
              Tensor other = i == 0 ? b.value() : a.value();
              into.give(i, mapRounded("mul", a, List.of(grad, other), x -> x.get(0).mul(x.get(1))));
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
    DType working = Compute.working(type);
    Activated made = activated.remove(gate.value());
    Tensor y =
        made != null && made.up == up.value()
            ? made.active
            : mapRounded(
                "swiglu", gate, List.of(gate.value(), up.value()), x -> swiglu(x.get(0), x.get(1)));
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
              List.of(),
              (tl, x) -> swigluBack(x.get(0), x.get(1), x.get(2), working));
          into.give(0, dGate);
          into.give(1, dUp);
        });
  }

  /** What {@code silu} gives is rounded to the operands' type, as if it had been stored. */
  static Value swiglu(Value gate, Value up) {
    return gate.silu().mul(up);
  }

  /** Says what {@link #swiglu(Variable, Variable)} is to give for a gate. */
  void isActivated(Tensor gate, Tensor up, Tensor active) {
    activated.put(gate, new Activated(up, active));
  }

  /** Gradients of gate and up: what would have been stored in between is rounded to the type. */
  private static List<Value> swigluBack(Value dy, Value gate, Value up, DType working) {
    Value wide = gate.cast(working);
    Value derivative = Activation.SILU.derivative(wide);
    Value toActive = dy.mul(up).cast(working);
    return List.of(toActive.mul(derivative), dy.mul(gate.silu()));
  }
}
