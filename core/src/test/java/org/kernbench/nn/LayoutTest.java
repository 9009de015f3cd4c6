package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Worker;

/**
 * Loss and gradients of a small transformer do not depend on the layout: each is compared with the
 * run on one rank, in f64, before any optimizer.
 */
final class LayoutTest {
  private static final TransformerConfig GPT =
      new TransformerConfig("gpt", 24, 2, 12, 12, 2, 48, 24, 24, TransformerConfig.Style.GPT);
  private static final TransformerConfig LLAMA =
      new TransformerConfig("llama", 24, 2, 24, 12, 2, 36, 24, 24, TransformerConfig.Style.LLAMA);
  private static final int SEQUENCE = 24;
  private static final int SAMPLES = 4;

  private static final int STEPS = 3;
  private static final double RATE = 0.05;

  /** How parameters change after the gradients are known. */
  private enum Training {
    SGD,
    ADAM;

    Optimizer of(Worker w, List<Parameter> parameters) {
      return this == SGD
          ? new Sgd(w.torch(), parameters, RATE)
          : new AdamW(w.torch(), parameters, AdamW.Settings.of(RATE));
    }
  }

  /** The loss of each step, the first step's gradients, and the parameters after the last. */
  private record Result(
      double[] losses, Map<String, double[]> grads, Map<String, double[]> parameters) {}

  /** Collects what the ranks have, and puts parts together. */
  private static final class Collected {
    final double[] losses = new double[STEPS];
    final Map<String, SortedMap<Integer, double[]>> grads = new TreeMap<>();
    final Map<String, SortedMap<Integer, double[]>> parameters = new TreeMap<>();
    final Map<String, Parameter> shapes = new LinkedHashMap<>();

    static void add(
        Map<String, SortedMap<Integer, double[]>> to, Worker w, Parameter p, double[] values) {
      to.computeIfAbsent(p.name(), n -> new TreeMap<>()).put(w.rank(), values);
    }

    Map<String, double[]> whole(Map<String, SortedMap<Integer, double[]>> parts, int tp) {
      Map<String, double[]> whole = new TreeMap<>();
      parts.forEach(
          (name, each) -> whole.put(name, join(shapes.get(name), List.copyOf(each.values()), tp)));
      return whole;
    }
  }

  private static Result run(
      TransformerConfig config, Training training, int tp, int cp, int dp, boolean sp) {
    Collected all = new Collected();
    Ranks.run(tp * cp * dp, Mode.VALUES, w -> body(w, config, training, tp, cp, dp, sp, all));
    return new Result(all.losses, all.whole(all.grads, tp), all.whole(all.parameters, tp));
  }

  private static void body(
      Worker w,
      TransformerConfig config,
      Training training,
      int tp,
      int cp,
      int dp,
      boolean sp,
      Collected all) {
    ParallelLayout layout = ParallelLayout.create(w.distributed(), tp, cp, dp, sp);
    Transformer model = new Transformer(config, layout, new Init(w.torch(), DType.F64, 7, 0.2));
    SequencePart part = new SequencePart(SEQUENCE, cp, layout.cp().rank());
    int batch = SAMPLES / dp;
    int first = layout.dp().rank() * batch;
    int[] at = part.own();
    int[] ids = new int[at.length * batch];
    int[] targets = new int[ids.length];
    double[] mask = new double[ids.length];
    int tokens = 0;
    for (int i = 0; i < at.length; i++) {
      for (int b = 0; b < batch; b++) {
        int sample = first + b;
        int k = i * batch + b;
        ids[k] = (at[i] * 7 + sample * 5 + at[i] * at[i]) % config.vocabulary();
        targets[k] = (at[i] * 11 + sample * 3 + 1) % config.vocabulary();
        // the last sample has few tokens, so that some context-parallel ranks have none of it
        mask[k] = at[i] < SEQUENCE - 7 * sample - 1 ? 1 : 0;
        tokens += (int) mask[k];
      }
    }
    GradientSync sync = new GradientSync(w.torch(), layout);
    List<Parameter> parameters = model.parameters();
    try (Optimizer optimizer = training.of(w, parameters)) {
      for (int step = 0; step < STEPS; step++) {
        model.zeroGrad();
        try (Graph graph = Graph.of(w.torch())) {
          Variable perToken = model.forward(graph, ids, targets, batch, part);
          Variable sum = graph.weightedSum(perToken, mask);
          graph.backward(sum);
          if (layout.tp().rank() == 0) {
            double own = sum.value().get(0); // other ranks go on meanwhile
            all.losses[step] += own;
          }
        }
        sync.sum(parameters);
        sync.divideByTokens(parameters, tokens);
        if (step == 0) {
          for (Parameter p : parameters) {
            all.shapes.putIfAbsent(p.name(), p);
            Collected.add(all.grads, w, p, p.grad().orElseThrow().toDoubles());
          }
        }
        sync.clip(parameters, 1);
        optimizer.step();
      }
    }
    for (Parameter p : parameters) {
      Collected.add(all.parameters, w, p, p.value().toDoubles());
    }
  }

  /** Ranks come in order tp fastest; replicas must be equal to the bit. */
  private static double[] join(Parameter p, List<double[]> parts, int tp) {
    for (int i = tp; i < parts.size(); i++) {
      assertThat(parts.get(i)).as(p.name() + " on rank " + i).isEqualTo(parts.get(i % tp));
    }
    if (p.sharding().axis().isEmpty()) {
      for (int i = 1; i < parts.size(); i++) {
        assertThat(parts.get(i)).as(p.name() + " on rank " + i).isEqualTo(parts.get(0));
      }
      return parts.get(0);
    }
    int axis = p.sharding().axis().getAsInt();
    int inner = (int) p.shape().inner(axis) * p.shape().dim(axis);
    int outer = (int) p.shape().outer(axis);
    double[] all = new double[inner * outer * tp];
    for (int r = 0; r < tp; r++) {
      for (int o = 0; o < outer; o++) {
        System.arraycopy(parts.get(r), o * inner, all, (o * tp + r) * inner, inner);
      }
    }
    return all;
  }

  private static double norm(double[] a) {
    double sum = 0;
    for (double x : a) {
      sum += x * x;
    }
    return Math.sqrt(sum);
  }

  private static double distance(double[] a, double[] b) {
    double[] difference = new double[a.length];
    for (int i = 0; i < a.length; i++) {
      difference[i] = a[i] - b[i];
    }
    return norm(difference);
  }

  /** Runs on one rank, by configuration and training. */
  private static final Map<List<Object>, Result> ONE_RANK =
      new java.util.concurrent.ConcurrentHashMap<>();

  private static Result oneRank(TransformerConfig config, Training training) {
    return ONE_RANK.computeIfAbsent(
        List.of(config, training), k -> run(config, training, 1, 1, 1, false));
  }

  /** Every layout runs one style with one optimizer; together both of both occur in each kind. */
  @ParameterizedTest
  @CsvSource({
    "2,1,1,true", "1,2,1,false", "1,1,2,false", // 2 ranks
    "2,2,1,true", "2,1,2,false", "1,4,1,false", // 4
    "6,1,1,true", "3,2,1,false", "1,3,2,false", // 6
    "2,2,2,true", "12,1,1,true", "4,2,2,true", // 8, 12, 16
  })
  void layout_lossGradientsAndSteps_equalOneRank(int tp, int cp, int dp, boolean sp) {
    check(tp, cp, dp, sp);
  }

  /** The rest of the grid; together 36 layouts. */
  @Tag("slow")
  @ParameterizedTest
  @CsvSource({
    "2,1,1,false", "4,1,1,false", "4,1,1,true", "2,2,1,false", "2,1,2,true", "1,2,2,false",
    "1,1,4,false", "6,1,1,false", "3,2,1,true", "2,3,1,true", "3,1,2,true", "1,6,1,false",
    "4,2,1,true", "2,4,1,true", "2,2,2,false", "4,1,2,true", "1,2,4,false", "6,2,1,false",
    "3,4,1,true", "3,2,2,true", "2,3,2,true", "2,4,2,true", "2,2,4,true", "4,1,4,false",
  })
  void layoutGrid_lossGradientsAndSteps_equalOneRank(int tp, int cp, int dp, boolean sp) {
    check(tp, cp, dp, sp);
  }

  private static void check(int tp, int cp, int dp, boolean sp) {
    TransformerConfig config = (tp + cp + (sp ? 1 : 0)) % 2 == 0 ? GPT : LLAMA;
    Training training = (tp + dp) % 2 == 0 ? Training.SGD : Training.ADAM;
    Result expected = oneRank(config, training);
    Result got = run(config, training, tp, cp, dp, sp);
    for (int step = 0; step < STEPS; step++) {
      assertThat(Math.abs(got.losses[step] / expected.losses[step] - 1)).isLessThan(1e-10);
    }
    assertThat(worst(got.grads, expected.grads)).as("gradients").isLessThan(1e-10);
    // Adam divides by the size of the gradient, so elements whose gradient is nearly zero magnify
    // its rounding; SGD does not
    assertThat(worst(got.parameters, expected.parameters))
        .as("after steps")
        .isLessThan(training == Training.SGD ? 1e-10 : 1e-6);
  }

  private static double worst(Map<String, double[]> got, Map<String, double[]> expected) {
    assertThat(got.keySet()).isEqualTo(expected.keySet());
    // a bias of keys has gradient 0, as softmax does not see a shift: measure that by the others
    double typical = expected.values().stream().mapToDouble(LayoutTest::norm).max().orElseThrow();
    double worst = 0;
    for (Map.Entry<String, double[]> e : expected.entrySet()) {
      double scale = Math.max(norm(e.getValue()), 1e-4 * typical);
      worst = Math.max(worst, distance(got.get(e.getKey()), e.getValue()) / scale);
    }
    return worst;
  }
}
