package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machines;
import org.kernbench.machine.report.MachineReport;

/** What a table of runs says of the slowest of them is what that run says alone. */
final class PointsAloneTest {
  private static RunResult run(String bench, RunOptions options) {
    return Runner.of("test", Progress.SILENT).run(BenchRegistry.standard().find(bench), options);
  }

  @ParameterizedTest
  @CsvSource({
    "collective, ring, algorithm=ring max_size=16KiB",
    "collective, model-sips, op=all_gather max_size=16KiB",
    "collective, dgx-a100, max_size=64KiB",
    "collective, sip-2026, rank_level=sip min_size=16KiB max_size=16KiB",
    "ccl-latency-sweep, sip-2026, ''",
    "pe-dma, sip-2026, ''",
    "pe-dma, ring, bytes=4KiB",
    "pe2pe, tiny, most=512B",
  })
  void slowest_alone_takesAsLong(String bench, String machine, String params) {
    RunOptions options =
        RunOptions.DEFAULT
            .withTopology(machine)
            .withMode(Mode.TIME)
            .withParams(params.isEmpty() ? List.of() : List.of(params.split(" ")));
    RunResult all = run(bench, options);
    RunResult one = run(bench, options.withPoint(all.point().orElseThrow()));
    for (String metric : List.of("crit_ns", "observed_ns", "bound_ns", "bound_kind")) {
      assertThat(all.metrics().get(metric)).as(metric).isEqualTo(one.metrics().get(metric));
    }
    assertThat(ns(all, "observed_ns")).isGreaterThan(ns(all, "crit_ns"));
  }

  private static double ns(RunResult result, String metric) {
    return ((BigDecimal) result.metrics().get(metric)).doubleValue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"collective", "pe-dma", "pe2pe"})
  void verify_ofABenchWithoutValues_isRefusedWithWhatHelps(String bench) {
    List<String> small = new ArrayList<>();
    if (bench.equals("collective")) {
      small.addAll(List.of("rank_level=pe", "max_size=16B"));
    }
    RunOptions verifying =
        new RunOptions(
            Optional.of("tiny"), List.of(), Optional.empty(), List.of(), small, Mode.FULL, true);
    assertThatThrownBy(() -> run(bench, verifying))
        .isInstanceOf(UsageException.class)
        .hasMessageEndingWith("leave --verify away");
  }

  /**
   * A vector of the size that a machine's page names is sent for as long as its hops wait: P of 20
   * and 250 ns, P - 1 if P is odd; through a switch, of two links.
   */
  @ParameterizedTest
  @CsvSource({
    "system.sips.count=2, 540",
    "system.sips.count=3, 540",
    "system.sips.count=5, 1080",
    "system.sips.count=4, 1080",
    "system.sips.count=8, 2160",
    "system.sips.topology=switch, 3120",
  })
  void halfPerformance_ofARingBothWaysRound_isSo(String override, double waitsNs) {
    List<String> overrides = List.of(override);
    Matcher said =
        Pattern.compile("half performance +([0-9.]+) KiB per PE")
            .matcher(MachineReport.text(Machines.load("model-sips", overrides)));
    assertThat(said.find()).isTrue();
    long half = Math.round(Double.parseDouble(said.group(1)) * 1024);
    RunOptions options =
        RunOptions.DEFAULT.withTopology("model-sips").withOverrides(overrides).withMode(Mode.TIME);
    assertThat(time(options, 8 * half) - time(options, 7 * half))
        .isCloseTo(waitsNs, withinPercentage(4));
  }

  private static double time(RunOptions options, long bytes) {
    String size = bytes + " B";
    return ns(
        run(
            "collective",
            options.withParams(
                List.of("algorithm=ring_bidirectional", "min_size=" + size, "max_size=" + size))),
        "crit_ns");
  }

  @ParameterizedTest
  @CsvSource({
    "2x-dgx-h100, ''",
    "ring, system.sips.links=0-1 20 GB/s",
    "ring, 'system.sips.topology=mesh_2d_no_wrap;system.sips.count=9'",
  })
  void halfPerformance_withoutARingOfEqualHops_isNotSaid(String machine, String overrides) {
    List<String> all = overrides.isEmpty() ? List.of() : List.of(overrides.split(";"));
    assertThat(MachineReport.text(Machines.load(machine, all))).doesNotContain("half performance");
  }
}
