package org.kernbench.nn.layers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.compare.LayoutVerdict;
import org.kernbench.nn.compare.StageCheck;
import org.kernbench.nn.compare.StepRecord;
import org.kernbench.nn.compare.StepRecord.Kind;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.experts.Routing;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Worker;

/** A module that predicts the token after the next, beside a model. */
final class MultiTokenPredictionTest {
  private static final int LENGTH = 8;
  private static final int SAMPLES = 4;
  private static final int IDS = 12;
  private static final double WEIGHT = 0.3;

  private static final TransformerConfig DENSE =
      new TransformerConfig("small", 12, 1, 4, 4, 4, 12, IDS, 16, TransformerConfig.Style.LLAMA);

  private static final TransformerConfig EXPERTS =
      DENSE.with(ExpertsConfig.of(4, 2, 8).with(new Routing.Drawn(3, 0)));

  /** The token of a sample at a position. */
  private static int id(int position, int sample) {
    return Math.floorMod(position * 7 + sample * 5 + position * position, IDS);
  }

  /** Ids so many positions on. */
  private static int[] ids(int[] at, int first, int batch, int further) {
    int[] ids = new int[at.length * batch];
    Arrays.setAll(ids, i -> id(at[i / batch] + further, first + i % batch));
    return ids;
  }

  private static double[] mask(int[] at, int batch, int last) {
    double[] mask = new double[at.length * batch];
    Arrays.setAll(mask, i -> at[i / batch] < LENGTH - last ? 1 : 0);
    return mask;
  }

  /** A rank's model, module, and share of the samples. */
  private static final class Rank {
    final Worker worker;
    final ParallelLayout layout;
    final Transformer model;
    final MultiTokenPrediction further;
    final SequencePart part;
    final int first;
    final int batch;

    Rank(Worker w, TransformerConfig config, int tp, int cp, int dp, boolean tied) {
      this.worker = w;
      this.layout =
          ParallelLayout.create(
              w.distributed(), tp, cp, dp, tp > 1, new ExpertGroups.Sizes(Math.min(2, dp), 1));
      Init init = new Init(w.torch(), DType.F64, 7, 0.4).withSpread();
      this.model = new Transformer(config, layout, init, tied);
      this.further = new MultiTokenPrediction(model, config, layout, init);
      this.batch = SAMPLES / dp;
      this.first = layout.dp().rank() * batch;
      this.part = new SequencePart(LENGTH, cp, layout.cp().rank()).ofSamples(first, batch);
    }

    List<Parameter> parameters() {
      return Stream.concat(model.parameters().stream(), further.parameters().stream()).toList();
    }

    Variable hidden(Graph graph) {
      return model.blocks(
          graph, model.embed(graph, ids(part.own(), first, batch, 0), batch, part), part);
    }

    /** Both losses, the second times its weight. */
    Variable loss(Graph graph) {
      int[] at = part.own();
      int[] next = ids(at, first, batch, 1);
      Variable hidden = hidden(graph);
      Variable own = model.losses(graph, model.logits(graph, hidden), next);
      Variable more = further.losses(graph, hidden, next, ids(at, first, batch, 2), batch, part);
      return graph.add(
          graph.weightedSum(own, mask(at, batch, 1)),
          graph.scale(graph.weightedSum(more, mask(at, batch, 2)), WEIGHT));
    }
  }

  private static void run(
      TransformerConfig config, int tp, int cp, int dp, boolean tied, Consumer<Rank> body) {
    Ranks.run(tp * cp * dp, Mode.VALUES, w -> body.accept(new Rank(w, config, tp, cp, dp, tied)));
  }

  private static StepRecord record(TransformerConfig config, int tp, int cp, int dp, boolean tied) {
    StepRecord record = new StepRecord();
    run(
        config,
        tp,
        cp,
        dp,
        tied,
        rank -> {
          DataParallel data =
              new DataParallel(
                  rank.worker.torch(), rank.layout, rank.parameters(), DataParallel.DEFAULT);
          data.zeroGrad();
          try (Graph graph = Graph.of(rank.worker.torch())) {
            Variable loss = rank.loss(graph);
            data.backward(graph, loss);
            if (rank.layout.tp().rank() == 0) {
              record.addToSum(Kind.LOSS, "loss", loss.value().get(0));
            }
            record.addGradients(rank.worker.rank(), data);
          }
        });
    return record;
  }

  @ParameterizedTest
  @CsvSource({
    "2, 1, 1, false, false",
    "1, 2, 2, true, false",
    "2, 2, 1, true, false",
    "2, 1, 2, false, true",
    "1, 1, 4, false, true",
  })
  void layout_lossAndGradients_equalOneRank(int tp, int cp, int dp, boolean tied, boolean experts) {
    TransformerConfig config = experts ? EXPERTS : DENSE;
    LayoutVerdict verdict =
        StageCheck.of(
            record(config, tp, cp, dp, tied), record(config, 1, 1, 1, tied), List.of(), List.of());
    assertThat(verdict.first()).isEmpty();
    assertThat(verdict.worstError()).isLessThan(1e-10);
  }

  /** {@code A norm(h) + B norm(Emb(t_{i+1}))} by plain loops. */
  @Test
  void joined_isThatOfPlainLoops() {
    run(
        DENSE,
        1,
        1,
        1,
        false,
        rank -> {
          Map<String, double[]> weights = new TreeMap<>();
          rank.parameters().forEach(p -> weights.put(p.name(), p.value().toDoubles()));
          int[] at = rank.part.own();
          try (Graph graph = Graph.of(rank.worker.torch())) {
            Variable hidden = rank.hidden(graph);
            int[] next = ids(at, 0, SAMPLES, 1);
            double[] found =
                rank.further.joined(graph, hidden, next, SAMPLES, rank.part).value().toDoubles();
            double[] h = hidden.value().toDoubles();
            double[] table = weights.get("embedding.weight");
            double[] expected = new double[found.length];
            for (int row = 0; row < next.length; row++) {
              double[] a =
                  unit(Arrays.copyOfRange(h, row * 12, row * 12 + 12), weights, "hidden_norm");
              double[] b =
                  unit(
                      Arrays.copyOfRange(table, next[row] * 12, next[row] * 12 + 12),
                      weights,
                      "embedding_norm");
              for (int o = 0; o < 12; o++) {
                for (int i = 0; i < 12; i++) {
                  expected[row * 12 + o] +=
                      weights.get("mtp.join.hidden.weight")[o * 12 + i] * a[i]
                          + weights.get("mtp.join.embedding.weight")[o * 12 + i] * b[i];
                }
              }
            }
            assertThat(found).containsExactly(expected, within(1e-12));
          }
        });
  }

  private static double[] unit(double[] x, Map<String, double[]> weights, String norm) {
    double square = Arrays.stream(x).map(v -> v * v).sum() / x.length;
    double factor = 1 / Math.sqrt(square + TransformerConfig.EPSILON);
    double[] y = x.clone();
    Arrays.setAll(y, i -> x[i] * factor * weights.get("mtp." + norm + ".weight")[i]);
    return y;
  }

  /** Both losses' gradients, also of what the module shares with the model. */
  @Test
  void gradients_equalDifferences() {
    run(
        DENSE,
        1,
        1,
        1,
        true,
        rank -> {
          try (Graph graph = Graph.of(rank.worker.torch())) {
            graph.backward(rank.loss(graph));
          }
          List<String> seen = new ArrayList<>();
          for (Parameter p : rank.parameters()) {
            double[] grad = p.grad().orElseThrow().toDoubles();
            int at = grad.length / 2;
            double[] values = p.value().toDoubles();
            double slope =
                (shifted(rank, p, values, at, 1e-5) - shifted(rank, p, values, at, -1e-5)) / 2e-5;
            p.value().copyInPlace(values);
            assertThat(grad[at]).as(p.name()).isCloseTo(slope, within(1e-6));
            seen.add(p.name());
          }
          assertThat(seen)
              .contains("embedding.weight", "mtp.join.embedding.weight", "mtp.norm.weight");
        });
  }

  private static double shifted(Rank rank, Parameter p, double[] values, int at, double by) {
    double[] other = values.clone();
    other[at] += by;
    p.value().copyInPlace(other);
    try (Graph graph = Graph.of(rank.worker.torch())) {
      return rank.loss(graph).value().get(0);
    }
  }

  @Test
  void modelWithLearnedPositions_isRefused() {
    TransformerConfig gpt =
        new TransformerConfig("gpt", 12, 1, 4, 4, 4, 12, IDS, 16, TransformerConfig.Style.GPT);
    Ranks.run(
        1,
        Mode.VALUES,
        w ->
            assertThatThrownBy(() -> new Rank(w, gpt, 1, 1, 1, false))
                .isInstanceOf(LayoutException.class)
                .hasMessageContaining("beside gpt: its embeddings have learned positions"));
  }
}
