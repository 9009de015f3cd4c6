package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.eval.benches.BenchRegistry;

/** Results say what of a run was simulated. */
final class SimulatedScopeTest {
  private static RunResult run(String bench, RunOptions options, Map<String, String> params) {
    List<String> given =
        params.entrySet().stream().map(p -> p.getKey() + "=" + p.getValue()).toList();
    return Runner.of("test", Progress.SILENT)
        .run(BenchRegistry.standard().find(bench), options.withParams(given).withMode(Mode.TIME));
  }

  private static final Map<String, String> RING = Map.of("ranks", "8", "bytes", "64 KiB");

  @Test
  void allPackages_areEverything() {
    SimulatedScope scope = run("ring-scale", RunOptions.DEFAULT, RING).sim().scope();
    assertThat(scope).isEqualTo(new SimulatedScope(8, 8, 0, 0, 0, 0, ""));
    assertThat(scope.text()).isEqualTo("everything");
  }

  @Test
  void onePackageForAll_isSaid() {
    SimulatedScope scope =
        run("ring-scale", RunOptions.DEFAULT.withFolding(Folding.ON), RING).sim().scope();
    assertThat(scope.text()).isEqualTo("1 of 8 packages, for all");
  }

  /** Of 4 and 512 elements, the smaller cannot be cut in eight equal segments. */
  @Test
  void onePackageForAll_atSomePoints_isSaid() {
    RunOptions options =
        RunOptions.DEFAULT
            .withTopology("ring")
            .withOverrides(List.of("system.sips.count=8"))
            .withFolding(Folding.AUTO);
    Map<String, String> params =
        Map.of("min_size", "8 B", "max_size", "1 KiB", "factor", "128", "algorithm", "ring");
    RunResult result = run("collective", options, params);
    assertThat(result.rows()).hasSize(2);
    assertThat(result.sim().scope().text()).isEqualTo("1 of 8 packages, for all, at 1 of 2 points");
  }

  /** The same layer again and again: what is said are the launches of the condition reuse. */
  @Test
  void launchesThatStandForOthers_areSaid() {
    RunResult result =
        run(
            "train-step",
            RunOptions.DEFAULT.withReuse(Reuse.AUTO).withTopology("tiny"),
            Map.of("model", "tiny-gpt", "layers", "4", "tp", "1"));
    SimulatedScope scope = result.sim().scope();
    assertThat(scope.simulatedLaunches()).isBetween(1L, scope.launches() - 1);
    assertThat(result.params().get("reuse"))
        .asString()
        .contains("of %,d launches".formatted(scope.launches()))
        .contains("%,d simulated".formatted(scope.simulatedLaunches()));
    assertThat(scope.text())
        .isEqualTo(
            "%,d of %,d launches, for all".formatted(scope.simulatedLaunches(), scope.launches()));
  }

  @Test
  void runThatFailed_simulatedNothing() {
    assertThat(SimulatedScope.nothing().text()).isEqualTo("nothing");
  }
}
