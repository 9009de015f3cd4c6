package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Pairs that show a machine's distances, counted in drawings of packages of 4 x 4 cubes. */
final class NeighboursTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // in a row the cube at the east faces the cube at the west; in a column south faces north
        "topology=torus_2d; count=6 | 3 0 to 0 0 of sip 1: the next sip",
        "topology=ring_1d; count=5 | 3 0 to 0 0 of sip 1: the next sip",
        "topology=switch; count=3 | 3 0 to 0 0 of sip 1: the next sip",
        "topology=fully_connected; count=3 | 3 0 to 0 0 of sip 1: the next sip",
        "topology=mesh_2d_no_wrap; count=3; w=1; h=3 | 12 0 to 0 0 of sip 1: the next sip",
        // one link dead or slow: over the next one that is as most are
        "topology=torus_2d; count=6; links=1-2 dead | 3 0 to 0 0 of sip 1: the next sip",
        "topology=torus_2d; count=6; links=0-1 dead | 12 0 to 0 0 of sip 3: the next sip (0 to 3)",
        "topology=torus_2d; count=6; links=0-1 9 GB/s | 12 0 to 0 0 of sip 3: the next sip (0 to 3)",
        "topology=ring_1d; count=3; links=0-1 dead | 0 0 to 3 0 of sip 2: the next sip (0 to 2)",
        "topology=torus_2d; count=3; w=1; h=3; links=0-1 dead"
            + " | 0 0 to 12 0 of sip 2: the next sip (0 to 2)",
        // none is as the others: the one to the next package
        "topology=ring_1d; count=2; links=0-1 9 GB/s | 3 0 to 0 0 of sip 1: the next sip",
        "topology=ring_1d; count=1 |",
        // an unequal link elsewhere does not matter
        "topology=torus_2d; count=6; links=4-5 9 GB/s | 3 0 to 0 0 of sip 1: the next sip",
      })
  void of_network_takesTheFacingEdges(String network, String sip) {
    List<String> overrides =
        Arrays.stream(network.split("; ")).map(s -> "system.sips." + s).toList();
    Machine machine = Machines.load("sip-2026", overrides);
    List<String> shown = Neighbours.of(machine).stream().map(NeighboursTest::text).toList();
    assertThat(shown.subList(0, 2))
        .containsExactly("0 0 to 0 1 of sip 0: the next PE", "0 0 to 1 0 of sip 0: the next cube");
    assertThat(shown.subList(2, shown.size())).isEqualTo(sip == null ? List.of() : List.of(sip));
  }

  /** Packages behind one switch are next to each other, whatever links there are elsewhere. */
  @ParameterizedTest
  @CsvSource({"2-switch0 9 GB/s, 0 to 1", "0-switch0 9 GB/s, 0 to 4"})
  void of_levels_leavesTheSwitchOnlyIfItsLinkIsUnequal(String link, String pair) {
    Machine machine =
        Machines.load(
            "ring",
            List.of(
                "system.network=[{kind: switch, size: 4, bandwidth: 450 GB/s, latency: 250 ns}, "
                    + "{kind: ring, size: 3, bandwidth: 50 GB/s, latency: 1 us}]",
                "system.sips.links=[" + link + "]"));
    Neighbours next = Neighbours.of(machine).getLast();
    assertThat(next.from().sip() + " to " + next.to().sip()).isEqualTo(pair);
  }

  private static String text(Neighbours pair) {
    assertThat(pair.from().sip()).isZero();
    Pe to = pair.to();
    return "%d %d to %d %d of sip %d: %s"
        .formatted(pair.from().cube(), pair.from().pe(), to.cube(), to.pe(), to.sip(), pair.what());
  }

  @ParameterizedTest
  @CsvSource({"ring, 0", "tiny, 2", "dgx-h100, 1"})
  void of_presetWithoutAnAxis_leavesItOut(String preset, int pairs) {
    List<String> one = preset.equals("ring") ? List.of("system.sips.count=1") : List.of();
    assertThat(Neighbours.of(Machines.load(preset, one))).hasSize(pairs);
  }
}
