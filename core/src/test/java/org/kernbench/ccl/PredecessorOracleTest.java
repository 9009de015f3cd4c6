package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * The predecessor's all-reduce: 96 cubes, full vectors to the centre cube of each of six packages,
 * round the 3 x 2 torus and back. Its 20 published times follow {@code T(b) = constant + 24 setup +
 * b (12/128 + 24 (1/slot + 1/bank)) + 9 ceil(b/2/256)}: 11 slot writes and 13 slot reads, 11 hops,
 * a load and a store at 256 GB/s, nine additions.
 */
final class PredecessorOracleTest {
  /** Memory of the slots, with the predecessor's cost of an access; bank 0: not charged. */
  private record Tier(String kind, long setupPs, int slotGbps, int bankGbps) {
    String[] overrides() {
      String cost = "ipcq.serial_cost." + kind;
      return new String[] {
        "ipcq.buffer_kind=" + kind,
        cost + ".setup=" + setupPs + " ps",
        cost + ".bandwidth=" + slotGbps + " GB/s",
        cost + ".bank_bandwidth=" + (bankGbps == 0 ? "none" : bankGbps + " GB/s")
      };
    }

    double variablePs(long bytes) {
      double perByte = 12.0 / 128 + 24.0 / slotGbps + (bankGbps == 0 ? 0 : 24.0 / bankGbps);
      return 24 * setupPs + 1000 * bytes * perByte + 9000 * Math.ceilDiv(bytes / 2, 256);
    }
  }

  private static final List<Tier> TIERS =
      List.of(
          new Tier("tcm", 0, 512, 0),
          new Tier("sram", 2000, 128, 0),
          new Tier("hbm", 6000, 32, 0),
          new Tier("sram", 2000, 512, 128),
          new Tier("hbm", 6000, 256, 256));

  private static final int[] BYTES = {256, 2048, 16_384, 65_536, 98_304};

  private static long simulate(Tier tier, int bytes) {
    Machine machine = Machines.load("kb-compat", List.of(tier.overrides()));
    CclConfig config = CclConfig.load(Optional.empty(), List.of("defaults.algorithm=root_center"));
    CollectiveLibrary library = CollectiveLibrary.open(machine, config);
    List<Pe> leads = Bed.leads(machine, library.rankLevel(), library.worldSize());
    assertThat(library.rankLevel()).isEqualTo(RankLevel.CUBE);
    assertThat(leads).hasSize(96);
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      List<Shard> shards = bed.vectors(leads, DType.F16, bytes / 2);
      return bed.allReduce(library.connect(leads), leads, ReduceKind.SUM, shards).criticalPs();
    }
  }

  @Test
  void rootCenter_allTiersAndSizes_followsTheFormulaWithOneConstant() {
    double constant = simulate(TIERS.get(0), 256) - TIERS.get(0).variablePs(256);
    for (Tier tier : TIERS) {
      for (int bytes : BYTES) {
        assertThat(simulate(tier, bytes) - tier.variablePs(bytes))
            .as("%s, %d bytes", tier, bytes)
            .isEqualTo(constant);
      }
    }
  }
}
