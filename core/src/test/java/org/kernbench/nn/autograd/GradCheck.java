package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

/**
 * Compares gradients with central differences of the same function in f64: of a random weighting of
 * all its outputs, with respect to every element of every input.
 */
final class GradCheck {
  private static final Machine MACHINE = Machines.load("tiny", List.of());
  private static final double STEP = 1e-5;

  private GradCheck() {}

  /** A function of several variables. */
  @FunctionalInterface
  interface Function {
    Variable apply(Graph graph, List<Variable> inputs);
  }

  /** Checks with normal random inputs; returns the largest relative error. */
  static double check(Function f, Shape... shapes) {
    return check(f, random(shapes), shapes);
  }

  static double check(Function f, List<double[]> inputs, Shape... shapes) {
    try (Torch torch = Torch.open(MACHINE, TorchOptions.DEFAULT.withMode(Mode.VALUES))) {
      return check(f, torch, inputs, shapes);
    }
  }

  /** Checks on a runtime that is open, with normal random inputs. */
  static double check(Function f, Torch torch, Shape... shapes) {
    return check(f, torch, random(shapes), shapes);
  }

  private static List<double[]> random(Shape... shapes) {
    Random random = new Random(5);
    List<double[]> inputs = new ArrayList<>();
    for (Shape s : shapes) {
      inputs.add(random.doubles(s.elements(), -1.5, 1.5).toArray());
    }
    return inputs;
  }

  private static double check(Function f, Torch torch, List<double[]> inputs, Shape... shapes) {
    double worst = 0;
    double[] weights = weights(torch, f, inputs, shapes);
    List<double[]> grads = gradients(torch, f, inputs, shapes, weights);
    for (int i = 0; i < shapes.length; i++) {
      for (int j = 0; j < inputs.get(i).length; j++) {
        double numeric =
            (value(torch, f, moved(inputs, i, j, STEP), shapes, weights)
                    - value(torch, f, moved(inputs, i, j, -STEP), shapes, weights))
                / (2 * STEP);
        double error = Math.abs(numeric - grads.get(i)[j]) / Math.max(1, Math.abs(numeric));
        worst = Math.max(worst, error);
      }
    }
    assertThat(worst).isLessThan(1e-8);
    return worst;
  }

  /** The value of a function. */
  static double[] run(Function f, List<double[]> inputs, Shape... shapes) {
    try (Torch torch = Torch.open(MACHINE, TorchOptions.DEFAULT.withMode(Mode.VALUES));
        Graph graph = Graph.of(torch)) {
      return f.apply(graph, variables(torch, graph, inputs, shapes)).value().toDoubles();
    }
  }

  private static List<double[]> moved(List<double[]> inputs, int i, int j, double by) {
    List<double[]> moved = new ArrayList<>(inputs);
    moved.set(i, inputs.get(i).clone());
    moved.get(i)[j] += by;
    return moved;
  }

  private static double[] weights(Torch torch, Function f, List<double[]> inputs, Shape[] shapes) {
    try (Graph graph = Graph.of(torch)) {
      long n = f.apply(graph, variables(torch, graph, inputs, shapes)).shape().elements();
      return new Random(9).doubles(n, -1, 1).toArray();
    }
  }

  private static List<Variable> variables(
      Torch torch, Graph graph, List<double[]> inputs, Shape[] shapes) {
    List<Variable> variables = new ArrayList<>();
    for (int i = 0; i < shapes.length; i++) {
      variables.add(
          graph.input(graph.own(torch.from(inputs.get(i), shapes[i], DType.F64, "x" + i))));
    }
    return variables;
  }

  private static double value(
      Torch torch, Function f, List<double[]> inputs, Shape[] shapes, double[] weights) {
    try (Graph graph = Graph.of(torch)) {
      double[] y = f.apply(graph, variables(torch, graph, inputs, shapes)).value().toDoubles();
      double sum = 0;
      for (int i = 0; i < y.length; i++) {
        sum += weights[i] * y[i];
      }
      return sum;
    }
  }

  private static List<double[]> gradients(
      Torch torch, Function f, List<double[]> inputs, Shape[] shapes, double[] weights) {
    try (Graph graph = Graph.of(torch)) {
      List<Variable> variables = variables(torch, graph, inputs, shapes);
      Variable y = f.apply(graph, variables);
      Tensor seed = graph.own(torch.from(weights, y.shape(), DType.F64, "seed"));
      graph.backward(y, seed);
      List<double[]> grads = new ArrayList<>();
      for (Variable v : variables) {
        grads.add(v.grad().orElseThrow().toDoubles());
      }
      return grads;
    }
  }
}
