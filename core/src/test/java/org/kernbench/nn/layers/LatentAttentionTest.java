package org.kernbench.nn.layers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.autograd.TrainingRun;
import org.kernbench.nn.autograd.TrainingRun.How;
import org.kernbench.nn.autograd.TrainingRun.Result;
import org.kernbench.nn.autograd.TrainingRun.Setup;
import org.kernbench.nn.autograd.TrainingRun.Training;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.layers.TransformerConfig.Latent;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Worker;

/** Latent attention against plain loops, its gradient against differences, layouts against one. */
class LatentAttentionTest {
  private static final int LENGTH = 5;
  private static final int BATCH = 2;
  private static final int HIDDEN = 6;
  private static final int HEADS = 2;
  private static final Latent LATENT = new Latent(5, 4, 3, 2, 7);

  private static TransformerConfig model(Latent latent, int heads, int hidden) {
    return new TransformerConfig(
            "m", hidden, 2, heads, heads, 2, 24, 12, 24, TransformerConfig.Style.LLAMA)
        .with(latent);
  }

  private static double[] random(int seed, int n) {
    return new Random(seed).doubles(n, -1, 1).toArray();
  }

  /** What the layer makes, with its gradients: of x, and of every parameter by name. */
  private record Found(double[] y, Map<String, double[]> weights, Map<String, double[]> grads) {}

  private static Found run(Latent latent, double[] inputs, Map<String, double[]> changed) {
    Found[] found = new Found[1];
    Ranks.run(1, Mode.VALUES, w -> found[0] = run(w, latent, inputs, changed));
    return found[0];
  }

  private static Found run(
      Worker w, Latent latent, double[] inputs, Map<String, double[]> changed) {
    Torch torch = w.torch();
    ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 1, false);
    Init init = new Init(torch, DType.F64, 3, 0.6).withSpread();
    SelfAttention attention =
        new SelfAttention("attention", model(latent, HEADS, HIDDEN), layout, init);
    Map<String, double[]> weights = new HashMap<>();
    Map<String, double[]> grads = new HashMap<>();
    for (Parameter p : attention.parameters()) {
      if (changed.containsKey(p.name())) {
        p.value().copyInPlace(changed.get(p.name()));
      }
      weights.put(p.name(), p.value().toDoubles());
    }
    Shape shape = Shape.of(LENGTH, BATCH, HIDDEN);
    try (Graph graph = Graph.of(torch);
        Tensor x = torch.from(inputs, shape, DType.F64, "x");
        Tensor dy = torch.from(random(9, inputs.length), shape, DType.F64, "dy")) {
      Variable in = graph.input(x);
      Variable y = attention.forward(graph, in, new SequencePart(LENGTH, 1, 0));
      graph.backward(y, dy);
      grads.put("x", in.grad().orElseThrow().toDoubles());
      attention.parameters().forEach(p -> grads.put(p.name(), p.grad().orElseThrow().toDoubles()));
      return new Found(y.value().toDoubles(), weights, grads);
    }
  }

  @Test
  void values_areThoseOfPlainLoops() {
    for (Latent latent : new Latent[] {LATENT, new Latent(0, 4, 3, 2, 7)}) {
      double[] x = random(1, LENGTH * BATCH * HIDDEN);
      Found found = run(latent, x, Map.of());
      assertThat(found.y).containsExactly(new Plain(latent, found.weights).of(x), within(1e-13));
    }
  }

  /** Of the input and of every element of every parameter, by differences of the plain loops. */
  @Test
  void gradients_areThoseOfDifferences() {
    double[] x = random(1, LENGTH * BATCH * HIDDEN);
    Found found = run(LATENT, x, Map.of());
    Map<String, double[]> all = new HashMap<>(found.weights);
    all.put("x", x);
    assertThat(found.grads.keySet()).isEqualTo(all.keySet());
    for (String name : all.keySet()) {
      double[] grad = found.grads.get(name);
      for (int i = 0; i < grad.length; i++) {
        double more = sum(all, name, i, 1e-5);
        double less = sum(all, name, i, -1e-5);
        assertThat(grad[i]).as(name + " " + i).isCloseTo((more - less) / 2e-5, within(1e-8));
      }
    }
  }

  private static double sum(Map<String, double[]> all, String name, int at, double by) {
    Map<String, double[]> moved = new HashMap<>(all);
    moved.put(name, all.get(name).clone());
    moved.get(name)[at] += by;
    double[] y = new Plain(LATENT, moved).of(moved.get("x"));
    double[] dy = random(9, y.length);
    double sum = 0;
    for (int i = 0; i < y.length; i++) {
      sum += dy[i] * y[i];
    }
    return sum;
  }

  /** The layer by the equations of the paper, sample by sample, head by head. */
  private static final class Plain {
    private final Latent latent;
    private final Map<String, double[]> weights;

    Plain(Latent latent, Map<String, double[]> weights) {
      this.latent = latent;
      this.weights = weights;
    }

    private double[] times(String name, double[] x) {
      double[] matrix = weights.get("attention." + name + ".weight");
      double[] y = new double[matrix.length / x.length];
      for (int i = 0; i < matrix.length; i++) {
        y[i / x.length] += matrix[i] * x[i % x.length];
      }
      return y;
    }

    private double[] normed(String name, double[] x) {
      double[] factors = weights.get("attention." + name + ".weight");
      double mean = 0;
      for (double v : x) {
        mean += v * v / x.length;
      }
      double[] y = new double[x.length];
      for (int i = 0; i < y.length; i++) {
        y[i] = x[i] / Math.sqrt(mean + 1e-5) * factors[i];
      }
      return y;
    }

    /** Two elements are turned: by one angle for each position, in radians. */
    private static double[] turned(double[] pair, int position) {
      double c = Math.cos(position);
      double s = Math.sin(position);
      return new double[] {pair[0] * c - pair[1] * s, pair[0] * s + pair[1] * c};
    }

    double[] of(double[] x) {
      double[] y = new double[x.length];
      for (int b = 0; b < BATCH; b++) {
        double[][] q = new double[LENGTH][];
        double[][] k = new double[LENGTH][];
        double[][] v = new double[LENGTH][];
        for (int t = 0; t < LENGTH; t++) {
          double[] token = new double[HIDDEN];
          System.arraycopy(x, (t * BATCH + b) * HIDDEN, token, 0, HIDDEN);
          double[] forQueries =
              latent.queryRank() == 0
                  ? token
                  : normed("query_down_norm", times("query_down", token));
          q[t] = times("query", forQueries);
          for (int h = 0; h < HEADS; h++) {
            int at = h * 5 + 3;
            double[] pair = turned(new double[] {q[t][at], q[t][at + 1]}, t);
            q[t][at] = pair[0];
            q[t][at + 1] = pair[1];
          }
          double[] down = times("key_down", token);
          double[] few = normed("key_down_norm", java.util.Arrays.copyOf(down, 4));
          double[] shared = turned(new double[] {down[4], down[5]}, t);
          double[] own = times("key", few);
          k[t] = new double[HEADS * 5];
          for (int h = 0; h < HEADS; h++) {
            System.arraycopy(own, h * 3, k[t], h * 5, 3);
            System.arraycopy(shared, 0, k[t], h * 5 + 3, 2);
          }
          v[t] = times("value", few);
        }
        for (int t = 0; t < LENGTH; t++) {
          double[] out = times("output", attended(q, k, v, t));
          System.arraycopy(out, 0, y, (t * BATCH + b) * HIDDEN, HIDDEN);
        }
      }
      return y;
    }

    private static double[] attended(double[][] q, double[][] k, double[][] v, int t) {
      double[] y = new double[HEADS * 7];
      for (int h = 0; h < HEADS; h++) {
        double[] e = new double[t + 1];
        double sum = 0;
        for (int u = 0; u <= t; u++) {
          double dot = 0;
          for (int i = h * 5; i < h * 5 + 5; i++) {
            dot += q[t][i] * k[u][i];
          }
          e[u] = Math.exp(dot / Math.sqrt(5));
          sum += e[u];
        }
        for (int u = 0; u <= t; u++) {
          for (int i = h * 7; i < h * 7 + 7; i++) {
            y[i] += e[u] / sum * v[u][i];
          }
        }
      }
      return y;
    }
  }

  @ParameterizedTest
  @CsvSource({
    "2, 1, 1, ALL_GATHER",
    "1, 2, 1, ALL_GATHER",
    "1, 3, 1, RING",
    "2, 2, 1, ALL_TO_ALL",
    "4, 1, 2, ALL_GATHER"
  })
  void twoSteps_equalOneRank(int tp, int cp, int dp, ContextExchange exchange) {
    TransformerConfig config = model(new Latent(10, 6, 3, 2, 4), 4, 16);
    for (boolean sp : new boolean[] {false, true}) {
      How how = How.PLAIN.with(exchange);
      Setup setup = new Setup(config, 24, 4, 2, Training.SGD, tp, cp, dp, sp, how, Recipe.STANDARD);
      Result one = TrainingRun.of(setup.onOneRank());
      Result got = TrainingRun.of(setup);
      assertThat(got.unequal()).isEmpty();
      assertThat(TrainingRun.lossError(got, one)).isLessThan(1e-10);
      assertThat(TrainingRun.worst(got.grads(), one.grads())).isLessThan(1e-10);
      assertThat(TrainingRun.worst(got.parameters(), one.parameters())).isLessThan(1e-10);
    }
  }
}
