package org.kernbench.nn.layers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.experts.ExpertCosts;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.experts.Routing;
import org.kernbench.nn.optim.Communication;
import org.kernbench.nn.optim.Communication.Line;
import org.kernbench.nn.optim.Communication.Phase;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveOp;

/** A layer of experts: what it sends, and its values against plain loops. */
class MoELayerTest {
  private static final int LENGTH = 8;
  private static final int BATCH = 2;
  private static final int HIDDEN = 16;

  private static double[] inputs(int first) {
    double[] x = new double[LENGTH * BATCH * HIDDEN];
    for (int i = 0; i < x.length; i++) {
      int sample = first + i / HIDDEN % BATCH;
      int position = i / HIDDEN / BATCH;
      x[i] = Math.sin(1 + i % HIDDEN * 0.7 + position * 1.3 + sample * 2.1);
    }
    return x;
  }

  private record Step(MoELayer layer, double[] y) {}

  /** Forwards and backwards on a data-parallel rank. */
  private static Step step(
      Worker w, ExpertsConfig config, int dp, int ep, int etp, boolean values) {
    ParallelLayout layout =
        ParallelLayout.create(w.distributed(), 1, 1, dp, false, new ExpertGroups.Sizes(ep, etp));
    MoELayer layer = new MoELayer("experts", 0, HIDDEN, config, layout, init(w));
    double[] y = pass(w, layer, layout.dp().rank() * BATCH, BATCH, true);
    return new Step(layer, values ? y : new double[0]);
  }

  private static Init init(Worker w) {
    return new Init(w.torch(), DType.F64, 7, 0.3).withSpread();
  }

  private static double[] pass(Worker w, MoELayer layer, int first, int apart, boolean learns) {
    SequencePart part = new SequencePart(LENGTH, 1, 0).ofSamples(first, apart);
    Shape shape = Shape.of(LENGTH, BATCH, HIDDEN);
    try (Graph graph = Graph.of(w.torch());
        Tensor x = w.torch().from(inputs(first), shape, DType.F64, "x")) {
      Variable in = graph.input(x);
      Variable y = layer.forward(graph, in, part);
      if (learns) {
        graph.backward(y, x);
      }
      return w.torch().simulator().mode() == Mode.TIME ? new double[0] : y.value().toDoubles();
    }
  }

  private static Map<String, Long> sent(Communication of, CollectiveOp op) {
    Map<String, Long> bytes = new TreeMap<>();
    for (Line line : of.lines()) {
      if (line.op() == op) {
        String where = line.place() + " " + line.phase();
        bytes.merge(where, line.sentBytes().orElseThrow(), Long::sum);
      }
    }
    return bytes;
  }

  /** With all experts as busy, ranks send what the closed form says, to the byte. */
  @Test
  void bytes_ofEvenRouting_areThoseOfTheClosedForm() {
    ExpertsConfig config = ExpertsConfig.of(8, 2, 12).with(new Routing.Even());
    for (int ep : List.of(2, 4)) {
      Communication counted = Ranks.communication(4, w -> step(w, config, 4, ep, 1, false));
      double each = ExpertCosts.dispatchBytes(LENGTH * BATCH, 2, HIDDEN, 8, ep);
      assertThat(sent(counted, CollectiveOp.ALL_TO_ALL))
          .isEqualTo(
              Map.of(
                  "experts.dispatch " + Phase.FORWARD, (long) (4 * each),
                  "experts.dispatch " + Phase.BACKWARD, (long) (4 * each),
                  "experts.combine " + Phase.FORWARD, (long) (4 * each),
                  "experts.combine " + Phase.BACKWARD, (long) (4 * each)));
    }
  }

  /** With any routing they send the copies that go elsewhere, and nothing else. */
  @Test
  void bytes_ofAnyRouting_areThoseOfTheCopiesThatGoElsewhere() {
    ExpertsConfig config = ExpertsConfig.of(8, 2, 12).with(new Routing.Drawn(2, 1.5));
    long copies = 0;
    for (int sample = 0; sample < 4 * BATCH; sample++) {
      for (int position = 0; position < LENGTH; position++) {
        for (int e : config.routing().of(config, 0, sample, position, LENGTH)) {
          copies += e / 2 == sample / BATCH ? 0 : 1;
        }
      }
    }
    Communication counted = Ranks.communication(4, w -> step(w, config, 4, 4, 1, false));
    long bytes = copies * HIDDEN * 8;
    assertThat(sent(counted, CollectiveOp.ALL_TO_ALL).values()).containsOnly(bytes);
  }

  /** The whole layer by plain loops: scores, experts, weights, capacity. */
  @Test
  void values_areThoseOfPlainLoops() {
    for (double capacity : List.of(0.0, 0.5)) {
      ExpertsConfig config = ExpertsConfig.of(4, 2, 12).withLimits(0.1, capacity);
      double[][] found = new double[2][];
      int[] dropped = new int[2];
      Ranks.run(
          2,
          Mode.VALUES,
          w -> {
            Step step = step(w, config, 2, 2, 1, true);
            found[w.rank()] = step.y;
            dropped[w.rank()] = step.layer.latest().orElseThrow().dropped();
          });
      Plain plain = new Plain(config);
      for (int rank = 0; rank < 2; rank++) {
        double[] want = plain.of(inputs(rank * BATCH));
        assertThat(found[rank]).containsExactly(want, within(1e-12));
        assertThat(dropped[rank]).isEqualTo(plain.dropped);
        assertThat(plain.dropped > 0).isEqualTo(capacity > 0);
      }
    }
  }

  /** Sigmoids, of which the best of the best groups are taken, with their own sums. */
  @Test
  void values_ofGroups_areThoseOfPlainLoops() {
    for (int taken = 1; taken <= 3; taken++) {
      ExpertsConfig config =
          ExpertsConfig.of(9, 2, 12)
              .with(ExpertsConfig.Scoring.SIGMOID, true, 2.5)
              .with(new ExpertsConfig.Groups(3, taken));
      double[][] found = new double[1][];
      Ranks.run(1, Mode.VALUES, w -> found[0] = step(w, config, 1, 1, 1, true).y);
      assertThat(found[0]).containsExactly(new Plain(config).of(inputs(0)), within(1e-12));
    }
  }

  /** A bias moves the choice, of groups too, but not how much an expert counts. */
  @Test
  void values_withABias_areThoseOfPlainLoops() {
    for (ExpertsConfig.Scoring scoring : ExpertsConfig.Scoring.values()) {
      ExpertsConfig plain =
          ExpertsConfig.of(9, 2, 12).with(scoring, true, 2.5).with(new ExpertsConfig.Groups(3, 2));
      ExpertsConfig biased = plain.withBalance(0.01);
      double[][] found = new double[1][];
      Ranks.run(1, Mode.VALUES, w -> found[0] = step(w, biased, 1, 1, 1, true).y);
      double[] expected = new Plain(biased).of(inputs(0));
      assertThat(found[0]).containsExactly(expected, within(1e-12));
      assertThat(expected).isNotEqualTo(new Plain(plain).of(inputs(0)));
    }
  }

  /**
   * The bias goes by what the tokens of all ranks and both microbatches chose, once for each
   * backward pass, and is one and the same on all ranks.
   */
  @Test
  void bias_afterAStep_goesByTheLoadsOfAllRanks() {
    ExpertsConfig config =
        ExpertsConfig.of(6, 2, 12)
            .with(ExpertsConfig.Scoring.SIGMOID, true, 1)
            .withLimits(0, 0.5)
            .withBalance(0.125);
    double[][] found = new double[2][];
    long[][] loads = new long[2][];
    Ranks.run(
        2,
        Mode.VALUES,
        w -> {
          ParallelLayout layout =
              ParallelLayout.create(w.distributed(), 1, 1, 2, false, new ExpertGroups.Sizes(2, 1));
          MoELayer layer = new MoELayer("experts", 0, HIDDEN, config, layout, init(w));
          for (int microbatch = 0; microbatch < 2; microbatch++) {
            pass(w, layer, (layout.dp().rank() * 2 + microbatch) * BATCH, 2 * BATCH, true);
          }
          pass(w, layer, 100 + layout.dp().rank() * BATCH, BATCH, false); // nobody learns from it
          loads[w.rank()] = layer.loads();
          layer.balance(w.torch());
          assertThat(layer.loads()).containsOnly(0);
          found[w.rank()] = layer.bias().orElseThrow().value().toDoubles();
        });
    Plain plain = new Plain(config);
    for (int first = 0; first < 4; first++) {
      plain.of(inputs(first * BATCH));
    }
    double[] expected = plain.weights.get("experts.router.bias").clone();
    double mean = 4.0 * LENGTH * BATCH * 2 / 6;
    for (int e = 0; e < 6; e++) {
      expected[e] += 0.125 * Math.signum(mean - plain.loads[e]);
    }
    assertThat(loads[0]).containsExactly(plain.loads);
    assertThat(loads[1]).containsExactly(plain.loads);
    for (double[] bias : found) {
      assertThat(bias).containsExactly(expected, within(1e-15));
    }
  }

  /** A bias that is balanced makes the busiest expert less busy. */
  @Test
  void bias_overSteps_evensLoads() {
    ExpertsConfig config =
        ExpertsConfig.of(8, 2, 12).with(ExpertsConfig.Scoring.SIGMOID, true, 1).withBalance(0.05);
    long[] most = new long[40];
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          ParallelLayout layout =
              ParallelLayout.create(w.distributed(), 1, 1, 1, false, new ExpertGroups.Sizes(1, 1));
          MoELayer layer = new MoELayer("experts", 0, HIDDEN, config, layout, init(w));
          for (int step = 0; step < most.length; step++) {
            pass(w, layer, 0, BATCH, true);
            most[step] = java.util.Arrays.stream(layer.loads()).max().orElseThrow();
            layer.balance(w.torch());
          }
        });
    long mean = LENGTH * BATCH * 2 / 8;
    assertThat(most[0]).isGreaterThan(2 * mean);
    assertThat(most[most.length - 1]).isLessThan(2 * mean);
  }

  /** One rank's layer without any of the product's parts but its first values. */
  private static final class Plain {
    private final ExpertsConfig config;
    private final Map<String, double[]> weights = new TreeMap<>();
    private final long[] loads;
    private int dropped;

    Plain(ExpertsConfig config) {
      this.config = config;
      this.loads = new long[config.experts()];
      Ranks.run(
          1,
          Mode.VALUES,
          w ->
              step(w, config, 1, 1, 1, false)
                  .layer
                  .parameters()
                  .forEach(p -> weights.put(p.name(), p.value().toDoubles())));
    }

    double[] of(double[] x) {
      double[] y = new double[x.length];
      dropped = 0;
      int most =
          config.capacity() == 0
              ? LENGTH
              : (int) Math.ceil(config.capacity() * LENGTH * 2 / config.experts());
      for (int b = 0; b < BATCH; b++) {
        int[] taken = new int[config.experts()];
        for (int position = 0; position < LENGTH; position++) {
          token(x, y, (position * BATCH + b) * HIDDEN, taken, most);
        }
      }
      return y;
    }

    private void token(double[] x, double[] y, int at, int[] taken, int most) {
      double[] logits = product(weights.get("experts.router.weight"), x, at, HIDDEN);
      boolean sigmoid = config.scoring() == ExpertsConfig.Scoring.SIGMOID;
      if (sigmoid) {
        for (int e = 0; e < logits.length; e++) {
          logits[e] = 1 / (1 + Math.exp(-logits[e]));
        }
      }
      double[] allowed = ofBestGroups(biased(logits, sigmoid));
      int first = best(allowed, -1);
      int second = best(allowed, first);
      loads[first]++;
      loads[second]++;
      double a = sigmoid ? logits[first] : Math.exp(logits[first]);
      double b = sigmoid ? logits[second] : Math.exp(logits[second]);
      for (int e : new int[] {first, second}) {
        if (taken[e]++ >= most) {
          dropped++;
          continue;
        }
        double[] up = product(weights.get("experts." + e + ".up.weight"), x, at, HIDDEN);
        double[] gate = product(weights.get("experts." + e + ".gate.weight"), x, at, HIDDEN);
        for (int i = 0; i < up.length; i++) {
          up[i] *= gate[i] / (1 + Math.exp(-gate[i]));
        }
        double[] out = product(weights.get("experts." + e + ".down.weight"), up, 0, up.length);
        for (int i = 0; i < HIDDEN; i++) {
          y[at + i] += out[i] * (e == first ? a : b) / (a + b) * config.scale();
        }
      }
    }

    /** What experts are chosen by. */
    private double[] biased(double[] logits, boolean sigmoid) {
      if (!config.isBalanced()) {
        return logits;
      }
      double[] bias = weights.get("experts.router.bias");
      double sum = java.util.Arrays.stream(logits).map(Math::exp).sum();
      double[] all = new double[logits.length];
      for (int e = 0; e < all.length; e++) {
        all[e] = (sigmoid ? logits[e] : Math.exp(logits[e]) / sum) + bias[e];
      }
      return all;
    }

    /** Scores, and -1 for experts of groups whose two best have smaller sums than others. */
    private double[] ofBestGroups(double[] scores) {
      int groups = config.groups().count();
      int each = scores.length / groups;
      List<Integer> order = new java.util.ArrayList<>();
      double[] sums = new double[groups];
      for (int g = 0; g < groups; g++) {
        double[] own = java.util.Arrays.copyOfRange(scores, g * each, (g + 1) * each);
        java.util.Arrays.sort(own);
        sums[g] = own[each - 1] + (each > 1 ? own[each - 2] : 0);
        order.add(g);
      }
      order.sort((g, h) -> Double.compare(sums[h], sums[g]));
      double[] allowed = scores.clone();
      for (int g : order.subList(config.groups().taken(), groups)) {
        java.util.Arrays.fill(allowed, g * each, (g + 1) * each, -1e300);
      }
      return allowed;
    }

    private static int best(double[] of, int but) {
      int best = -1;
      for (int e = 0; e < of.length; e++) {
        if (e != but && (best < 0 || of[e] > of[best])) {
          best = e;
        }
      }
      return best;
    }

    private static double[] product(double[] matrix, double[] x, int at, int width) {
      double[] y = new double[matrix.length / width];
      for (int i = 0; i < matrix.length; i++) {
        y[i / width] += matrix[i] * x[at + i % width];
      }
      return y;
    }
  }

  /** Without values nobody knows the scores. */
  @Test
  void byScore_withoutValues_isRefused() {
    ExpertsConfig config = ExpertsConfig.of(4, 2, 12);
    assertThatThrownBy(() -> Ranks.communication(2, w -> step(w, config, 2, 2, 1, false)))
        .hasStackTraceContaining("expected another routing in mode time, e.g. drawn");
  }

  @Test
  void layout_thatCannotDivide_isRefused() {
    ExpertsConfig config = ExpertsConfig.of(3, 2, 12);
    assertThatThrownBy(() -> Ranks.run(2, Mode.TIME, w -> step(w, config, 2, 2, 1, false)))
        .hasStackTraceContaining("expected ep and etp that divide them");
    assertThatThrownBy(() -> ExpertsConfig.of(3, 4, 12)).isInstanceOf(LayoutException.class);
  }
}
