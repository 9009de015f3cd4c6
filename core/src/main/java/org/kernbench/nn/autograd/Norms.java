package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * Normalisation of rows: to mean 0 and variance 1 (layer norm), or to mean square 1 (RMS norm),
 * then a scale and a shift per column. Mean and deviation are computed again in the backward pass,
 * which costs less than to keep them.
 */
final class Norms implements Dependent {
  private final Graph graph;
  private final Compute compute;
  private final boolean centred;
  private final double epsilon;

  Norms(Graph graph, boolean centred, double epsilon) {
    this.graph = graph;
    this.compute = graph.compute();
    this.centred = centred;
    this.epsilon = epsilon;
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(centred, epsilon);
  }

  Variable apply(Variable x, Variable weight, @Nullable Variable bias) {
    int columns = x.columns();
    String name = graph.name(centred ? "layernorm" : "rmsnorm");
    Tensor y = compute.empty(name, x.shape(), x.dtype());
    List<RowArg> in = new ArrayList<>();
    in.add(RowArg.rows(x.value(), columns));
    in.add(RowArg.once(graph.near(weight), columns));
    List<Variable> operands = new ArrayList<>(List.of(x, weight));
    if (bias != null) {
      in.add(RowArg.once(graph.near(bias), columns));
      operands.add(bias);
    }
    compute.rows(
        name,
        x.rows(),
        in,
        List.of(RowArg.rows(y, columns)),
        (tl, v) -> {
          Value scaled = normalised(v.get(0)).unit().mul(v.get(1));
          return List.of(v.size() > 2 ? scaled.add(v.get(2)) : scaled);
        });
    return graph.record(
        y, x.shape(), operands, (grad, into) -> backward(x, weight, bias, grad, into));
  }

  /** Rows of mean square 1, and the factor that made them so. */
  private record Normalised(Value unit, Value factor) {}

  private Normalised normalised(Value x) {
    int n = x.shape().dim(1);
    Value shifted = centred ? x.sub(rowSum(x).mul(1.0 / n)) : x;
    Value factor = rowSum(shifted.mul(shifted)).mul(1.0 / n).add(epsilon).rsqrt();
    return new Normalised(shifted.mul(factor), factor);
  }

  private static Value rowSum(Value x) {
    return x.sum(1).expandDims(1);
  }

  private Tensor sums(String name, Variable of, Optional<Tensor> home) {
    return home.orElseGet(() -> compute.empty(name, of.shape(), of.gradientType()));
  }

  private void backward(
      Variable x, Variable weight, @Nullable Variable bias, Tensor grad, Graph.Sink into) {
    int columns = x.columns();
    String name = graph.name(centred ? "layernorm" : "rmsnorm");
    Tensor dx = compute.empty(name, x.shape(), x.dtype());
    Tensor dw = sums(name + "-weight", weight, into.home(1));
    List<RowArg> out = new ArrayList<>(List.of(RowArg.rows(dx, columns), RowArg.once(dw, columns)));
    if (bias != null) {
      Tensor db = sums(name + "-bias", bias, into.home(2));
      out.add(RowArg.once(db, columns));
    }
    boolean shifts = bias != null;
    compute.rows(
        name,
        x.rows(),
        List.of(
            RowArg.rows(x.value(), columns),
            RowArg.once(graph.near(weight), columns),
            RowArg.rows(grad, columns)),
        out,
        (tl, v) -> {
          Normalised n = normalised(v.get(0));
          Value dy = v.get(2);
          Value g = dy.mul(v.get(1));
          Value along = n.unit.mul(rowSum(g.mul(n.unit)).mul(1.0 / columns));
          Value rest = centred ? g.sub(rowSum(g).mul(1.0 / columns)) : g;
          List<Value> results = new ArrayList<>();
          results.add(rest.sub(along).mul(n.factor));
          results.add(dy.mul(n.unit).sum(0).reshape(1, columns));
          if (shifts) {
            results.add(dy.sum(0).reshape(1, columns));
          }
          return results;
        });
    into.give(0, dx);
    into.give(1, dw);
    if (bias != null) {
      into.give(2, out.get(2).tensor());
    }
  }
}
