package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.CclConfig;
import org.kernbench.ccl.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
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

  /** What a run gives: the loss and every gradient, put together from the ranks that share it. */
  private record Result(double loss, Map<String, double[]> grads) {}

  private static Result run(TransformerConfig config, int tp, int cp, int dp, boolean sp) {
    int ranks = tp * cp * dp;
    double[] loss = new double[1];
    Map<String, List<double[]>> shards = new TreeMap<>();
    Map<String, Parameter> shapes = new LinkedHashMap<>();
    Ranks.run(
        ranks, Mode.VALUES, w -> body(w, config, tp, cp, dp, sp, loss, shards, shapes));
    Map<String, double[]> whole = new TreeMap<>();
    shards.forEach((name, parts) -> whole.put(name, join(shapes.get(name), parts, tp)));
    return new Result(loss[0], whole);
  }

  private static void body(
      Worker w,
      TransformerConfig config,
      int tp,
      int cp,
      int dp,
      boolean sp,
      double[] loss,
      Map<String, List<double[]>> shards,
      Map<String, Parameter> shapes) {
    ParallelLayout layout = ParallelLayout.create(w.distributed(), tp, cp, dp, sp);
    Init init = new Init(w.torch(), DType.F64, 7, 0.2);
    Transformer model = new Transformer(config, layout, init);
    SequencePart part = new SequencePart(SEQUENCE, cp, layout.cp().rank());
    int batch = SAMPLES / dp;
    int first = layout.dp().rank() * batch;
    int[] at = part.own();
    int[] ids = new int[at.length * batch];
    int[] targets = new int[ids.length];
    double[] mask = new double[ids.length];
    for (int i = 0; i < at.length; i++) {
      for (int b = 0; b < batch; b++) {
        int sample = first + b;
        ids[i * batch + b] = (at[i] * 7 + sample * 5 + at[i] * at[i]) % config.vocabulary();
        targets[i * batch + b] = (at[i] * 11 + sample * 3 + 1) % config.vocabulary();
        mask[i * batch + b] = at[i] < SEQUENCE - 2 * sample - 1 ? 1 : 0;
      }
    }
    double own;
    try (Graph graph = Graph.of(w.torch())) {
      Variable perToken = model.forward(graph, ids, targets, batch, part);
      Variable sum = graph.weightedSum(perToken, mask);
      graph.backward(sum);
      own = sum.value().get(0);
    }
    new GradientSync(layout).run(model.parameters());
    if (layout.tp().rank() == 0) {
      loss[0] += own;
    }
    for (Parameter p : model.parameters()) {
      shapes.putIfAbsent(p.name(), p);
      shards
          .computeIfAbsent(p.name(), n -> new ArrayList<>())
          .add(p.grad().orElseThrow().toDoubles());
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

  @ParameterizedTest
  @CsvSource({
    "2,1,1,false", "2,1,1,true", "1,2,1,false", "1,1,2,false", "4,1,1,true", "2,2,1,true",
    "2,2,2,true", "3,1,2,false", "3,2,2,true", "6,1,1,true", "1,3,1,false", "1,4,1,false",
    "1,1,4,false", "2,3,1,true", "6,2,1,false",
  })
  void layout_lossAndGradients_equalOneRank(int tp, int cp, int dp, boolean sp) {
    for (TransformerConfig config : List.of(GPT, LLAMA)) {
      Result expected = run(config, 1, 1, 1, false);
      Result got = run(config, tp, cp, dp, sp);
      assertThat(Math.abs(got.loss / expected.loss - 1)).isLessThan(1e-12);
      assertThat(got.grads.keySet()).isEqualTo(expected.grads.keySet());
      // a bias of keys has gradient 0, as softmax does not see a shift: measure that by the others
      double typical =
          expected.grads.values().stream().mapToDouble(LayoutTest::norm).max().orElseThrow();
      expected.grads.forEach((name, grad) ->
          assertThat(distance(got.grads.get(name), grad) / Math.max(norm(grad), 1e-4 * typical))
              .as(config.name() + " " + name)
              .isLessThan(1e-10));
    }
  }
}
