package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** What experts do not compute, for they are full, is no product of the step. */
final class DroppedCopiesTest {
  private static RunResult run(String params) {
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find("train-step"),
            RunOptions.DEFAULT.withMode(Mode.TIME).withParams(List.of(params.split(" "))));
  }

  private static double metric(RunResult result, String name) {
    return Double.parseDouble(String.valueOf(result.metrics().get(name)));
  }

  @ParameterizedTest
  @CsvSource({
    "model=tiny-moe tp=1 dp=4 batch=4 ep=4 skew=200, 4, capacity=100",
    "model=tiny-moe tp=2 batch=2 skew=300 recompute=full, 2, capacity=50",
    "model=tiny-moe tp=1 skew=300 batch=1 topk=8, 1, capacity=1",
    "model=tiny-moe tp=1 pp=2 layers=4 skew=300 batch=1 schedule=zb-v, 2, capacity=50",
  })
  void products_areOfCopiesThatAreLeft(String params, int ranks, String capacity) {
    RunResult all = run(params);
    RunResult some = run(params + " " + capacity);
    double dropped = metric(some, "expert_dropped");
    assertThat(dropped).isGreaterThan(40);
    // forwards and twice backwards, two operations each, three matrices of 48 x 48
    double lessGflop = dropped * 3 * 2 * 3 * 48 * 48 / ranks / 1e9;
    assertThat(metric(all, "rank_gflop") - metric(some, "rank_gflop"))
        .isCloseTo(lessGflop, within(1.1e-4));
    assertThat(metric(some, "mfu_pct") * metric(some, "crit_ns"))
        .isLessThan(metric(all, "mfu_pct") * metric(all, "crit_ns"));
    assertThat(some.problems()).isEmpty();
  }
}
