package org.kernbench.ccl.bounds;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.Ideal;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.torch.placement.RankLevel;

/** The links of some routes are those of all: every route is walked here, one by one. */
final class UsedLinksTest {
  @ParameterizedTest
  @CsvSource({
    "sip-2026, CUBE, 96",
    "sip-2026, CUBE, 40",
    "sip-2026, SIP, 6",
    "sip-2026, PE, 24",
    "tiny, PE, 8",
    "dgx-h100, SIP, 8",
    "kb-compat, SIP, 6"
  })
  void of_presets_areTheLinksOfAllRoutes(String name, RankLevel level, int ranks) {
    compare(Machines.load(name, List.of()), level, ranks);
  }

  @ParameterizedTest
  @CsvSource({"ring_1d, 7, auto", "torus_2d, 12, 4", "mesh_2d_no_wrap, 12, 3", "switch, 5, auto"})
  void of_networks_areTheLinksOfAllRoutes(String topology, int count, String width) {
    Machine machine =
        new Ideal(0, 100_000, 128, 512, Ideal.Bottleneck.LINK)
            .ring(count, "system.sips.topology=" + topology, "system.sips.w=" + width);
    compare(machine, RankLevel.SIP, count);
  }

  private static void compare(Machine machine, RankLevel level, int ranks) {
    List<Pe> leads = Bed.leads(machine, level, ranks);
    BitSet all = new BitSet();
    for (Pe lead : leads) {
      int here = machine.peNode(lead);
      for (int there : UsedLinks.places(machine, leads, level)) {
        if (here != there) {
          for (int link : machine.route(here, there).links()) {
            all.set(link);
          }
          for (int link : machine.route(there, here).links()) {
            all.set(link);
          }
        }
      }
    }
    assertThat(all.cardinality()).isPositive();
    assertThat(UsedLinks.of(machine, leads, level)).isEqualTo(all);
  }
}
