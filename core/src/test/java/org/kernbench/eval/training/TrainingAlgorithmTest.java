package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.config.UsageException;
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

  private static RunResult run(Mode mode, String algorithm) {
    List<String> params =
        List.of(
            "tp=1",
            "sp=off",
            "dp=3",
            "batch=3",
            "rank_level=sip",
            "spread=lead",
            "rows=operations",
            algorithm);
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find("train-step"),
            RunOptions.DEFAULT.withMode(mode).withParams(params).withOverrides(SLOW));
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

  @Test
  void trainStep_autoOnPackages_isRefusedWithNames() {
    assertThatThrownBy(() -> run(Mode.TIME, "algorithm=auto"))
        .isInstanceOf(UsageException.class)
        .hasMessageContainingAll("--param algorithm: got \"auto\"", "torus_both_orders");
  }
}
