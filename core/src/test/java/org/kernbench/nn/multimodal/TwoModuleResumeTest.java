package org.kernbench.nn.multimodal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.TwoModules;
import org.kernbench.nn.multimodal.Microbatches.Masks;
import org.kernbench.nn.multimodal.TwoModuleTraining.Evaluation;
import org.kernbench.nn.multimodal.TwoModuleTraining.Method;
import org.kernbench.nn.multimodal.TwoModuleTraining.Settings;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.LearningRate;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.NpyArray;
import org.kernbench.tensor.SafeTensors;
import org.kernbench.tensor.Shape;

/** Training of two modules that stops, goes on in other layouts, and is looked at in between. */
final class TwoModuleResumeTest {
  private static final TwoModuleConfig MODEL = TwoModules.SMALL;
  private static final List<List<Microbatch>> DATA = batches();

  /** Each step has another rate, so a lost count of steps shows. */
  private static final LearningRate RATES =
      new LearningRate(0.02, 0.001, 2, 6, LearningRate.Decay.COSINE);

  private static final Settings ADAMW =
      Settings.of(DType.F64).withInit(7, 0.3).withMethod(Method.ADAMW, 0.5);
  private static final Settings DIVIDED =
      ADAMW.withData(DataParallel.DEFAULT.withBucketBytes(1500).withDistributedOptimizer(true));

  @TempDir Path folder;

  /** Two microbatches for each of four steps. */
  private static List<List<Microbatch>> batches() {
    List<List<Microbatch>> all = new ArrayList<>();
    for (int step = 0; step < 4; step++) {
      all.add(Microbatches.random(MODEL, 4, 8, 2, Masks.UNEVEN, 11 + step));
    }
    return all;
  }

  private static TwoModuleLayout layout(String pair) {
    String[] parts = pair.split(" -> ");
    return TwoModules.layout(parts[0], parts[1].replace(" sp", ""), parts[1].endsWith(" sp"));
  }

  private static void run(TwoModuleLayout layout, Settings s, Consumer<TwoModuleTraining> body) {
    run(Ranks.Devices.ONE_PE, layout, s, body);
  }

  private static void run(
      Ranks.Devices devices, TwoModuleLayout layout, Settings s, Consumer<TwoModuleTraining> body) {
    Ranks.run(
        devices,
        layout.worldSize(),
        Mode.VALUES,
        w -> {
          try (TwoModuleTraining t = TwoModuleTraining.create(w, MODEL, layout, s).orElseThrow()) {
            t.follow(RATES);
            body.accept(t);
          }
        });
  }

  private static void train(TwoModuleTraining t, int from, int to) {
    for (int step = from; step < to; step++) {
      t.train(DATA.get(step));
    }
  }

  private Path file(String name) {
    return folder.resolve(name + ".safetensors");
  }

  /** What four steps without a stop come to, as a file. */
  private Path straight(TwoModuleLayout layout, Settings s) {
    Path end = file("straight");
    run(
        layout,
        s,
        t -> {
          train(t, 0, 4);
          t.save(end);
        });
    return end;
  }

  private static void forEach(Path a, Path b, BiConsumer<NpyArray, NpyArray> both)
      throws IOException {
    SafeTensors first = SafeTensors.open(a);
    SafeTensors second = SafeTensors.open(b);
    assertThat(first.names()).isEqualTo(second.names());
    for (String name : first.names()) {
      both.accept(first.read(name), second.read(name));
    }
  }

  private static double[] values(NpyArray a) {
    double[] values = new double[Math.toIntExact(a.shape().elements())];
    Arrays.setAll(values, i -> a.dtype().getDouble(a.bytes(), i * a.dtype().sizeBytes()));
    return values;
  }

  // ---- stop and go on ----

  /** In the layout that saved, with whole and divided optimizers: no bit differs. */
  @ParameterizedTest
  @CsvSource({"false", "true"})
  void resumed_inTheSameLayout_hasTheSameBits(boolean divided) {
    Settings s = divided ? DIVIDED : ADAMW;
    TwoModuleLayout layout = layout("tp=2,dp=2 -> tp=2,cp=2,dp=1 sp");
    Path half = file("half");
    Path end = file("end");
    run(
        layout,
        s,
        t -> {
          train(t, 0, 2);
          t.save(half);
        });
    run(
        layout,
        s.withInit(99, 0.1),
        t -> {
          t.load(half);
          assertThat(t.steps()).isEqualTo(2);
          train(t, 2, 4);
          assertThat(t.rate()).isEqualTo(RATES.of(4));
          t.save(end);
        });
    assertThat(end).hasSameBinaryContentAs(straight(layout, s));
  }

  /**
   * Two steps in one layout, two more in another of both modules, with another number of ranks and
   * another division of the optimizer: what one rank comes to in four steps, states included.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=2,dp=2 -> tp=1,cp=2,dp=2 | tp=1,dp=2 -> tp=2,dp=1 sp",
        "tp=4,dp=1 -> tp=2,dp=2 sp   | tp=1,dp=4 -> tp=1,cp=2,dp=2",
        "tp=1,dp=1 -> tp=1,dp=1      | tp=2,dp=1 -> tp=1,dp=2"
      })
  void resumed_inOtherLayouts_isWhatOneRankComesTo(String before, String after) throws IOException {
    Path half = file("half");
    Path end = file("end");
    run(
        layout(before.strip()),
        DIVIDED,
        t -> {
          train(t, 0, 2);
          t.save(half);
        });
    run(
        layout(after.strip()),
        ADAMW.withInit(99, 0.1),
        t -> {
          t.load(half);
          train(t, 2, 4);
          t.save(end);
        });
    forEach(
        end,
        straight(TwoModuleLayout.ONE_RANK, ADAMW),
        (got, expected) -> {
          assertThat(got.shape()).isEqualTo(expected.shape());
          assertThat(values(got)).containsExactly(values(expected), within(1e-10));
        });
  }

  /** Shorter types keep masters, which are in the file as well; ranks that are packages. */
  @Test
  void bf16OnPackages_savedAndLoaded_hasMastersAndTheSameBits() throws IOException {
    Settings s = DIVIDED.in(DType.BF16);
    TwoModuleLayout layout = layout("tp=1,dp=2 -> tp=2,dp=1");
    Path half = file("half");
    Path again = file("again");
    run(
        Ranks.Devices.PACKAGES,
        layout,
        s,
        t -> {
          train(t, 0, 1);
          t.save(half);
        });
    run(
        Ranks.Devices.PACKAGES,
        layout("tp=2,dp=1 -> tp=1,dp=2"),
        s.withInit(99, 0.1),
        t -> {
          double before = t.evaluate(DATA.get(0)).sum().orElseThrow(); // copies of weights are made
          t.load(half);
          assertThat(t.evaluate(DATA.get(0)).sum().orElseThrow()).isNotEqualTo(before);
          t.save(again);
        });
    assertThat(again).hasSameBinaryContentAs(half);
    assertThat(SafeTensors.open(half).names())
        .contains(
            "projector.up.weight",
            "optimizer.projector.up.weight.master",
            "optimizer.head.weight.square",
            "optimizer.steps");
  }

  // ---- files that are refused ----

  private static Map<String, NpyArray> tensors(Path file) throws IOException {
    SafeTensors open = SafeTensors.open(file);
    Map<String, NpyArray> all = new LinkedHashMap<>();
    for (String name : open.names()) {
      all.put(name, open.read(name));
    }
    return all;
  }

  /** Refused in one message, and nothing of it has been taken over. */
  private void assertRefused(Map<String, NpyArray> tensors, String message) throws IOException {
    Path bad = file("bad");
    SafeTensors.write(bad, tensors, Map.of());
    assertRefused(bad, message);
  }

  private static void assertRefused(Path bad, String message) {
    run(
        TwoModuleLayout.ONE_RANK,
        ADAMW,
        t -> {
          List<byte[]> before = t.parameters().stream().map(p -> p.value().toBytes()).toList();
          assertThatThrownBy(() -> t.load(bad)).hasMessageContaining(message);
          assertThat(t.parameters().stream().map(p -> p.value().toBytes()))
              .containsExactlyElementsOf(before);
          assertThat(t.steps()).isZero();
        });
  }

  @Test
  void load_aMangledFile_isRefusedAndChangesNothing() throws IOException {
    Path good = file("good");
    run(
        TwoModuleLayout.ONE_RANK,
        ADAMW,
        t -> {
          train(t, 0, 1);
          t.save(good);
        });
    Map<String, NpyArray> without = tensors(good);
    without.remove("projector.up.weight");
    assertRefused(without, "missing [projector.up.weight], not known here []");

    Map<String, NpyArray> turned = tensors(good);
    NpyArray position = turned.get("optimizer.projector.down.weight.mean");
    Shape shape = Shape.of(1, Math.toIntExact(position.shape().elements()));
    turned.put(
        "optimizer.projector.down.weight.mean",
        new NpyArray(position.dtype(), shape, position.bytes()));
    assertRefused(turned, "tensor optimizer.projector.down.weight.mean has shape " + shape);

    Map<String, NpyArray> steps = tensors(good);
    byte[] minus = new byte[Long.BYTES];
    DType.I64.putDouble(minus, 0, -3);
    steps.put("optimizer.steps", new NpyArray(DType.I64, Shape.of(1), minus));
    assertRefused(steps, "optimizer.steps is -3; expected one number in i64, 0 or more");

    Path torn = file("torn");
    Files.write(torn, Arrays.copyOf(Files.readAllBytes(good), (int) Files.size(good) - 8));
    assertRefused(torn, "bytes");
  }

  // ---- evaluation ----

  /** The loss that the next step finds, on all ranks, and no bit of anything is another. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=1,dp=1 -> tp=1,dp=1",
        "tp=2,dp=2 -> tp=1,cp=2,dp=2",
        "tp=1,dp=4 -> tp=2,dp=2 sp"
      })
  void evaluate_isTheLossOfTheNextStep_andChangesNothing(String pair) throws IOException {
    TwoModuleLayout layout = layout(pair);
    double[] sums = new double[layout.ranks()];
    double[] trained = new double[layout.ranks()];
    Path before = file("before");
    Path after = file("after");
    run(
        layout,
        DIVIDED,
        t -> {
          train(t, 0, 1);
          t.save(before);
          Evaluation seen = t.evaluate(DATA.get(1));
          t.save(after);
          assertThat(t.steps()).isOne();
          int rank = Math.toIntExact(Arrays.stream(sums).filter(x -> x != 0).count());
          sums[rank] = seen.sum().orElseThrow();
          assertThat(seen.tokens())
              .isEqualTo(DATA.get(1).stream().mapToInt(Microbatch::tokens).sum());
          assertThat(seen.mean().orElseThrow()).isEqualTo(sums[rank] / seen.tokens());
          trained[rank] = t.train(DATA.get(1)).orElseThrow();
        });
    assertThat(after).hasSameBinaryContentAs(before);
    assertThat(sums).containsOnly(sums[0]);
    double tp = layout.language().size("tp"); // whose ranks have the same tokens
    assertThat(Arrays.stream(trained).sum() / tp).isCloseTo(sums[0], within(1e-10));
  }

  @Test
  void parameter_byName_isFoundOrRefusedWithTheNames() {
    run(
        TwoModuleLayout.ONE_RANK,
        ADAMW,
        t -> {
          assertThat(t.parameter("projector.up.weight")).isIn(t.encoderParameters());
          assertThat(t.parameter("head.weight")).isIn(t.languageParameters());
          assertThat(t.parameters())
              .hasSize(t.encoderParameters().size() + t.languageParameters().size());
          assertThatThrownBy(() -> t.parameter("projector.up.wight"))
              .hasMessageStartingWith("no parameter is named projector.up.wight; expected one of [")
              .hasMessageContaining("projector.up.weight");
        });
  }
}
