package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.benches.TestBenches;
import org.kernbench.eval.report.ResultJson;

/** Every bench runs checked and has no findings; what is checked takes the same simulated time. */
final class CheckedBenchesTest {
  /** Smaller than by default, where that is what a quick test needs. */
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

  /** Many configurations each: with slow tests only. */
  private static final Set<String> LONG =
      Set.of("ccl-latency-sweep", "milestone-1h-ccl", "milestone-1h-gemm", "train-step");

  /** Simulates single calls in mode time and puts their times together: no program to check. */
  private static final Set<String> OF_MANY_RUNS = Set.of("gpt-step", "traffic");

  static Stream<String> benches() {
    return allBenches().filter(n -> !LONG.contains(n));
  }

  static Stream<String> allBenches() {
    return BenchRegistry.standard().all().stream()
        .map(Bench::name)
        .filter(n -> !OF_MANY_RUNS.contains(n));
  }

  private static RunResult run(String name, RunOptions options) {
    return Runner.of("test", Progress.SILENT).run(BenchRegistry.standard().find(name), options);
  }

  @ParameterizedTest
  @MethodSource("benches")
  void bench_checked_hasNoFindings(String name) {
    assertFree(name, RunOptions.DEFAULT.withParams(params(name)));
  }

  @ParameterizedTest
  @MethodSource("allBenches")
  @Tag("slow")
  void bench_defaults_hasNoFindings(String name) {
    assertFree(name, RunOptions.DEFAULT);
  }

  private static List<String> params(String name) {
    Set<String> known =
        Set.copyOf(BenchRegistry.standard().find(name).params().stream().map(Param::name).toList());
    return SMALLER.getOrDefault(name, List.of()).stream()
        .filter(p -> known.contains(p.substring(0, p.indexOf('='))))
        .toList();
  }

  private static void assertFree(String name, RunOptions options) {
    RunResult result = run(name, options.withCheck(true));
    assertThat(result.problems()).as(name).isEmpty();
    assertThat(result.isOk()).as(name).isTrue();
    RunResult.Checked checked = result.checked().orElseThrow();
    assertThat(checked.findings()).isEmpty();
    assertThat(checked.accesses() + checked.messages()).as(name).isPositive();
  }

  @Test
  void bench_checkedOrNot_doesTheSameAtTheSameTime() {
    for (String name : List.of("hello-send", "fused-mlp", "matmul-composite")) {
      assertThat(run(name, RunOptions.DEFAULT.withCheck(true)).sim().opLogHash())
          .as(name)
          .isEqualTo(run(name, RunOptions.DEFAULT).sim().opLogHash());
    }
  }

  @Test
  void wrongBench_checked_failsWithItsFindings() {
    RunOptions checked = RunOptions.DEFAULT.withCheck(true);
    RunResult result =
        Runner.of("test", Progress.SILENT).run(TestBenches.registry().find("race"), checked);
    assertThat(result.status()).isEqualTo(RunResult.Status.CHECK_FAILED);
    assertThat(result.problems()).hasSize(1).first().asString().startsWith("race: tensor x");
    assertThat(ResultJson.write(result))
        .contains("\"status\": \"check_failed\"", "\"kind\": \"race\"", "TestBenches.java:");
    RunResult unchecked =
        Runner.of("test", Progress.SILENT)
            .run(TestBenches.registry().find("race"), RunOptions.DEFAULT);
    assertThat(unchecked.isOk()).isTrue();
    assertThat(unchecked.checked()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpt-step", "traffic"})
  void benchOfManyRuns_checked_isRefused(String bench) {
    RunOptions checked = RunOptions.DEFAULT.withCheck(true);
    assertThatThrownBy(() -> run(bench, checked))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("nothing can be checked");
  }

  @Test
  void benchWithItsOwnMachines_checked_saysWhatToDo() {
    RunOptions checked = RunOptions.DEFAULT.withCheck(true);
    assertThatThrownBy(() ->
            Runner.of("test", Progress.SILENT)
                .run(TestBenches.registry().find("own-recording"), checked))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("context.recording()");
  }

  @Test
  void verify_checked_comparesModesToo() {
    RunOptions options =
        new RunOptions(
            RunOptions.DEFAULT.topology(),
            List.of(),
            RunOptions.DEFAULT.ccl(),
            List.of(),
            List.of(),
            Mode.FULL,
            true);
    RunResult result = run("softmax", options.withCheck(true));
    assertThat(result.isOk()).isTrue();
    assertThat(result.verified()).isNotEmpty();
    assertThat(result.checked()).isPresent();
  }
}
