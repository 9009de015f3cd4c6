package org.kernbench.eval.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.explain.Sensitivity;
import org.kernbench.eval.explain.Sensitivity.Verdict;
import org.kernbench.eval.report.Explanation;

/**
 * Every bench there is can be explained: its path covers its time, every picosecond has a cost, and
 * what a changed number of the machine is said to do is what a simulation of that machine does, or
 * the path is another one.
 */
final class EveryBenchExplainedTest {
  private static final BenchRegistry BENCHES = BenchRegistry.standard();
  private static final Runner RUNNER = Runner.of("test", Progress.SILENT);

  /** What makes large benches small, and one point of those whose points take long. */
  private static final Map<String, List<String>> SMALL =
      Map.of(
          "rank-scale", List.of("ranks=16"),
          "traffic", List.of("cycles=50", "warm_up=10"),
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

  /** Of the slow part: what those take less of that would run for minutes. */
  private static final Map<String, List<String>> LARGE =
      Map.of(
          "rank-scale", List.of("ranks=32"),
          "mimo-train-step", List.of("encoder_layers=1", "language_layers=1", "tokens=24"));

  private static final Map<String, String> POINT =
      Map.of(
          "ccl-latency-sweep", "torus_2d n_elem=512",
          "milestone-1h-ccl", "3",
          "milestone-1h-gemm", "32x128x32 load_ref",
          "collective", "n_elem=64",
          "pe2pe", "same cube, nearest, 4096 B, queue");

  /** Puts times of calls together that were simulated one by one: there is no path through all. */
  private static final Set<String> OF_MANY_RUNS = Set.of("gpt-step", "traffic");

  static Stream<String> benches() {
    return BENCHES.all().stream().map(Bench::name).filter(n -> !OF_MANY_RUNS.contains(n));
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpt-step", "traffic"})
  void explain_benchOfManyRuns_isRefusedAndPointsToItsRows(String bench) {
    RunResult result = RUNNER.runToExplain(BENCHES.find(bench), small(bench));
    assertThat(result.rows()).isNotEmpty();
    assertThatThrownBy(() -> Explanation.of(result))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("; the rows say");
  }

  private static RunOptions small(String bench) {
    RunOptions options =
        RunOptions.DEFAULT.withMode(Mode.TIME).withParams(SMALL.getOrDefault(bench, List.of()));
    return POINT.containsKey(bench) ? options.withPoint(POINT.get(bench)) : options;
  }

  @ParameterizedTest
  @MethodSource("benches")
  void explain_everyBench_coversItsTimeAndKnowsEveryCost(String name) {
    Bench bench = BENCHES.find(name);
    RunOptions options = small(name);
    RunResult result = RUNNER.runToExplain(bench, options);
    Explanation e = Explanation.of(result);
    Breakdown path = e.breakdown();

    assertThat(Numbers.ns(path.totalPs())).isEqualTo(result.metrics().get("crit_ns"));
    assertThat(path.unexplainedPs()).isZero();
    assertThat(path.lengthOn(path.machine())).isEqualTo(path.totalPs());
    assertThat(path.shares().stream().mapToLong(Breakdown.Share::ps).sum())
        .isEqualTo(path.totalPs());

    // the two strongest numbers that allow one percent, simulated
    RunOptions again = result.point().map(options::withPoint).orElse(options);
    Sensitivity.Simulation simulation = RUNNER.simulationOf(bench, again);
    List<Sensitivity> strongest =
        e.sensitivities().stream()
            .filter(s -> s.more().filter(Sensitivity.Effect::isOnePercent).isPresent())
            .filter(s -> s.less().isPresent())
            .limit(2)
            .toList();
    assertThat(strongest).isNotEmpty();
    for (Sensitivity s : strongest) {
      assertThat(verdicts(s.verified(path, simulation), path))
          .as("%s of %s", s.parameter().path(), name)
          .isNotEmpty()
          .doesNotContain(Verdict.DIFFERS);
    }
  }

  private static List<Verdict> verdicts(Sensitivity s, Breakdown path) {
    return Stream.of(s.more(), s.less())
        .flatMap(Optional::stream)
        .filter(Sensitivity.Effect::isOnePercent)
        .flatMap(x -> s.verdict(x, path.totalPs()).stream())
        .toList();
  }

  /** All numbers of the machine; prints a row of the table of docs/explain-guide.md. */
  @Tag("slow")
  @Timeout(value = 1, unit = TimeUnit.HOURS)
  @ParameterizedTest
  @MethodSource("benches")
  void sensitivities_everyNumberOfABench_agreeOrSayThatThePathSwitches(String name) {
    Bench bench = BENCHES.find(name);
    RunOptions options =
        RunOptions.DEFAULT.withMode(Mode.TIME).withParams(LARGE.getOrDefault(name, List.of()));
    RunResult result = RUNNER.runToExplain(bench, options);
    RunOptions again = result.point().map(options::withPoint).orElse(options);
    Explanation e =
        Explanation.of(result).verified(RUNNER.simulationOf(bench, again), Progress.SILENT);
    Map<Verdict, Integer> counts = new EnumMap<>(Verdict.class);
    List<String> wrong = new ArrayList<>();
    for (Sensitivity s : e.sensitivities()) {
      for (Verdict v : verdicts(s, e.breakdown())) {
        counts.merge(v, 1, Integer::sum);
        if (v == Verdict.DIFFERS) {
          wrong.add(s.parameter().path());
        }
      }
    }
    System.out.printf(
        Locale.ROOT,
        "| `%s` | %d | %d | %d | %d |%n",
        name + result.point().map(p -> " --point \"" + p + "\"").orElse(""),
        counts.values().stream().mapToInt(Integer::intValue).sum(),
        counts.getOrDefault(Verdict.AGREES, 0),
        counts.getOrDefault(Verdict.SWITCHES, 0),
        counts.getOrDefault(Verdict.DIFFERS, 0));
    assertThat(counts).isNotEmpty();
    assertThat(wrong).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"2", "n_elem=64", "N-ELEM=64", " n_elem=64 "})
  void point_byNumberOrName_runsThatOneAlone(String point) {
    RunOptions options = RunOptions.DEFAULT.withMode(Mode.TIME).withPoint(point);
    RunResult result = RUNNER.run(BENCHES.find("collective"), options);

    assertThat(result.rows()).hasSize(1);
    assertThat(result.rows().getFirst()).containsEntry("n_elem", 64L);
    assertThat(result.point()).contains("n_elem=64");
    assertThat(result.path()).isPresent();
  }

  /** The time of a point does not depend on whether the others ran. */
  @Test
  void point_alone_takesWhatItsRowSays() {
    RunOptions options =
        RunOptions.DEFAULT.withMode(Mode.TIME).withParams(List.of("max_size=1 KiB"));
    Bench bench = BENCHES.find("collective");
    List<Map<String, Object>> rows = RUNNER.run(bench, options).rows();
    assertThat(rows).hasSizeGreaterThan(2);
    for (int i = 0; i < rows.size(); i++) {
      RunResult alone = RUNNER.run(bench, options.withPoint(Integer.toString(i + 1)));
      assertThat(alone.rows()).containsExactly(rows.get(i));
    }
  }

  @Test
  void point_thatThereIsNot_namesTheNearest() {
    assertThatThrownBy(() ->
            RUNNER.run(
                BENCHES.find("collective"),
                RunOptions.DEFAULT.withMode(Mode.TIME).withPoint("n_elem=65")))
        .isInstanceOf(UsageException.class)
        .hasMessage(
            "--point n_elem=65: expected 1 to 6 or a name, such as \"n_elem=8\"; did you mean"
                + " n_elem=64?");
    assertThatThrownBy(
            () -> RUNNER.run(BENCHES.find("hello-send"), RunOptions.DEFAULT.withPoint("1")))
        .isInstanceOf(UsageException.class)
        .hasMessage("--point 1: the bench has no points; leave it out");
  }
}
