package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.report.ResultJson;
import org.kernbench.machine.Machines;

/**
 * The calls of a step take what their benches take, whoever asks first; what cannot be is refused.
 */
final class GptStepBenchTest {
  private static final BenchRegistry BENCHES = BenchRegistry.standard();

  private static RunResult run(Bench bench, String topology, String... params) {
    return Runner.of("test", Progress.SILENT)
        .run(
            bench,
            RunOptions.DEFAULT
                .withTopology(topology)
                .withMode(Mode.TIME)
                .withParams(List.of(params)));
  }

  private static CallTimes times() {
    return new CallTimes(
        Machines.load("dgx-a100", List.of()),
        CclConfig.load(java.util.Optional.empty(), List.of()),
        "ring");
  }

  private static long ps(RunResult result, String metric) {
    return ((BigDecimal) result.metrics().get(metric)).movePointRight(3).longValueExact();
  }

  @Test
  void product_takesWhatTheBenchOfProductsTakes() {
    RunResult alone =
        run(BENCHES.find("matmul-composite"), "dgx-a100", "m=1024", "k=512", "n=768", "batch=2");

    assertThat(times().of(new StepCall.Product(1024, 512, 768, 2)).ps())
        .isEqualTo(ps(alone, "crit_ns"));
  }

  @Test
  void allReduce_takesWhatTheBenchOfCollectivesTakes() {
    RunResult alone =
        run(
            BENCHES.find("collective"),
            "dgx-a100",
            "algorithm=ring",
            "ranks=4",
            "min_size=1 MiB",
            "max_size=1 MiB");

    assertThat(times().of(new StepCall.AllReduce(4, 2, 1 << 20)).ps())
        .isEqualTo(ps(alone, "crit_ns"));
  }

  /** Bytes over the rate of memory, and never less. */
  @Test
  void stream_takesItsBytesOverTheRateOfMemory() {
    long ps =
        times()
            .of(
                new StepCall.Stream(
                    org.kernbench.machine.spec.OperationClass.OTHER, 256L << 20, 128L << 20))
            .ps();
    double least = (384L << 20) / (2039e9 * 0.9) * 1e12;

    assertThat((double) ps).isBetween(least, 1.15 * least);
  }

  @Test
  void step_isTheSame_whateverWasAskedBefore() {
    Bench used = new GptStepBench();
    String[] wanted = {"tp=2", "pp=2", "dp=2", "batch=8", "microbatch=2"};
    run(used, "dgx-a100", "tp=2", "batch=4", "microbatch=2");

    RunResult again = run(used, "dgx-a100", wanted);
    RunResult fresh = run(new GptStepBench(), "dgx-a100", wanted);

    assertThat(again.metrics()).isEqualTo(fresh.metrics());
    assertThat(masked(again)).isEqualTo(masked(fresh));
  }

  private static String masked(RunResult result) {
    return ResultJson.write(result).replaceAll("\"(wall_ms|events_per_s)\": [0-9.]+", "");
  }

  @Test
  void moreRecomputing_takesLonger_byTheForwardPassOfLayers() {
    String[] base = {"layers=4", "batch=4"};
    long without = ps(run(new GptStepBench(), "dgx-a100", base), "crit_ns");
    long with =
        ps(run(new GptStepBench(), "dgx-a100", "layers=4", "batch=4", "recompute=on"), "crit_ns");

    assertThat(with).isGreaterThan(without);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          dgx-a100 | tp=16  | tp x dp x pp is 16 ranks; machine dgx-a100 has 8 packages
          sip-2026 | dp=2   | on machine sip-2026 the packages' groups share links
          dgx-a100 | pp=4   | pp is 4 and layers 2; expected a divisor of it
          dgx-a100 | heads=3| heads is 3 and hidden 64; expected a divisor of it
          """)
  void whatCannotBe_isRefused(String topology, String param, String message) {
    assertThatThrownBy(() -> run(new GptStepBench(), topology, param))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(message);
  }
}
