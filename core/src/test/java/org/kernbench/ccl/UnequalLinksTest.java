package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.ConfigException;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** Networks with slow, dead or one-sided links, axes of 1 and 2, and rings of primes. */
final class UnequalLinksTest {
  private static Machine machine(String topology, int sips, String width, String links) {
    List<String> set = new ArrayList<>();
    set.add("system.sips.topology=" + topology);
    set.add("system.sips.count=" + sips);
    set.add("system.sips.w=" + width);
    if (!links.isEmpty()) {
      set.add("system.sips.links=" + links);
    }
    return Machines.load("model-sips", set);
  }

  private static List<Pe> leads(int n) {
    return Bed.leads(machine("ring_1d", n, "auto", ""), RankLevel.SIP, n);
  }

  private static CollectiveTrial.Result run(Machine machine, String algorithm, long elements) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    return CollectiveTrial.of(
            machine,
            CollectiveLibrary.algorithm(config, algorithm),
            config.of(algorithm),
            RankLevel.SIP,
            leads(machine.sips()))
        .run(
            CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F32, elements),
            elements > 100_000 ? Mode.TIME : Mode.FULL);
  }

  /** Every all-reduce is right on every such network, and the bound holds. */
  @ParameterizedTest
  @CsvSource({
    "ring_1d, 6, auto, 2-3 dead", // a line
    "ring_1d, 7, auto, 0-6 20 GB/s",
    "ring_1d, 5, auto, '1->2 dead'", // one direction only: the others go round
    "ring_1d, 13, auto, '3-4 2 us'",
    "torus_2d, 6, 3, 0-1 dead",
    "torus_2d, 6, 3, '0->1 20 GB/s, 900 ns; 4-5 dead'",
    "mesh_2d_no_wrap, 6, 3, 1-4 dead",
    "torus_2d, 2, 1, ''",
    "torus_2d, 4, 2, 0-1 dead",
    "torus_2d, 11, 11, ''",
    "mesh_2d_no_wrap, 5, 1, '2-3 50 GB/s'"
  })
  void allReduces_unequalLinks_areRight(String topology, int sips, String width, String links) {
    allReducesAreRight(machine(topology, sips, width, links));
  }

  /** Packages with slow memory, engines or links: values, modes and bounds hold. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ring_1d | 6 | 2 compute 0.1",
        "torus_2d | 6 | 0-1 hbm 0.05; 4 links 0.3, compute 0.5",
        "mesh_2d_no_wrap | 6 | 5 links 0.02",
      })
  void allReduces_slowPackages_areRight(String topology, int sips, String slow) {
    allReducesAreRight(
        Machines.load(
            "ring",
            List.of(
                "system.sips.topology=" + topology,
                "system.sips.count=" + sips,
                "ipcq.slot_size=4 KiB",
                "system.sips.slow=" + slow)));
  }

  private static void allReducesAreRight(Machine machine) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    int ran = 0;
    for (String name : config.names(CollectiveOp.ALL_REDUCE)) {
      try {
        CollectiveTrial.Result result = run(machine, name, 1013);
        assertThat(result.problems()).as("%s on %s", name, machine.configText()).isEmpty();
        ran++;
      } catch (CollectiveException refused) {
        assertThat(refused.getMessage()).isNotBlank();
      }
    }
    assertThat(ran).isGreaterThan(8);
  }

  /** A ring that has lost a link is a line: 5 links less 1, strength 1, T = 1 S/B. */
  @Test
  void packedTrees_ringWithoutALink_reachesTheBoundOfTheLine() {
    Machine machine = machine("ring_1d", 6, "auto", "2-3 dead");
    CollectiveTrial.Result result = run(machine, "packed_trees", 4 << 20);
    double wirePs = (16 << 20) / 200e9 * 1e12;
    assertThat(result.bound().ps() / wirePs).isBetween(0.999, 1.001);
    assertThat(result.efficiency()).isBetween(0.95, 1.0);
  }

  /**
   * A link of a tenth of the bandwidth on a ring of 6: the partition into single ranks gives
   * strength 5.1/5 = 1.02, the cut through the slow and another link 1.1; T = S / (1.02 B).
   */
  @Test
  void packedTrees_slowLink_takesAsMuchAsItCarries() {
    Machine machine = machine("ring_1d", 6, "auto", "0-5 20 GB/s");
    CollectiveTrial.Result result = run(machine, "packed_trees", 4 << 20);
    double wirePs = (16 << 20) / 200e9 * 1e12;
    assertThat(result.bound().ps() / wirePs).isBetween(0.979, 0.981);
    assertThat(result.efficiency()).isBetween(0.93, 1.0);
    CollectiveTrial.Result ring = run(machine, "ring", 4 << 20);
    assertThat(ring.ps()).isGreaterThan(5 * result.ps()); // waits for the slow link at each step
  }

  /** Dead in one direction: what must leave package 1 towards 2 goes round, against the bound. */
  @Test
  void bound_oneSidedLink_isTheDirectedCut() {
    Machine machine = machine("ring_1d", 6, "auto", "2->3 dead");
    Bounds bounds = new Bounds(machine, leads(6));
    double wirePs = (16 << 20) / 200e9 * 1e12;
    // 11 directed links of 12: 2 * 5 / 11; but every cut with 2 and 3 apart has one link out of 2's
    // side: S.
    assertThat(bounds.trafficPs(16 << 20) / wirePs).isBetween(0.999, 1.001);
  }

  @ParameterizedTest
  @CsvSource({
    "ring_1d, 6, '0-3 dead', 'got a link 0 to 3'",
    "ring_1d, 6, '0-1 dead; 3-4 dead', 'no way is left from sip'",
    "fully_connected, 6, '0-1 dead', 'cannot go round it'",
    "ring_1d, 6, 'zero-one dead', 'expected two packages and what is different'",
    "ring_1d, 6, '0-1 fast', 'expected'",
    "switch, 6, '0-1 50 GB/s', 'got a link 0 to 1'"
  })
  void machine_wrongLinks_isRefusedWithTheReason(
      String topology, int sips, String links, String reason) {
    assertThatThrownBy(() -> machine(topology, sips, "auto", links))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(reason);
  }

  @Test
  void route_deadLink_takesTheShortestOtherWay() {
    Machine machine = machine("torus_2d", 6, "3", "0-1 dead");
    int[] route = machine.route(new Pe(0, 0, 0), new Pe(1, 0, 0)).links();
    long hops =
        java.util.Arrays.stream(route)
            .filter(l -> machine.linkKind(l) == org.kernbench.machine.spec.LinkKind.SIP_TO_SIP)
            .count();
    assertThat(hops).isEqualTo(2); // 0 to 2 to 1, round the row
  }
}
