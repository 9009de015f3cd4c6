package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** Sums of gradients go as asked. */
final class TrainingAlgorithmTest {
  /** Links so slow that nothing else counts. */
  private static final List<String> SLOW = List.of("system.links.sip_to_sip.bandwidth=10 MB/s");

  private static RunResult run(Mode mode, String... more) {
    Map<String, String> values = new LinkedHashMap<>();
    for (String param :
        List.of("tp=1", "sp=off", "dp=3", "batch=3", "rank_level=sip", "rows=operations")) {
      put(values, param);
    }
    put(values, "spread=lead");
    Stream.of(more).forEach(param -> put(values, param));
    List<String> params = new ArrayList<>();
    values.forEach((name, value) -> params.add(name + "=" + value));
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find("train-step"),
            RunOptions.DEFAULT.withMode(mode).withParams(params).withOverrides(SLOW));
  }

  private static void put(Map<String, String> values, String param) {
    values.put(param.substring(0, param.indexOf('=')), param.substring(param.indexOf('=') + 1));
  }

  private static double ns(RunResult result, String metric) {
    assertThat(result.isOk()).as("%s", result.problems()).isTrue();
    return ((Number) result.metrics().get(metric)).doubleValue();
  }

  /** Of two links between neighbours one way's worth is free while a ring goes the other way. */
  @Test
  void trainStep_ringBothWays_takesLessTime() {
    RunResult ring = run(Mode.TIME, "algorithm=ring");
    RunResult both = run(Mode.TIME, "algorithm=ring_bidirectional");
    assertThat(ns(both, "comm_ns")).isLessThan(0.9 * ns(ring, "comm_ns"));
    assertThat(operations(ring)).contains("allReduce (ring)");
    assertThat(operations(both))
        .contains("allReduce (ring_bidirectional)")
        .doesNotContain("allReduce (ring)");
  }

  private static List<Object> operations(RunResult result) {
    return result.rows().stream().map(row -> row.get("operation")).toList();
  }

  @Test
  void trainStep_ringBothWays_computesTheSame() {
    assertThat(run(Mode.VALUES, "algorithm=ring_bidirectional").isOk()).isTrue();
  }

  /**
   * Three packages are a ring with links both ways: twice the rate of a ring that goes one way. The
   * default finds an algorithm that uses both; a sum of all takes no less than both links need.
   */
  @Test
  void trainStep_byLevelOnPackages_takesTheQuickest() {
    RunResult ring = run(Mode.TIME, "algorithm=ring");
    RunResult chosen = run(Mode.TIME, "batch=3"); // says nothing of an algorithm
    assertThat(ns(chosen, "comm_ns")).isLessThan(0.6 * ns(ring, "comm_ns"));
    Object name = chosen.params().get("all_reduce");
    assertThat(operations(chosen)).contains("allReduce (" + name + ")");
    assertThat(tried(chosen)).containsKeys("ring", "packed_trees").doesNotContainKey("in_switch");
    double least = tried(chosen).values().stream().mapToDouble(ps -> ps).min().orElseThrow();
    assertThat(tried(chosen).get(String.valueOf(name))).isEqualTo(least);
    assertThat(run(Mode.TIME, "algorithm=auto").metrics()).isEqualTo(chosen.metrics());
    assertThat(run(Mode.TIME, "algorithm=" + name).metrics()).isEqualTo(chosen.metrics());
  }

  /** Times by name, from the text that people read. */
  private static Map<String, Double> tried(RunResult result) {
    Map<String, Double> times = new TreeMap<>();
    for (String one : String.valueOf(result.params().get("all_reduce_tried")).split(", ")) {
      String[] words = one.split(" ");
      times.put(words[0], Double.valueOf(words[1]));
    }
    return times;
  }

  /** Parts of a package sum by ring unless told otherwise, and nothing is tried. */
  @ParameterizedTest
  @CsvSource({"pe, by_level", "cube, by_level", "sip, ring"})
  void trainStep_otherwise_triesNothing(String level, String algorithm) {
    RunResult result = run(Mode.TIME, "algorithm=" + algorithm, "rank_level=" + level, "layers=1");
    assertThat(result.params()).doesNotContainKey("all_reduce_tried");
    assertThat(operations(result)).contains("allReduce (ring)");
  }
}
