package org.kernbench.nn.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.TwoModules;
import org.kernbench.nn.autograd.Dropout;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.compare.StepRecord.Kind;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.Microbatches;
import org.kernbench.nn.multimodal.Microbatches.Masks;
import org.kernbench.nn.multimodal.ModulePipelines;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.multimodal.TwoModuleTraining;
import org.kernbench.nn.multimodal.TwoModuleTraining.Evaluation;
import org.kernbench.nn.multimodal.TwoModuleTraining.Method;
import org.kernbench.nn.multimodal.TwoModuleTraining.Settings;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.pipeline.LayerSplit;
import org.kernbench.nn.pipeline.PipelineStep;
import org.kernbench.nn.pipeline.ScheduleCsv;
import org.kernbench.nn.pipeline.Schedules;
import org.kernbench.tensor.DType;

/**
 * Two modules on ranks of their own, each with a pipeline: losses, gradients of every parameter and
 * stepped parameters against one rank.
 */
final class ModulePipelinesTest {
  /** Three blocks in each module, so that two stages are uneven. */
  private static final TwoModuleConfig MODEL = TwoModules.SMALL.withLayers(3, 3);

  private static final Settings SGD = TwoModules.SGD;
  private static final Settings ADAMW =
      Settings.of(DType.F64).withInit(7, 0.3).withMethod(Method.ADAMW, 0.01);

  private static List<Microbatch> data(int microbatches) {
    return Microbatches.random(MODEL, 4, 16, microbatches, Masks.UNEVEN, 3);
  }

  private static TwoModuleLayout layout(String encoder, String language) {
    return TwoModules.layout(encoder, language.replace(" sp", ""), language.endsWith(" sp"));
  }

  private static void each(
      TwoModuleLayout layout, Settings settings, BiConsumer<Integer, TwoModuleTraining> body) {
    each(Ranks.Devices.ONE_PE, layout, settings, body);
  }

  private static void each(
      Ranks.Devices devices,
      TwoModuleLayout layout,
      Settings settings,
      BiConsumer<Integer, TwoModuleTraining> body) {
    Ranks.run(
        devices,
        layout.worldSize(),
        Mode.VALUES,
        w ->
            TwoModuleTraining.create(w, MODEL, layout, settings)
                .ifPresent(training -> {
                  try (training) {
                    body.accept(w.rank(), training);
                  }
                }));
  }

  /** What there is at the end of a step. */
  private static StepRecord step(
      Ranks.Devices devices, TwoModuleLayout layout, Settings settings, List<Microbatch> data) {
    StepRecord record = new StepRecord();
    each(
        devices,
        layout,
        settings,
        (rank, training) -> {
          OptionalDouble loss = training.train(data);
          if (training.data().getLast().layout().tp().rank() == 0) {
            record.addToSum(Kind.LOSS, "loss", loss.orElseThrow());
          }
          record.add(rank, training);
        });
    return record;
  }

  private static StepRecord step(TwoModuleLayout layout, Settings settings, List<Microbatch> data) {
    return step(Ranks.Devices.ONE_PE, layout, settings, data);
  }

  private static StepRecord one(Settings settings, List<Microbatch> data) {
    return step(
        TwoModuleLayout.ONE_RANK,
        settings.withFault(Fault.NONE).withData(DataParallel.DEFAULT),
        data);
  }

  private static Map<String, double[]> values(StepRecord record, Kind kind) {
    Map<String, double[]> values = new TreeMap<>();
    record.of(kind).forEach((name, whole) -> values.put(name, whole.values()));
    return values;
  }

  private static final List<Kind> ALL =
      List.of(Kind.LOSS, Kind.GRADIENT, Kind.NORM, Kind.PARAMETER);

  private static void assertSameBits(StepRecord got, StepRecord expected, String what) {
    for (Kind kind : List.of(Kind.LOSS, Kind.GRADIENT, Kind.PARAMETER)) {
      Map<String, double[]> one = values(expected, kind);
      Map<String, double[]> all = values(got, kind);
      assertThat(all.keySet()).as("%s, %s", kind, what).isEqualTo(one.keySet());
      one.forEach((name, v) ->
          assertThat(Arrays.equals(all.get(name), v)).as("%s %s, %s", kind, name, what).isTrue());
    }
  }

  /** The largest relative error of a tensor; infinite if there are others. */
  private static double error(StepRecord got, StepRecord expected) {
    double worst = 0;
    for (Kind kind : ALL) {
      Map<String, double[]> one = values(expected, kind);
      Map<String, double[]> all = values(got, kind);
      assertThat(all.keySet()).as("%s", kind).isEqualTo(one.keySet());
      double largest = one.values().stream().mapToDouble(Vectors::norm).max().orElseThrow();
      for (Map.Entry<String, double[]> e : one.entrySet()) {
        // of a bias that moves all scores alike the gradient is rounding
        double error = Vectors.error(all.get(e.getKey()), e.getValue(), 1e-4 * largest);
        worst = Math.max(worst, Double.isNaN(error) ? Double.POSITIVE_INFINITY : error);
      }
    }
    return worst;
  }

  /** Ranks that have the same part of a tensor have the same bits of it. */
  private static void assertReplicasAlike(StepRecord record) {
    for (Kind kind : List.of(Kind.GRADIENT, Kind.NORM, Kind.PARAMETER)) {
      record
          .of(kind)
          .forEach((name, whole) -> {
            double[] first = whole.values();
            for (StepRecord.Part part : whole.parts()) {
              for (int i = 0; i < part.values().length; i++) {
                assertThat(part.values()[i])
                    .as("%s on rank %s", name, part.rank())
                    .isEqualTo(first[part.at().applyAsInt(i)]);
              }
            }
          });
    }
  }

  // ---- one rank to each stage: the same order of sums, the same bits ----

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=1,dp=1 | tp=1,dp=1,offset=1",
        "tp=1,pp=2,dp=1,offset=3 | tp=1,pp=2,dp=1",
      })
  void oneRankToAStage_hasTheBitsOfOneRank(String encoder, String language) {
    assertBits(encoder, language);
  }

  @Tag("slow")
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=1,pp=2,dp=1 | tp=1,pp=1,dp=1,offset=2",
        "tp=1,pp=1,dp=1 | tp=1,pp=3,dp=1,offset=1",
        "tp=1,pp=3,dp=1 | tp=1,pp=2,dp=1,offset=3",
      })
  void oneRankToAStage_ofMoreStages_hasTheBitsOfOneRank(String encoder, String language) {
    assertBits(encoder, language);
  }

  private void assertBits(String encoder, String language) {
    List<Microbatch> data = data(3);
    for (DType dtype : List.of(DType.BF16, DType.F64)) {
      Settings settings = unshrunk(SGD.in(dtype));
      StepRecord one = one(settings, data);
      for (Schedules named : List.of(Schedules.GPIPE, Schedules.ONE_F_ONE_B, Schedules.ZB_H1)) {
        TwoModuleLayout layout = layout(encoder, language).with(ModulePipelines.of(named));
        assertSameBits(step(layout, settings, data), one, named + " " + dtype + " " + layout);
      }
    }
  }

  /** The norm of all gradients is a sum over stages, in another order. */
  private static Settings unshrunk(Settings s) {
    return new Settings(
        s.dtype(),
        s.first(),
        s.seed(),
        s.deviation(),
        s.frozen(),
        s.method(),
        s.rate(),
        1e9,
        s.data(),
        s.fault(),
        s.dropout());
  }

  // ---- layouts of all kinds, in f64 ----

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=1,pp=2,dp=2 | tp=1,cp=2,pp=2,dp=1,offset=4",
        "tp=2,pp=1,dp=1 | tp=1,pp=3,dp=2,offset=2",
        // data-parallel ranks before stages, and the modules the other way round
        "tp=1,dp=2,pp=2,offset=8 | tp=2,dp=2,pp=2 sp",
      })
  void layouts_computeWhatOneRankDoes(String encoder, String language) {
    assertComputes(encoder, language);
  }

  @Tag("slow")
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=2,pp=2,dp=1 | tp=2,pp=2,dp=1,offset=4 sp",
        "tp=1,dp=4 | tp=2,cp=2,pp=2,dp=1,offset=4 sp",
        "tp=1,pp=3,dp=1 | tp=2,cp=2,pp=2,dp=2,offset=3",
        // ranks of neither module
        "tp=2,dp=2,offset=1 | tp=1,cp=2,pp=3,dp=1,offset=6",
      })
  void layoutsOfMoreRanks_computeWhatOneRankDoes(String encoder, String language) {
    assertComputes(encoder, language);
  }

  private void assertComputes(String encoder, String language) {
    List<Microbatch> data = data(4);
    TwoModuleLayout layout = layout(encoder, language);
    StepRecord one = one(SGD, data);
    for (Schedules named : List.of(Schedules.GPIPE, Schedules.ONE_F_ONE_B)) {
      StepRecord got = step(layout.with(ModulePipelines.of(named)), SGD, data);
      assertThat(error(got, one)).as("%s %s", named, layout).isLessThan(1e-10);
      assertReplicasAlike(got);
    }
  }

  @Test
  void rotationAndSharedKeys_computeWhatOneRankDoes() {
    // as the others, of the other style
    TwoModuleConfig llama = TwoModules.LLAMA.withLayers(2, 3);
    List<Microbatch> data = Microbatches.random(llama, 4, 16, 3, Masks.GAPS, 5);
    LayoutRun one = TwoModules.oneRank(llama, SGD, data, 1);
    LayoutRun run =
        TwoModules.run(
            layout("tp=1,pp=2,dp=2", "tp=2,cp=2,pp=2,dp=1,offset=4 sp"), llama, SGD, data, 1);
    LayoutVerdict verdict = run.compareWith(one);
    assertThat(verdict.first()).isEmpty();
    assertThat(verdict.worstError()).isLessThan(1e-10);
  }

  @Test
  void dividedOptimizerDropoutAndAdamW_computeWhatOneRankDoes() {
    List<Microbatch> data = data(4);
    Settings settings =
        ADAMW
            .withDropout(Dropout.of(0.2, 5))
            .withData(DataParallel.DEFAULT.withBucketBytes(1500).withDistributedOptimizer(true));
    TwoModuleLayout layout = layout("tp=1,pp=2,dp=2", "tp=2,cp=2,pp=2,dp=1,offset=4 sp");
    assertThat(error(step(layout, settings, data), one(settings, data))).isLessThan(1e-9);
  }

  @Test
  void ranksOfManyPes_computeWhatOneRankDoes() {
    List<Microbatch> data = data(2);
    for (Ranks.Devices devices : List.of(Ranks.Devices.CUBES, Ranks.Devices.PACKAGES)) {
      for (String pair :
          List.of(
              "tp=1,pp=2,dp=2 | tp=2,pp=2,dp=1,offset=4 sp",
              "tp=2,pp=1,dp=1 | tp=1,cp=2,pp=1,dp=2,offset=2")) {
        TwoModuleLayout layout = layout(pair.split(" \\| ")[0], pair.split(" \\| ")[1]);
        assertThat(error(step(devices, layout, SGD, data), one(SGD, data)))
            .as("%s on %s", layout, devices)
            .isLessThan(1e-10);
      }
    }
  }

  // ---- stages ----

  @Test
  void unevenStages_alsoOfNoBlock_computeWhatOneRankDoes() {
    List<Microbatch> data = data(2);
    ModulePipelines pipelines =
        ModulePipelines.DEFAULT.with(
            Optional.of(new LayerSplit(List.of(0, 3))),
            Optional.of(new LayerSplit(List.of(0, 2, 1))));
    TwoModuleLayout layout = layout("tp=1,pp=2,dp=1", "tp=1,pp=3,dp=1,offset=2").with(pipelines);
    Settings settings = unshrunk(SGD);
    assertSameBits(step(layout, settings, data), one(settings, data), layout.toString());
  }

  /** Two stages on each rank of a module, in turn. */
  @Test
  void fileOfAUser_withSeveralStagesOnARank_hasTheBitsOfOneRank() {
    String csv =
        """
        0F0,2F0,0F1,2F1,2B0,0B0,2B1,0B1
        1F0,3F0,1F1,3F1,3B0,1B0,3B1,1B1
        4F0,4B0,4F1,4B1
        """;
    ModulePipelines pipelines =
        new ModulePipelines(
            (ranks, microbatches) -> ScheduleCsv.parse("turns.csv", csv),
            Optional.of(new LayerSplit(List.of(1, 1, 1, 0))),
            Optional.empty());
    TwoModuleLayout layout = layout("tp=1,pp=2,dp=1", "tp=1,dp=1,offset=2").with(pipelines);
    Settings settings = unshrunk(SGD);
    assertSameBits(step(layout, settings, data(2)), one(settings, data(2)), "turns.csv");
    assertThatThrownBy(() -> step(layout, settings, data(3)))
        .hasMessageContaining("schedule turns.csv has 2 microbatches, the step 3");
  }

  @Test
  void memory_1F1BAgainstGPipe_holdsFewerMicrobatches() {
    List<Microbatch> data = data(6);
    long[][] held = new long[2][4];
    for (Schedules named : List.of(Schedules.GPIPE, Schedules.ONE_F_ONE_B)) {
      TwoModuleLayout layout =
          layout("tp=1,pp=2,dp=1", "tp=1,pp=2,dp=1,offset=2").with(ModulePipelines.of(named));
      each(
          layout,
          SGD,
          (rank, training) -> {
            training.train(data);
            PipelineStep step = training.pipelineStep().orElseThrow();
            held[named.ordinal()][training.pipelinePlace().orElseThrow()] = step.mostBytesHeld();
          });
    }
    // as many as there are stages from here to the end, of six
    for (int place = 0; place < 4; place++) {
      assertThat((double) held[0][place] / held[1][place])
          .as("place %s: %s and %s", place, held[0][place], held[1][place])
          .isBetween(6.0 / (4 - place + 2), 6.0 / (4 - place));
    }
  }

  // ---- beside steps ----

  @Test
  void evaluation_onlyGoesForwards_andAllRanksHaveOneRanksLoss() {
    List<Microbatch> data = data(3);
    List<Evaluation> one = new ArrayList<>();
    each(TwoModuleLayout.ONE_RANK, SGD, (rank, training) -> one.add(training.evaluate(data)));
    List<Evaluation> all = new ArrayList<>();
    TwoModuleLayout layout = layout("tp=2,pp=2,dp=1", "tp=2,cp=2,pp=2,dp=1,offset=4");
    each(
        layout,
        SGD,
        (rank, training) -> {
          all.add(training.evaluate(data));
          assertThat(training.parameters()).allSatisfy(p -> assertThat(p.grad()).isEmpty());
        });
    double expected = one.getFirst().sum().orElseThrow();
    assertThat(all)
        .hasSize(12)
        .allSatisfy(e -> {
          assertThat(e.tokens()).isEqualTo(one.getFirst().tokens());
          assertThat(e.sum().orElseThrow()).isCloseTo(expected, within(1e-11 * expected));
        });
  }

  /** Saved in pipelines, continued on the same ranks for both modules, and the other way round. */
  @Test
  void checkpoint_goesOnInAnotherLayout(@TempDir Path folder) {
    TwoModuleLayout apart = layout("tp=2,pp=2,dp=1", "tp=1,cp=2,pp=2,dp=1,offset=4");
    TwoModuleLayout together = layout("tp=1,dp=2", "tp=2,dp=1");
    StepRecord straight = new StepRecord();
    each(
        TwoModuleLayout.ONE_RANK,
        ADAMW,
        (rank, training) -> {
          training.train(data(2));
          training.train(data(2));
          straight.add(rank, training);
        });
    int file = 0;
    for (List<TwoModuleLayout> pair :
        List.of(List.of(apart, together), List.of(together, apart), List.of(apart, apart))) {
      Path to = folder.resolve("step" + file++ + ".safetensors");
      StepRecord resumed = new StepRecord();
      each(
          pair.getFirst(),
          ADAMW,
          (rank, training) -> {
            training.train(data(2));
            training.save(to);
          });
      each(
          pair.getLast(),
          ADAMW,
          (rank, training) -> {
            training.load(to);
            training.train(data(2));
            resumed.add(rank, training);
          });
      for (Map.Entry<String, double[]> e : values(straight, Kind.PARAMETER).entrySet()) {
        assertThat(
                Vectors.error(values(resumed, Kind.PARAMETER).get(e.getKey()), e.getValue(), 1e-3))
            .as("%s, %s", e.getKey(), pair)
            .isLessThan(1e-8);
      }
    }
  }

  /** The projector of a frozen encoder is trained. */
  @Test
  void frozenEncoder_withoutAPipeline_staysAsItIs() {
    Settings frozen = SGD.withFrozen(true);
    TwoModuleLayout layout = layout("tp=2,dp=1", "tp=1,pp=2,dp=2,offset=2");
    StepRecord got = step(layout, frozen, data(2));
    assertThat(error(got, one(frozen, data(2)))).isLessThan(1e-10);
    assertThat(got.of(Kind.GRADIENT)).containsKey("projector.up.weight");
    assertThat(got.of(Kind.GRADIENT)).doesNotContainKey("encoder.embedding.weight");
  }

  // ---- mistakes ----

  @ParameterizedTest
  @CsvSource({"LOSE_MICROBATCH", "SWAP_STAGES", "SKIP_GRADIENT_SUM", "TOKENS_OVER_DP"})
  void mistakes_areSeen(Fault fault) {
    List<Microbatch> data = data(2);
    TwoModuleLayout layout = layout("tp=1,pp=2,dp=2", "tp=1,cp=2,pp=2,dp=1,offset=4");
    StepRecord wrong = step(layout, SGD.withFault(fault), data);
    assertThat(error(wrong, one(SGD, data))).as("%s", fault).isGreaterThan(1e-3);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "INTERLEAVED | tp=1,pp=2,dp=1 | tp=1,pp=2,dp=1,offset=2 | expected the encoder's stages"
            + " before all others, its last on rank 1 and the next on rank 2",
        "ZB_V | tp=1,pp=2,dp=1 | tp=1,pp=2,dp=1,offset=2 | schedule zb-v: ranks 0 to 1 of the"
            + " pipeline have the encoder and 2 to 3 the language model",
        "ONE_F_ONE_B | tp=1,pp=4,dp=1 | tp=1,dp=1,offset=4 | encoder: 3 layers on 4 stages",
        "ONE_F_ONE_B | tp=1,dp=1 | tp=1,pp=4,dp=1,offset=1 | language model: 3 layers on 4 stages",
      })
  void layoutsThatCannotBe_areRefused(
      Schedules named, String encoder, String language, String message) {
    TwoModuleLayout layout = layout(encoder, language).with(ModulePipelines.of(named));
    assertThatThrownBy(() -> layout.schedule(MODEL, 4))
        .isInstanceOf(LayoutException.class)
        .hasMessageContaining(message);
  }

  @Test
  void schedulesThatDeadlock_overTheBridgeToo_areRefusedBeforeTheRun() {
    // the encoder waits for the first gradient before it gives what the language model waits for
    String csv = "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n";
    ModulePipelines pipelines =
        new ModulePipelines(
            (ranks, microbatches) -> ScheduleCsv.parse("stuck.csv", csv),
            Optional.empty(),
            Optional.empty());
    TwoModuleLayout layout = layout("tp=1,dp=2", "tp=2,dp=1,offset=2").with(pipelines);
    assertThatThrownBy(() -> layout.schedule(MODEL, 2))
        .isInstanceOf(LayoutException.class)
        .hasMessageContaining("schedule stuck.csv: deadlock: ");
  }

  @Test
  void frozenEncoderInStages_andTextAlone_areRefused() {
    TwoModuleLayout layout = layout("tp=1,pp=2,dp=1", "tp=1,dp=1,offset=2");
    assertThatThrownBy(() -> step(layout, SGD.withFrozen(true), data(1)))
        .hasMessageContaining("a frozen encoder with pp 2: stages before the projector");
    Microbatch text = new Microbatch(4, 4, new int[16], new int[16], new double[16], new double[0]);
    assertThatThrownBy(() -> step(layout, SGD, List.of(text)))
        .hasMessageContaining("microbatch 0 has no sample of the other modality");
  }
}
