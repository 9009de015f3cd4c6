package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.cli.Golden;
import org.kernbench.device.Mode;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.report.Explanation;
import org.kernbench.eval.report.ExplanationJson;
import org.kernbench.eval.report.ResultJson;

/**
 * Everything that each bench reports, as reviewed: no key gets lost and no number changes unseen.
 * That numbers are right is tested elsewhere, by closed forms and by hand.
 */
final class EveryBenchResultTest {
  /** Smaller than by default. */
  private static final Map<String, List<String>> SMALLER =
      Map.of(
          "ccl-allreduce", List.of("n_elem=512"),
          "collective", List.of("max_size=1 KiB"),
          "gpt3-qkv", List.of("hidden=1024"),
          "rank-scale", List.of("ranks=32", "calls=4"),
          "ring-scale", List.of("ranks=16"),
          "pe2pe", List.of("most=512 B"),
          "tp-mlp", List.of("tokens=32"),
          "transformer-block", List.of("tokens=32"));

  /** Many configurations each, which have goldens of their own. */
  private static final List<String> LONG =
      List.of("ccl-latency-sweep", "milestone-1h-ccl", "milestone-1h-gemm");

  static Stream<String> benches() {
    return BenchRegistry.standard().all().stream().map(Bench::name).filter(n -> !LONG.contains(n));
  }

  private static RunResult run(String bench, Mode mode) {
    RunOptions options =
        RunOptions.DEFAULT.withMode(mode).withParams(SMALLER.getOrDefault(bench, List.of()));
    return Runner.of("test", Progress.SILENT).run(BenchRegistry.standard().find(bench), options);
  }

  @ParameterizedTest
  @MethodSource("benches")
  void result_ofEveryBench_isTheReviewedOne(String bench) {
    RunResult result = run(bench, Mode.TIME);
    assertThat(result.isOk()).as(result.problems().toString()).isTrue();
    Golden.check("eval/results/" + bench + ".json", masked(ResultJson.write(result)));
  }

  /** Names, ranges, defaults and texts: what users build their command lines on. */
  @Test
  void parameters_ofEveryBench_areTheReviewedOnes() {
    StringBuilder all = new StringBuilder();
    for (Bench bench : BenchRegistry.standard().all()) {
      all.append(bench.name()).append(": ").append(bench.description()).append('\n');
      for (Param<?> p : bench.params()) {
        Param.Allowed allowed = p.allowed();
        all.append(
            "  %s = %s  (%s, %s to %s: %s)  %s\n"
                .formatted(
                    p.name(),
                    p.defaultText(),
                    allowed.kind(),
                    allowed.least(),
                    allowed.most(),
                    allowed.text(),
                    p.description()));
      }
    }
    Golden.check("eval/params.txt", all.toString());
  }

  /** One bench each of messages, of an engine, and of a composite. */
  @ParameterizedTest
  @ValueSource(strings = {"hello-send", "softmax", "matmul-composite"})
  void explanation_isTheReviewedOne(String bench) {
    RunOptions options = RunOptions.DEFAULT.withTopology("tiny").withMode(Mode.TIME);
    Explanation explanation =
        Explanation.of(
            Runner.of("test", Progress.SILENT).run(BenchRegistry.standard().find(bench), options));
    Golden.check("eval/explained/" + bench + ".json", masked(ExplanationJson.write(explanation)));
  }

  private static String masked(String text) {
    return text.replaceAll("\"wall_ms\": [0-9.]+", "\"wall_ms\": MASKED")
        .replaceAll("\"events_per_s\": [0-9]+", "\"events_per_s\": MASKED")
        .replaceAll("\"numerics\": \"(plain|vector-\\d+)\"", "\"numerics\": MASKED")
        .replaceAll("\\.java:\\d+", ".java:LINE")
        .replaceAll("[0-9]\\.[0-9]+[eE]-1[0-9]", "ROUND-OFF");
  }
}
