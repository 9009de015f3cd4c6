package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.optim.LossScaler;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

/** The operations of mixtures of experts, against differences and plain loops. */
class ExpertOperationsTest {
  private static final int[][] CHOSEN = {{3, 0}, {1, 2}, {0, 3}};

  @Test
  void gate_gradientsAreThoseOfDifferences() {
    for (boolean softmax : List.of(true, false)) {
      for (boolean normalised : List.of(true, false)) {
        Gating gating = new Gating(4, 2, softmax, normalised, 2.5);
        GradCheck.check(
            (graph, in) -> gating.weights(graph, in.get(0), CHOSEN, Optional.empty(), () -> {}),
            Shape.of(3, 4));
      }
    }
  }

  @Test
  void gate_valuesAreThoseOfPlainLoops() {
    double[] logits = new Random(3).doubles(12, -2, 2).toArray();
    for (boolean softmax : List.of(true, false)) {
      Gating gating = new Gating(4, 2, softmax, true, 2.5);
      double[] weights =
          GradCheck.run(
              (graph, in) -> gating.weights(graph, in.get(0), CHOSEN, Optional.empty(), () -> {}),
              List.of(logits),
              Shape.of(3, 4));
      for (int row = 0; row < 3; row++) {
        int first = row * 4;
        double[] scores = new double[4];
        Arrays.setAll(
            scores,
            e -> softmax ? Math.exp(logits[first + e]) : 1 / (1 + Math.exp(-logits[first + e])));
        double sum = scores[CHOSEN[row][0]] + scores[CHOSEN[row][1]];
        for (int j = 0; j < 2; j++) {
          double want = 2.5 * scores[CHOSEN[row][j]] / sum;
          assertThat(weights[row * 2 + j]).isCloseTo(want, within(1e-13));
        }
      }
    }
  }

  /**
   * The auxiliary loss is in no value, but in gradients: as if {@code sum of a s} were added, and
   * multiplied as the loss is.
   */
  @ParameterizedTest
  @ValueSource(doubles = {1, 8})
  void auxiliary_isInGradientsAsIfAddedToTheLoss(double lossScale) {
    double[] logits = new Random(4).doubles(8, -2, 2).toArray();
    double[] more = new Random(5).doubles(8, 0, 1).toArray();
    for (boolean softmax : List.of(true, false)) {
      Gating gating = new Gating(4, 1, softmax, false, 1);
      double[] grad;
      try (Torch torch = torch("tiny");
          Graph graph = Graph.of(torch);
          Tensor in = torch.from(logits, Shape.of(2, 4), DType.F64, "logits")) {
        Variable x = graph.input(in);
        Variable w =
            gating.weights(graph, x, new int[][] {{0}, {1}}, Optional.of(() -> more), () -> {});
        LossScaler scaler = new LossScaler(LossScaler.Settings.constant(lossScale));
        graph.backward(scaler.scaled(graph, graph.weightedSum(w, new double[] {0, 0})));
        grad = x.grad().orElseThrow().toDoubles();
      }
      for (int i = 0; i < 8; i++) {
        double step = 1e-6;
        double numeric =
            (added(logits, i, step, more, softmax) - added(logits, i, -step, more, softmax))
                / (2 * step);
        assertThat(grad[i]).isCloseTo(lossScale * numeric, within(lossScale * 1e-8));
      }
    }
  }

  private static double added(double[] at, int i, double step, double[] more, boolean softmax) {
    double sum = 0;
    for (int row = 0; row < 2; row++) {
      double[] s = new double[4];
      for (int e = 0; e < 4; e++) {
        double x = at[row * 4 + e] + (row * 4 + e == i ? step : 0);
        s[e] = softmax ? Math.exp(x) : 1 / (1 + Math.exp(-x));
      }
      double all = softmax ? Arrays.stream(s).sum() : 1;
      for (int e = 0; e < 4; e++) {
        sum += more[row * 4 + e] * s[e] / all;
      }
    }
    return sum;
  }

  @Test
  void choose_takesTheHighestAndOfEqualOnesTheLowerNumber() {
    try (Torch torch = torch("tiny");
        Graph graph = Graph.of(torch);
        Tensor in =
            torch.from(
                new double[] {1, 3, 2, 3, -1, -1, -1, -1, 0, -2, 5, 4},
                Shape.of(3, 4),
                DType.F32,
                "logits")) {
      Gating gating = new Gating(4, 3, true, true, 1);
      assertThat(gating.choose(graph, graph.constant(in), Optional.empty()).toDoubles())
          .containsExactly(1, 3, 2, 0, 1, 2, 2, 3, 0);
    }
  }

  @Test
  void combine_gradientsAreThoseOfDifferences() {
    GradCheck.check(
        (graph, in) -> WeightedRows.apply(graph, in.get(0), in.get(1)),
        Shape.of(6, 5),
        Shape.of(2, 3));
  }

  private static Torch torch(String machine) {
    Machine loaded = Machines.load(machine, List.of());
    return Torch.open(loaded, TorchOptions.DEFAULT.withMode(Mode.VALUES));
  }

  /** As many linear layers by themselves: outputs and gradients have the same bits. */
  @Test
  void groupedLinear_isEachExpertsOwnToTheBit() {
    for (DType type : List.of(DType.BF16, DType.F32, DType.F64)) {
      for (int[] counts : new int[][] {{3, 0, 40}, {0, 0, 7}, {1, 1, 1}, {0, 0, 0}}) {
        grouped(counts, type);
      }
    }
  }

  private static void grouped(int[] counts, DType type) {
    int rows = Arrays.stream(counts).sum();
    int in = 24;
    int out = 20;
    Random random = new Random(9);
    try (Torch torch = torch("sip-2026");
        Graph graph = Graph.of(torch)) {
      double[] x = rounded(random, rows * in, type);
      double[] dy = rounded(random, rows * out, type);
      List<Parameter> together = new ArrayList<>();
      List<Parameter> apart = new ArrayList<>();
      for (int e = 0; e < counts.length; e++) {
        double[] w = rounded(random, out * in, type);
        for (List<Parameter> to : List.of(together, apart)) {
          Tensor value = torch.from(w, Shape.of(out, in), type, "w" + e);
          to.add(new Parameter("w" + e, value, Sharding.REPLICATED));
        }
      }
      Variable all = graph.input(torch.from(x, Shape.of(rows, in), type, "x"));
      Variable y = GroupedLinear.apply(graph, all, counts, together);
      graph.backward(y, torch.from(dy, Shape.of(rows, out), type, "dy"));
      double[] dx = all.grad().orElseThrow().toDoubles();
      int from = 0;
      for (int e = 0; e < counts.length; e++) {
        int n = counts[e];
        double[] dw = together.get(e).grad().orElseThrow().toDoubles();
        if (n == 0) {
          assertThat(dw).containsOnly(0);
          continue;
        }
        double[] part = Arrays.copyOfRange(x, from * in, (from + n) * in);
        double[] dPart = Arrays.copyOfRange(dy, from * out, (from + n) * out);
        Variable own = graph.input(torch.from(part, Shape.of(n, in), type, "x" + e));
        Variable z = graph.linear(own, apart.get(e));
        graph.backward(z, torch.from(dPart, Shape.of(n, out), type, "dy" + e));
        assertThat(Arrays.copyOfRange(y.value().toDoubles(), from * out, (from + n) * out))
            .isEqualTo(z.value().toDoubles());
        assertThat(Arrays.copyOfRange(dx, from * in, (from + n) * in))
            .isEqualTo(own.grad().orElseThrow().toDoubles());
        assertThat(dw).isEqualTo(apart.get(e).grad().orElseThrow().toDoubles());
        from += n;
      }
    }
  }

  private static double[] rounded(Random random, int n, DType type) {
    return random.doubles(n, -1, 1).map(type::round).toArray();
  }
}
