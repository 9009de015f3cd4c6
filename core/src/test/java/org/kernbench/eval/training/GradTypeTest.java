package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** Gradients in bf16: half the bytes, and the values of a step up to rounding. */
final class GradTypeTest {
  private static final List<String> LAYOUT = List.of("tp=1", "sp=off", "layers=1", "batch=6");

  private static RunResult run(String bench, Mode mode, List<String> layout, String... more) {
    List<String> params = new ArrayList<>(layout);
    params.addAll(List.of(more));
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find(bench),
            RunOptions.DEFAULT.withMode(mode).withParams(params));
  }

  private static long sentForGradients(RunResult result) {
    return result.rows().stream()
        .filter(row -> String.valueOf(row.get("part")).startsWith("gradients"))
        .mapToLong(row -> ((Number) row.get("sent_bytes")).longValue())
        .sum();
  }

  @ParameterizedTest
  @ValueSource(strings = {"dp=3", "dp=2 microbatches=3 zero=2", "dp=1"})
  void trainStep_gradientsInBf16_areThoseOfOneRank(String more) {
    RunResult result =
        run("train-step", Mode.VALUES, LAYOUT, ("grad_dtype=bf16 " + more).split(" "));
    assertThat(result.isOk()).as("%s", result.problems()).isTrue();
  }

  @Test
  void mimo_gradientsInBf16_areThoseOfOneRank() {
    List<String> layout = List.of("encoder=tp=1,dp=2", "language=tp=2,dp=1", "samples=2");
    RunResult result = run("mimo-train-step", Mode.VALUES, layout, "grad_dtype=bf16");
    assertThat(result.isOk()).as("%s", result.problems()).isTrue();
  }

  @Test
  void trainStep_gradientsInBf16_sendHalf() {
    long inF32 = sentForGradients(run("train-step", Mode.TIME, LAYOUT, "dp=3"));
    long inBf16 = sentForGradients(run("train-step", Mode.TIME, LAYOUT, "dp=3", "grad_dtype=bf16"));
    assertThat(inF32).isPositive();
    assertThat(2 * inBf16).isEqualTo(inF32);
  }

  /** Coarser gradients hide no gradient that was not summed. */
  @Test
  void trainStep_gradientsInBf16WithMistake_isFoundWrong() {
    RunResult result =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("train-step"),
                RunOptions.DEFAULT
                    .withMode(Mode.VALUES)
                    .withParams(
                        List.of(
                            "tp=1",
                            "sp=off",
                            "layers=1",
                            "dp=2",
                            "grad_dtype=bf16",
                            Injection.PARAM.name() + "=skip-gradient-sum")));
    assertThat(result.isOk()).isFalse();
  }
}
