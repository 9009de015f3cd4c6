package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.TrainingRun.How;
import org.kernbench.nn.autograd.TrainingRun.Result;
import org.kernbench.nn.autograd.TrainingRun.Setup;
import org.kernbench.nn.autograd.TrainingRun.Training;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.Communication;
import org.kernbench.nn.optim.Communication.Line;
import org.kernbench.nn.optim.Communication.Phase;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.optim.Zero;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/** Gradients and parameters that ranks divide: values, bytes, and what is there when. */
final class ZeroTest {
  private static final TransformerConfig GPT =
      new TransformerConfig("gpt", 12, 3, 6, 6, 2, 12, 12, 12, TransformerConfig.Style.GPT);
  private static final TransformerConfig LLAMA =
      new TransformerConfig("llama", 12, 3, 12, 6, 2, 18, 12, 12, TransformerConfig.Style.LLAMA);

  private static How how(Zero zero, boolean overlap) {
    return How.of(new DataParallel.Options(900, overlap, zero));
  }

  private static Setup setup(TransformerConfig config, int tp, int cp, int dp, How how) {
    boolean sp = tp > 1;
    return new Setup(config, 12, 4, 3, Training.ADAM, tp, cp, dp, sp, how, Recipe.STANDARD);
  }

  @ParameterizedTest
  @CsvSource({
    "GRADIENTS, 1, 1, 2, true",
    "GRADIENTS, 2, 1, 2, false",
    "GRADIENTS, 1, 2, 3, true",
    "PARAMETERS, 1, 1, 2, true",
    "PARAMETERS, 1, 1, 4, false",
    "PARAMETERS, 2, 1, 3, true",
    "PARAMETERS, 1, 3, 1, true",
    "PARAMETERS, 2, 2, 2, true",
  })
  void threeSteps_equalOneRank(Zero zero, int tp, int cp, int dp, boolean overlap) {
    for (TransformerConfig config : List.of(GPT, LLAMA)) {
      Setup setup = setup(config, tp, cp, dp, how(zero, overlap));
      Result one = TrainingRun.of(setup.onOneRank());
      Result got = TrainingRun.of(setup);
      assertThat(got.unequal()).isEmpty();
      assertThat(TrainingRun.lossError(got, one)).isLessThan(1e-10);
      assertThat(TrainingRun.worst(got.grads(), one.grads())).isLessThan(1e-10);
      assertThat(TrainingRun.worst(withoutKeyBiases(got), withoutKeyBiases(one))).isLessThan(1e-10);
    }
  }

  /** Ranks of several PEs: every PE has its part of what a rank keeps. */
  @ParameterizedTest
  @EnumSource(names = {"OPTIMIZER", "PARAMETERS"})
  void packages_equalOneRank(Zero zero) {
    Setup setup = setup(LLAMA, 1, 1, 2, how(zero, true));
    Result one = TrainingRun.of(setup.onOneRank());
    Result got = TrainingRun.of(setup, Ranks.Devices.PACKAGES, DType.F64);
    assertThat(TrainingRun.worst(got.grads(), one.grads())).isLessThan(1e-10);
    assertThat(TrainingRun.worst(got.parameters(), one.parameters())).isLessThan(1e-10);
  }

  /** No PE keeps more of masters and moments than its share, and one row of the bucket's end. */
  @Test
  void packages_statesLieOnAllPes() {
    Ranks.run(
        Ranks.Devices.PACKAGES,
        2,
        Mode.TIME,
        w -> {
          ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 2, false);
          Init init = new Init(w.torch(), DType.BF16, 1, 1);
          Parameter matrix =
              init.normal("w", Shape.of(64, 64), Parameter.Sharding.REPLICATED, layout.tp());
          DataParallel data =
              new DataParallel(
                  w.torch(),
                  layout,
                  List.of(matrix),
                  DataParallel.DEFAULT.withDistributedOptimizer(true));
          layout.dp().barrier(); // what both have by now
          long before = w.torch().memory().mostBytes();
          try (Optimizer adam = new AdamW(w.torch(), data.owned(), AdamW.Settings.of(0.1))) {
            // 2,048 of the matrix' elements over four PEs, three tensors of four bytes
            assertThat(adam.rate()).isEqualTo(0.1);
            assertThat(w.torch().memory().mostBytes() - before).isLessThanOrEqualTo(2048 / 4 * 12);
          }
        });
  }

  /** A bias of keys has a gradient of rounding alone, which Adam divides by its epsilon. */
  private static Map<String, double[]> withoutKeyBiases(Result of) {
    Map<String, double[]> some = new TreeMap<>(of.parameters());
    some.keySet().removeIf(name -> name.endsWith(".attention.key.bias"));
    return some;
  }

  /** A step of a model on ranks of data parallelism alone, and what it sent. */
  private static Communication step(Mode mode, int ranks, Zero zero, boolean overlap) {
    Setup setup = setup(GPT, 1, 1, ranks, how(zero, overlap));
    return Ranks.communication(
        ranks,
        w -> {
          ParallelLayout layout = setup.layout(w);
          Transformer model = new Transformer(GPT, layout, new Init(w.torch(), DType.F64, 7, 0.2));
          DataParallel data =
              new DataParallel(
                  w.torch(), layout, model.parameters(), setup.how().data().orElseThrow());
          data.zeroGrad();
          try (Graph graph = Graph.of(w.torch())) {
            data.backward(graph, setup.batch(layout).loss(graph, model));
          }
          data.gather();
        });
  }

  private static long elements(String... units) {
    List<Long> found = new ArrayList<>();
    Ranks.run(
        1,
        Mode.TIME,
        w -> {
          ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 1, false);
          new Transformer(GPT, layout, new Init(w.torch(), DType.F64, 7, 0.2))
              .parameters().stream()
                  .filter(p -> List.of(units).stream().anyMatch(p.name()::startsWith))
                  .forEach(p -> found.add(p.shape().elements()));
        });
    return found.stream().mapToLong(n -> n).sum();
  }

  private static long upTo(long elements, int ranks) {
    return Math.ceilDiv(elements, ranks) * ranks;
  }

  /** Every unit is gathered once each way, but the last one stays and the first is not needed. */
  @ParameterizedTest
  @CsvSource({"2, true", "4, true", "4, false"})
  void parameters_bytes_areThoseOfTheForm(int ranks, boolean overlap) {
    long first = upTo(elements("embedding", "positions"), ranks);
    long last = upTo(elements("norm", "head"), ranks);
    long layer = upTo(elements("layers.0."), ranks);
    Map<String, Long> sent = new TreeMap<>();
    for (Line line : step(Mode.TIME, ranks, Zero.PARAMETERS, overlap).lines()) {
      if (line.phase() == Phase.PARAMETERS || line.phase() == Phase.GRADIENTS) {
        sent.merge(line.op().toString(), line.sentBytes().orElseThrow(), Long::sum);
      }
    }
    long all = first + 3 * layer + last;
    assertThat(sent)
        .containsOnly(
            Map.entry("ALL_GATHER", (ranks - 1) * 8 * (all + 3 * layer)),
            Map.entry("REDUCE_SCATTER", (ranks - 1) * 8 * all));
  }
}
