package org.kernbench.ccl.algorithms;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.bounds.Bounds;
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

/** Packed trees come near the bound that the strength of the network sets. */
final class PackedTreesTest {
  private static double efficiency(Machine machine, RankLevel level, int ranks, int bytes) {
    String prefix = "algorithms.packed_trees.";
    CclConfig config =
        CclConfig.load(
            Optional.empty(),
            List.of(
                "defaults.algorithm=packed_trees",
                prefix + "rank_level=" + level.name().toLowerCase(Locale.ROOT),
                prefix + "world_size=" + ranks));
    List<Pe> leads = Bed.leads(machine, level, ranks);
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      List<Shard> shards = bed.vectors(leads, DType.F32, bytes / 4);
      long ps =
          bed.allReduce(
                  CollectiveLibrary.open(machine, config).connect(leads),
                  leads,
                  ReduceKind.SUM,
                  shards)
              .criticalPs();
      return Bounds.allReduce(machine, leads, bytes).ps() / (double) ps;
    }
  }

  /** The targets for long vectors, on the machines of the cost model. */
  @ParameterizedTest
  @CsvSource({
    "ring_1d, 0.98",
    "torus_2d, 0.97",
    "mesh_2d_no_wrap, 0.95",
  })
  void packedTrees_64MiBOnSixPackages_isNearTheBound(String topology, double least) {
    Machine machine = Machines.load("model-sips", List.of("system.sips.topology=" + topology));
    assertThat(efficiency(machine, RankLevel.SIP, 6, 64 << 20)).isBetween(least, 1.0);
  }

  @Test
  void packedTrees_16MiBOnSixteenCubes_isNearTheBound() {
    Machine machine = Machines.load("model-cubes", List.of());
    assertThat(efficiency(machine, RankLevel.CUBE, 16, 16 << 20)).isBetween(0.9, 1.0);
  }

  /** Where the PEs' ports are narrower than the links, trees are chosen to share the ports. */
  @Test
  void packedTrees_narrowPorts_sharesThem() {
    Machine machine = Machines.load("sip-2026", List.of("system.sips.topology=torus_2d"));
    double efficiency = efficiency(machine, RankLevel.SIP, 6, 16 << 20);
    assertThat(efficiency).isBetween(0.7, 1.0);
  }

  /** With few slots there are fewer trees, and with one slot one: it ends all the same. */
  @ParameterizedTest
  @CsvSource({"1", "2", "3", "5"})
  void packedTrees_fewSlots_ends(int slots) {
    Machine machine =
        Machines.load(
            "model-sips", List.of("system.sips.topology=torus_2d", "ipcq.slots=" + slots));
    assertThat(efficiency(machine, RankLevel.SIP, 6, 1 << 20)).isBetween(0.05, 1.0);
  }
}
