package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.benches.BenchRegistry;

/** Mode time computes times and nothing else: neither a kernel's values nor a reference's. */
final class TimeModeNumericsTest {
  private static final Map<String, List<String>> SMALL =
      Map.of(
          "rank-scale", List.of("ranks=16"),
          "ring-scale", List.of("ranks=8", "bytes=64 KiB"),
          "train-step", List.of("layers=1", "tokens=24"),
          "mimo-train-step",
              List.of(
                  "encoder=tp=1,dp=2",
                  "language=tp=2,cp=1,dp=1",
                  "encoder_layers=1",
                  "language_layers=1",
                  "tokens=24",
                  "samples=2"));

  private static final Map<String, String> POINT =
      Map.of(
          "ccl-latency-sweep", "torus_2d n_elem=512",
          "milestone-1h-ccl", "3",
          "milestone-1h-gemm", "32x128x32 load_ref",
          "collective", "n_elem=64",
          "pe2pe", "same cube, nearest, 4096 B, queue");

  /** Runs a bench; its classes come from the loader that counts. */
  public static final class Run implements BiConsumer<String, String> {
    /** For the loader. */
    public Run() {}

    @Override
    public void accept(String benchAndParams, String mode) {
      List<String> words = List.of(benchAndParams.split(" "));
      String bench = words.getFirst();
      List<String> params = new ArrayList<>(SMALL.getOrDefault(bench, List.of()));
      params.addAll(words.subList(1, words.size()));
      RunOptions options =
          RunOptions.DEFAULT.withMode(Mode.valueOf(mode)).withParams(List.copyOf(params));
      Runner.of("test", Progress.SILENT)
          .run(
              BenchRegistry.standard().find(bench),
              POINT.containsKey(bench) ? options.withPoint(POINT.get(bench)) : options);
    }
  }

  static Stream<String> benches() {
    return BenchRegistry.standard().all().stream().map(Bench::name);
  }

  /** What is left, of the size of a table or of the ids of the tokens. */
  private static final Map<String, Long> ALLOWED =
      Map.of(
          "tensor/MiniFloat.<init>", 600L, // decoding tables of the 8-bit types
          "eval/benches/AllReduceRun$Results.<init>", 2L, // empty arrays
          // weights of the loss, one per token: an argument of the step, as the ids are
          "eval/training/TrainingProgram.samples", 200L,
          "eval/training/TrainingProgram$Samples.<init>", 2L,
          "eval/training/TrainingProgram.step", 2L,
          "nn/experts/Routing.drawn", 2000L, // who sends to whom: tokens times experts
          "nn/multimodal/Microbatch", 200L,
          "nn/multimodal/EncoderPart", 100L,
          "nn/multimodal/LanguagePart", 300L);

  private static Map<String, Long> run(String bench, Mode mode)
      throws ReflectiveOperationException {
    ClassLoader loader = new CountingLoader(TimeModeNumericsTest.class.getClassLoader());
    @SuppressWarnings("unchecked")
    var run =
        (BiConsumer<String, String>)
            loader.loadClass(Run.class.getName()).getConstructor().newInstance();
    HostNumerics.taken();
    run.accept(bench, mode.name());
    return HostNumerics.taken();
  }

  private static boolean isAllowed(String place, long times) {
    return ALLOWED.entrySet().stream()
        .anyMatch(e -> place.startsWith(e.getKey()) && times <= e.getValue());
  }

  @ParameterizedTest
  @MethodSource("benches")
  void timeMode_everyBench_computesNoValue(String bench) throws ReflectiveOperationException {
    Map<String, Long> counts = run(bench, Mode.TIME);

    counts.entrySet().removeIf(e -> isAllowed(e.getKey(), e.getValue()));
    assertThat(counts).isEmpty();
  }

  /** Tables of constants are values, too: those of rotary angles, which the default model lacks. */
  @Test
  void timeMode_aModelWithRotaryAngles_computesNoValues() throws ReflectiveOperationException {
    Map<String, Long> counts = run("train-step model=tiny-llama", Mode.TIME);

    counts.entrySet().removeIf(e -> isAllowed(e.getKey(), e.getValue()));
    assertThat(counts).isEmpty();
  }

  /** The counters see kernels, inputs and references where there are any. */
  @Test
  void fullMode_aBench_isSeenToComputeValues() throws ReflectiveOperationException {
    assertThat(run("softmax", Mode.FULL))
        .containsKeys(
            "device/log/ComputeKernels.run",
            "eval/benches/KernelBed.uniform",
            "eval/benches/ReferenceFunctions.softmax",
            "eval/benches/SoftmaxBench.want");
  }
}
