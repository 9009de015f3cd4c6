package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.Microbatches;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.multimodal.TwoModuleTraining;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/**
 * A step of two modules on all PEs of packages: its collectives have many sets of lanes, and their
 * queues leave room for kernels.
 */
final class TwoModuleSpreadTest {
  @Test
  void step_onAllPesOfPackages_ends() {
    Machine machine =
        Machines.load(
            "tiny",
            List.of(
                "system.sips.count=4", "system.sips.topology=ring_1d", "ipcq.slot_size=32 KiB"));
    CclConfig ccl = CclConfig.load(Optional.empty(), TwoModuleStep.world(RankLevel.SIP, 4));
    TwoModuleConfig model = TwoModuleConfig.tinyGpt().withLayers(1, 1);
    TwoModuleLayout layout =
        new TwoModuleLayout(RankGrid.parse("tp=2,dp=2"), RankGrid.parse("tp=2,cp=2,dp=1"), true);
    List<Microbatch> data = Microbatches.random(model, 4, 24, 1, Microbatches.Masks.UNEVEN, 1);
    TwoModuleStep.Timing timing =
        TwoModuleStep.time(
            new TwoModuleStep.Place(machine, ccl, RankLevel.SIP, Spread.ALL),
            model,
            layout,
            TwoModuleTraining.Settings.of(DType.BF16),
            data);
    assertThat(timing.ps()).isGreaterThan(timing.boundPs());
  }
}
