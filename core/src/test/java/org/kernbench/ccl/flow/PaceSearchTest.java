package org.kernbench.ccl.flow;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.FoldedCall;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Ideal;
import org.kernbench.ccl.flow.FlowSchedule.Ready;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.machine.Machine;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * What is chosen with the usual effort is no later than any simple pace of any drawing, however
 * many chunks it has: sixteen cubes of 8 ns, 14 ns and 512 GB/s.
 */
final class PaceSearchTest {
  private static final CclConfig CONFIG = CclConfig.load(Optional.empty(), List.of());
  private final Machine machine =
      new Ideal(8_000, 14_000, 512, Ideal.NO_GAMMA, Ideal.Bottleneck.LINK)
          .mesh(4, 4, "fabric.chunk=4 KiB");
  private final Group group =
      new Group(machine, RankLevel.CUBE, Bed.leads(machine, RankLevel.CUBE, 16));

  @ParameterizedTest
  @CsvSource({
    "torus_both_orders, 1048576",
    "torus_both_orders, 67108864",
    "halving_doubling, 67108864",
    "ring_bidirectional, 67108864"
  })
  void choice_longVector_isNoLaterThanAnySimplePace(String algorithm, int bytes) {
    AlgorithmConfig config = CONFIG.of(algorithm);
    DrawnAlgorithm drawn = (DrawnAlgorithm) CollectiveLibrary.builtIn(algorithm);
    CollectiveCall call = FoldedCall.sum(group, DType.F32, bytes / 4);
    long least = FlowForecast.NEVER;
    for (Dataflow flow : drawn.artist(group, config).draw(CollectiveOp.ALL_REDUCE, -1)) {
      Ready drawing = Ready.of(group, machine.ipcq(), flow);
      PaceSearch search = new PaceSearch(config, machine.ipcq(), call, drawing);
      search.sweep(new PaceSearch.Effort(1L << 40), FlowForecast.NEVER);
      assertThat(search.all()).hasSameSizeAs(search.chunkCounts());
      least = Math.min(least, search.bestPs());
    }
    FlowSchedule schedule =
        new FlowSchedule(
            group, machine.ipcq(), config, drawn.artist(group, config), drawn.operations());
    assertThat(schedule.predictPs(call).orElseThrow()).isLessThanOrEqualTo(least);
  }
}
