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
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.tensor.DType;

/** More tensor-parallel ranks than heads of keys. */
final class SharedKeysTest {
  private static TransformerConfig model(int keyHeads) {
    return new TransformerConfig(
        "m", 16, 2, 8, keyHeads, 4, 24, 16, 24, TransformerConfig.Style.LLAMA);
  }

  private static Setup setup(int keyHeads, int tp, int cp, int dp, boolean sp) {
    How how = How.PLAIN.with(cp == 3 ? ContextExchange.RING : ContextExchange.ALL_GATHER);
    return new Setup(model(keyHeads), 24, 4, 2, Training.SGD, tp, cp, dp, sp, how, Recipe.STANDARD);
  }

  @ParameterizedTest
  @CsvSource({
    "1, 2, 1, 1, false",
    "1, 4, 1, 1, true",
    "2, 4, 1, 2, false",
    "2, 4, 2, 1, true",
    "1, 2, 3, 1, false",
    "2, 8, 1, 1, true"
  })
  void twoSteps_equalOneRank(int keyHeads, int tp, int cp, int dp, boolean sp) {
    Setup setup = setup(keyHeads, tp, cp, dp, sp);
    Result one = TrainingRun.of(setup.onOneRank());
    Result got = TrainingRun.of(setup);
    assertThat(got.unequal()).isEmpty();
    assertThat(TrainingRun.lossError(got, one)).isLessThan(1e-10);
    assertThat(TrainingRun.worst(got.grads(), one.grads())).isLessThan(1e-10);
    assertThat(TrainingRun.worst(got.parameters(), one.parameters())).isLessThan(1e-10);
  }

  /**
   * Each of r ranks sends its part of a head to r - 1 others, and of its gradient r - 1 parts; all
   * in f64.
   */
  @Test
  void bytes_areThoseOfTheForm() {
    Setup setup = setup(2, 8, 1, 1, false);
    Map<String, Long> sent = new TreeMap<>();
    Ranks.communication(
            setup.ranks(),
            w -> {
              ParallelLayout layout = setup.layout(w);
              Transformer model =
                  new Transformer(setup.config(), layout, new Init(w.torch(), DType.F64, 7, 0.2));
              try (Graph graph = Graph.of(w.torch())) {
                graph.backward(setup.batch(layout).loss(graph, model));
              }
              model.parameters().forEach(Parameter::zeroGrad);
            })
        .lines()
        .stream()
        .filter(line -> line.place().endsWith(".key") || line.place().endsWith(".value"))
        .forEach(line ->
            sent.merge(
                line.place() + " " + line.phase(), line.sentBytes().orElseThrow(), Long::sum));
    long each = 8L * 24 * 4 * 1 * 3 * 8; // ranks, rows, elements of a part, other ranks, bytes
    assertThat(sent).hasSize(8).allSatisfy((where, bytes) -> assertThat(bytes).isEqualTo(each));
  }

  @Test
  void ranksThatHeadsDoNotDivide_areRefused() {
    assertThatThrownBy(() -> Ranks.run(4, Mode.TIME, w -> setup(3, 4, 1, 1, false).layout(w)))
        .hasStackTraceContaining("3 heads of keys over the ranks 0 to 3");
  }
}
