package org.kernbench.nn.layers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.TreeMap;
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
import org.kernbench.nn.optim.Communication.Line;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;

/** Context-parallel ranks that exchange positions for heads. */
final class HeadExchangeTest {
  private static TransformerConfig model(TransformerConfig.Style style) {
    return new TransformerConfig("m", 16, 2, 8, 4, 2, 24, 12, 24, style);
  }

  private static Setup setup(TransformerConfig config, int tp, int cp, int dp) {
    How how = How.PLAIN.with(ContextExchange.ALL_TO_ALL);
    return new Setup(config, 24, 4, 2, Training.SGD, tp, cp, dp, tp > 1, how, Recipe.STANDARD);
  }

  @ParameterizedTest
  @CsvSource({"GPT, 1, 2, 1", "LLAMA, 1, 4, 1", "LLAMA, 2, 2, 1", "GPT, 1, 2, 2"})
  void twoSteps_equalOneRank(TransformerConfig.Style style, int tp, int cp, int dp) {
    Setup setup = setup(model(style), tp, cp, dp);
    Result one = TrainingRun.of(setup.onOneRank());
    Result got = TrainingRun.of(setup);
    assertThat(got.unequal()).isEmpty();
    assertThat(TrainingRun.lossError(got, one)).isLessThan(1e-10);
    assertThat(TrainingRun.worst(got.grads(), one.grads())).isLessThan(1e-10);
    assertThat(TrainingRun.worst(got.parameters(), one.parameters())).isLessThan(1e-10);
  }

  /** Queries, keys, values and the result: each rank keeps 1/cp of what it has. */
  @ParameterizedTest
  @CsvSource({"1, 2", "1, 4", "2, 2"})
  void bytes_areThoseOfTheForm(int tp, int cp) {
    TransformerConfig config = model(TransformerConfig.Style.LLAMA);
    Setup setup = setup(config, tp, cp, 1);
    Map<String, Long> sent = new TreeMap<>();
    Ranks.communication(
            setup.ranks(),
            w -> {
              ParallelLayout layout = setup.layout(w);
              Transformer model =
                  new Transformer(config, layout, new Init(w.torch(), DType.F64, 7, 0.2));
              try (Graph graph = Graph.of(w.torch())) {
                graph.backward(setup.batch(layout).loss(graph, model));
              }
              model.parameters().forEach(Parameter::zeroGrad);
            })
        .lines()
        .stream()
        .filter(line -> line.op() == CollectiveOp.ALL_TO_ALL)
        .forEach(line -> add(sent, line));
    long rows = 24L * 4;
    long columns = 2 * (2 * 8 + 2 * 4); // queries and results of 8 heads of 2, keys and values of 4
    long each = rows * columns * 8 / cp * (cp - 1);
    assertThat(sent)
        .containsOnly(
            Map.entry("layers.0.attention.context FORWARD", each),
            Map.entry("layers.0.attention.context BACKWARD", each),
            Map.entry("layers.1.attention.context FORWARD", each),
            Map.entry("layers.1.attention.context BACKWARD", each));
  }

  private static void add(Map<String, Long> sent, Line line) {
    sent.merge(line.place() + " " + line.phase(), line.sentBytes().orElseThrow(), Long::sum);
  }

  @Test
  void tooFewHeads_areRefused() {
    assertThatThrownBy(() ->
            Ranks.run(
                3,
                Mode.TIME,
                w ->
                    new Transformer(
                        model(TransformerConfig.Style.GPT),
                        ParallelLayout.create(w.distributed(), 1, 3, 1, false)
                            .with(ContextExchange.ALL_TO_ALL),
                        new Init(w.torch(), DType.F64, 7, 0.2))))
        .hasMessageContaining("layers.0.attention: 4 heads of keys")
        .hasMessageContaining("3 context-parallel ranks");
  }
}
