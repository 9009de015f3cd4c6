package org.kernbench.ccl.flow;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.FoldedCall;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.flow.FlowSchedule.Ready;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * Of many ranks there is effort for one forecast of each drawing, which stops as soon as it cannot
 * be chosen, and gives up its room: what is chosen is the least of those that nothing stopped.
 */
final class ForecastLimitTest {
  private static final CclConfig CONFIG = CclConfig.load(Optional.empty(), List.of());
  private final Machine machine =
      Machines.load(
          "torus-4x4x4",
          List.of(
              "system.network[0].size=2",
              "system.network[2].size=2",
              "system.network[2].bandwidth=20 GB/s",
              "ipcq.slots=32",
              "ipcq.slot_size=4 KiB"));
  private final Group group =
      new Group(machine, RankLevel.SIP, Bed.leads(machine, RankLevel.SIP, 16));

  @ParameterizedTest
  @ValueSource(strings = {"hierarchical", "torus_both_orders", "halving_doubling"})
  void forecast_withALimit_isKnownUpToIt(String algorithm) {
    AlgorithmConfig config = CONFIG.of(algorithm);
    DrawnAlgorithm drawn = (DrawnAlgorithm) CollectiveLibrary.builtIn(algorithm);
    CollectiveCall call = FoldedCall.sum(group, DType.F32, 1 << 18);
    List<Ready> drawings =
        drawn.artist(group, config).draw(CollectiveOp.ALL_REDUCE, -1).stream()
            .map(flow -> Ready.of(group, machine.ipcq(), flow))
            .toList();
    LongStream.Builder firsts = LongStream.builder();
    for (Ready drawing : drawings) {
      FlowForecast forecast = drawing.forecast();
      PaceSearch search = new PaceSearch(config, machine.ipcq(), call, drawing);
      search.sweep(new PaceSearch.Effort(0), FlowForecast.NEVER);
      FlowSchedule.Choice first = search.all().getFirst();
      assertThat(forecast.room()).as("kept after the search").isZero();
      long ps = forecast.timePs(first.cut(), first.pace(), 4);
      firsts.add(ps);
      assertThat(forecast.room()).isPositive();
      assertThat(first.ps()).isEqualTo(ps);
      assertThat(first.isExact()).isEqualTo(forecast.isExact());
      assertThat(forecast.timePs(first.cut(), first.pace(), 4, ps)).isEqualTo(ps);
      assertThat(forecast.timePs(first.cut(), first.pace(), 4, ps / 2))
          .isEqualTo(FlowForecast.NEVER);
    }
    FlowSchedule schedule =
        new FlowSchedule(
            group, machine.ipcq(), config, drawn.artist(group, config), drawn.operations(), 0);
    assertThat(schedule.predictPs(call)).hasValue(firsts.build().min().orElseThrow());
  }
}
