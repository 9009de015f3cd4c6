package org.kernbench.nn.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.TwoModules;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.Microbatches;
import org.kernbench.nn.multimodal.Microbatches.Masks;
import org.kernbench.nn.multimodal.ModalityEncoder;
import org.kernbench.nn.multimodal.PlainTwoModule;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.multimodal.TwoModuleTraining;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.ShapeException;

/** The model of two modules: on one rank against loops over numbers, and its special cases. */
final class TwoModuleTest {
  private static void assertPlain(TwoModuleConfig config, List<Microbatch> data) {
    LayoutRun one = TwoModules.oneRank(config, TwoModules.SGD, data, 0);
    Map<String, double[]> plain =
        new PlainTwoModule(config, one.rank(0).parameters).gradients(data);
    one.rank(0)
        .gradients
        .forEach((name, g) ->
            assertThat(g.finished()).as(name).containsExactly(plain.get(name), within(1e-13)));
  }

  @ParameterizedTest
  @CsvSource({"1,UNIFORM", "2,UNEVEN", "1,GAPS"})
  void oneRank_gradients_equalThePlainModel(int microbatches, Masks masks) {
    assertPlain(
        TwoModules.SMALL, Microbatches.random(TwoModules.SMALL, 4, 8, microbatches, masks, 1));
  }

  @Test
  void oneRankWithRotation_gradients_equalThePlainModel() {
    assertPlain(TwoModules.LLAMA, Microbatches.random(TwoModules.LLAMA, 2, 8, 1, Masks.UNEVEN, 2));
  }

  /** A replica without a token, and a context-parallel rank beside one that has some. */
  @Test
  void gaps_leaveReplicasAndContextRanksWithoutTokens() {
    List<Microbatch> data = Microbatches.random(TwoModules.SMALL, 4, 8, 1, Masks.GAPS, 1);
    TwoModuleLayout layout = TwoModules.layout("tp=1,dp=4", "tp=1,cp=2,dp=2", false);
    LayoutRun run = TwoModules.run(layout, TwoModules.SMALL, TwoModules.SGD, data, 0);
    assertThat(IntStream.range(0, 4).map(r -> run.rank(r).tokens)).containsExactly(0, 0, 3, 0);
  }

  // ---- samples without the other modality ----

  private static final TwoModuleLayout FAN_IN =
      TwoModules.layout("tp=1,dp=4", "tp=1,cp=2,dp=2", false);
  private static final TwoModuleLayout FAN_OUT = TwoModules.layout("tp=4,dp=1", "tp=2,dp=2", true);

  /** Samples of which only some have placeholders; none if {@code every} is 0. */
  private static Microbatch textIn(int every) {
    Microbatch data = Microbatches.random(TwoModules.SMALL, 4, 8, 1, Masks.UNEVEN, 3).getFirst();
    int[] ids = data.ids(0, 4);
    for (int i = 0; i < ids.length; i++) {
      boolean keeps = every > 0 && i / 8 % every == 0;
      ids[i] = keeps || ids[i] != TwoModules.SMALL.placeholder() ? ids[i] : i % 11;
    }
    double[] patches = every == 0 ? new double[0] : data.patches(0, 4);
    return new Microbatch(4, 8, ids, data.targets(0, 4), data.mask(0, 4), patches);
  }

  private static void assertEqual(LayoutVerdict verdict) {
    assertThat(verdict.first()).isEmpty();
    assertThat(verdict.tensors()).isPositive();
  }

  /** Whole microbatches of text: nothing goes over the bridge, the encoder's gradient is zero. */
  @Test
  void noModality_gradients_equalThePlainModel() {
    List<Microbatch> data = List.of(textIn(0));
    assertPlain(TwoModules.SMALL, data);
    for (TwoModuleLayout layout : List.of(FAN_IN, FAN_OUT)) {
      LayoutRun run = TwoModules.run(layout, TwoModules.SMALL, TwoModules.SGD, data, 1);
      assertEqual(run.compareWith(TwoModules.oneRank(TwoModules.SMALL, TwoModules.SGD, data, 1)));
      double[] ofProjector = run.rank(0).gradients.get("projector.up.weight").finished();
      assertThat(ofProjector).containsOnly(0);
    }
  }

  /** Only every second sample has an image, and the first microbatch has none. */
  @Test
  void someModality_gradients_equalThePlainModel() {
    List<Microbatch> data = List.of(textIn(0), textIn(2), textIn(3));
    assertPlain(TwoModules.SMALL, data);
    for (TwoModuleLayout layout : List.of(FAN_IN, FAN_OUT)) {
      assertEqual(TwoModules.check(layout, TwoModules.SMALL, TwoModules.SGD, data, 0));
    }
  }

  /** No token counts: gradients are zero, not infinite, and nothing is divided. */
  @Test
  void noToken_gradients_areZero() {
    Microbatch data = textIn(1);
    Microbatch none =
        new Microbatch(
            4, 8, data.ids(0, 4), data.targets(0, 4), new double[32], data.patches(0, 4));
    LayoutRun run = TwoModules.run(FAN_IN, TwoModules.SMALL, TwoModules.SGD, List.of(none), 0);
    for (int r = 0; r < 4; r++) {
      assertThat(run.rank(r).tokens).isZero();
      run.rank(r).gradients.values().forEach(g -> assertThat(g.finished()).containsOnly(0));
    }
  }

  // ---- training ----

  /** The projector of a frozen encoder is trained, in any layout as on one rank. */
  @Test
  void frozenEncoder_staysAsItIs() {
    List<Microbatch> data = Microbatches.random(TwoModules.SMALL, 4, 8, 2, Masks.UNEVEN, 3);
    TwoModuleTraining.Settings frozen = TwoModules.SGD.withFrozen(true);
    LayoutRun one = TwoModules.oneRank(TwoModules.SMALL, frozen, data, 3);
    LayoutRun free = TwoModules.oneRank(TwoModules.SMALL, TwoModules.SGD, data, 0);
    one.rank(0)
        .gradients
        .forEach((name, g) ->
            assertThat(g.finished())
                .as(name)
                .isEqualTo(free.rank(0).gradients.get(name).finished()));
    for (TwoModuleLayout layout : List.of(FAN_IN, FAN_OUT)) {
      LayoutRun run = TwoModules.run(layout, TwoModules.SMALL, frozen, data, 3);
      LayoutVerdict verdict = run.compareWith(one);
      assertEqual(verdict);
      assertThat(verdict.stepsError().orElseThrow()).isLessThan(1e-10);
      LayoutRun.RankRun rank = run.rank(0);
      rank.parameters.forEach((name, before) -> {
        boolean same = java.util.Arrays.equals(before, rank.trained.get(name));
        // a bias of keys moves all scores of a query alike: its gradient is rounding, or 0
        if (!name.endsWith("key.bias")) {
          assertThat(same).as(name).isEqualTo(name.startsWith("encoder."));
        }
      });
      assertThat(rank.gradients.keySet()).noneMatch(name -> name.startsWith("encoder."));
    }
  }

  /** Optimizers that are divided over data-parallel ranks train the same model. */
  @Test
  void distributedOptimizer_steps_equalOneRank() {
    List<Microbatch> data = Microbatches.random(TwoModules.SMALL, 4, 8, 2, Masks.UNEVEN, 3);
    LayoutRun one = TwoModules.oneRank(TwoModules.SMALL, TwoModules.SGD, data, 3);
    TwoModuleTraining.Settings divided =
        TwoModules.SGD.withData(
            DataParallel.DEFAULT.withBucketBytes(2000).withDistributedOptimizer(true));
    LayoutRun run = TwoModules.run(FAN_IN, TwoModules.SMALL, divided, data, 3);
    // gradients after a reduce-scatter are whole on no rank; weights after steps are
    assertThat(run.compareWith(one).stepsError().orElseThrow()).isLessThan(1e-10);
  }

  /** Another rate: gradients of the first step are right, parameters after it are not. */
  @Test
  void parametersAfterSteps_thatDiffer_areAFinding() {
    List<Microbatch> data = Microbatches.random(TwoModules.SMALL, 4, 8, 1, Masks.UNEVEN, 3);
    LayoutRun one = TwoModules.oneRank(TwoModules.SMALL, TwoModules.SGD, data, 2);
    TwoModuleTraining.Settings faster =
        TwoModules.SGD.withMethod(TwoModuleTraining.Method.SGD, 0.0500001);
    LayoutVerdict verdict =
        TwoModules.run(FAN_IN, TwoModules.SMALL, faster, data, 2).compareWith(one);
    assertThat(verdict.isEqual()).isFalse();
    FirstDifference first = verdict.first().orElseThrow();
    assertThat(first.tensor()).endsWith(" after 2 steps");
    assertThat(first.error()).isEqualTo(verdict.stepsError().orElseThrow());
    assertThat(first.evidence()).isEqualTo("all gradients of the first step are right");
  }

  // ---- errors ----

  private static void assertFails(Microbatch data, String message) {
    LayoutRun run = TwoModules.run(FAN_IN, TwoModules.SMALL, TwoModules.SGD, List.of(data), 0);
    assertThatThrownBy(run::throwFailure)
        .isInstanceOfAny(IllegalArgumentException.class, ShapeException.class)
        .hasMessage(message);
  }

  @Test
  void samples_notDivisible_areRefused() {
    assertFails(
        Microbatches.random(TwoModules.SMALL, 3, 8, 1, Masks.UNEVEN, 3).getFirst(),
        "a microbatch of 3 samples cannot be divided over 2 data-parallel ranks; expected a"
            + " multiple of 2");
  }

  @Test
  void placeholders_fewerThanTokens_areRefused() {
    Microbatch data = textIn(1);
    int[] ids = data.ids(0, 4);
    ids[0] = 1; // one placeholder of the first sample
    assertFails(
        new Microbatch(4, 8, ids, data.targets(0, 4), data.mask(0, 4), data.patches(0, 4)),
        "merge of embeddings: 8 rows of modality, but 7 placeholders in the text");
  }

  @Test
  void encoderWithSequenceParallelism_isRefused() {
    Ranks.run(
        2,
        org.kernbench.device.Mode.VALUES,
        w -> {
          HyperCommGrid grid = new HyperCommGrid(w.distributed(), RankGrid.parse("tp=2,dp=1"));
          ParallelLayout layout = ParallelLayout.of(grid, true);
          Init init = new Init(w.torch(), org.kernbench.tensor.DType.F64, 1, 1);
          assertThatThrownBy(() -> new ModalityEncoder(TwoModules.SMALL, layout, init))
              .hasMessageContaining("the bridge needs all rows");
        });
  }
}
