package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.ConfigException;
import org.kernbench.machine.report.MachineReport;

/** Nodes with NICs against their ways as one would draw them, by the names of links. */
final class NodeNetworkTest {
  @TempDir private Path folder;

  private Machine machine(String kindBetween, int nics, String... overrides) throws IOException {
    Path file = folder.resolve("m.yaml");
    Files.writeString(
        file,
        """
        description: four nodes of four
        extends: ring
        system:
          network:
            - {kind: ring, size: 2, bandwidth: 400 GB/s, latency: 10 ns}
            - {kind: switch, size: 2, bandwidth: 300 GB/s, latency: 20 ns}
            - {kind: %s, size: 4, bandwidth: 50 GB/s, latency: 500 ns}
          nodes:
            packages: 4
            nics: %s
            bandwidth: 40 GB/s
            latency: 300 ns
            message_overhead: 7 ns
            link: {bandwidth: 60 GB/s, latency: 100 ns}
        """
            .formatted(kindBetween, nics));
    return Machines.load(file.toString(), List.of(overrides));
  }

  /** What the report adds up of a way is what it says that the way takes, overhead and all. */
  @Test
  void report_firstByte_partsAddUp() throws IOException {
    List<Machine> machines =
        List.of(
            machine("switch", 2),
            Machines.load("2x-dgx-h100", List.of("system.nodes.message_overhead=100 ns")),
            Machines.load("sip-2026", List.of()),
            Machines.load("tiny", List.of("cube.hbm.fidelity=banked")));
    for (Machine machine : machines) {
      String text = MachineReport.text(machine);
      String section = text.substring(text.indexOf("First byte"), text.indexOf("Launch, host"));
      List<String> lines = section.lines().filter(l -> l.contains(" ns   ")).toList();
      assertThat(lines).hasSizeGreaterThanOrEqualTo(2);
      for (String line : lines) {
        String[] halves = line.split(" ns   ", 2);
        double total = Double.parseDouble(halves[0].substring(halves[0].lastIndexOf(' ') + 1));
        double sum = 0;
        for (String term : halves[1].split(" \\+ ")) {
          double each = Double.parseDouble(term.substring(term.lastIndexOf(' ') + 1));
          int times = term.contains(" x ") ? Integer.parseInt(term.split(" x ")[0]) : 1;
          sum += times * each;
        }
        assertThat(sum).as(line).isEqualTo(total, within(1e-6));
      }
    }
  }

  /** By hand: activate, read, burst: 19.5 + 10 + 1, where the least of a bank is tCWL + tBL. */
  @Test
  void report_readOfBanks_isThatOfAClosedRow() {
    assertThat(MachineReport.text(Machines.load("tiny", List.of("cube.hbm.fidelity=banked"))))
        .containsPattern("read own HBM +80 ns .* HBM 6 .*closed row 24\\.5");
  }

  /**
   * Both ways round leave a PE by one link of 256 GB/s: 6 hops of 288 ns wait as long as 5/3 S / 6
   * takes there. A buffer of 4 KiB at the end of 250 ns lets 8.2 GB/s through.
   */
  @Test
  void report_halfPerformanceAndReach_areThoseOfTheNarrowestPart() {
    String six = MachineReport.text(Machines.load("ring", List.of("system.sips.count=6")));
    assertThat(six).contains("half performance          259.2 KiB per PE");
    String small = MachineReport.text(Machines.load("ring", List.of("fabric.buffer=4 KiB")));
    assertThat(small).contains("one queue reaches 8.19 GB/s");
  }

  /** Nodes of the links between packages on a way, without the sides of packages. */
  private static List<String> way(Machine m, int from, int to) {
    List<String> names = new ArrayList<>();
    for (int link : m.route(new Pe(from, 0, 0), new Pe(to, 0, 0)).links()) {
      if (m.linkKind(link).isBetweenSips()) {
        String name = m.link(link).name().replaceAll("\\.io[NESW]", "");
        String[] ends = name.replaceAll("switch\\d", "switch").split("->");
        if (names.isEmpty() || !names.getLast().equals(ends[0])) {
          names.add(ends[0]);
        }
        names.add(ends[1]);
      }
    }
    return names;
  }

  /** The NIC, or port, that a package of a node uses, written down a second time. */
  private static List<String> expected(int from, int to, int nics, String between) {
    List<String> way = new ArrayList<>(List.of("sip" + from));
    int share = 4 / nics;
    int at = from;
    int goal = from / 4 * 4 + to % 4;
    boolean other = from / 4 != to / 4;
    if (at % 2 != goal % 2 && !(other && at % 4 / share == goal % 4 / share)) {
      at = at / 2 * 2 + goal % 2;
      way.add("sip" + at);
    }
    if (at != goal && !(other && at % 4 / share == goal % 4 / share)) {
      way.add("switch_" + (at / 4 * 2 + at % 2));
      at = goal;
      way.add("sip" + at);
    }
    if (other) {
      String nic = ".nic" + to % 4 / share;
      way.add("node" + from / 4 + nic);
      way.add("node" + from / 4 + nic + ".port");
      if (between.equals("switch")) {
        way.add("switch_" + to % 4 / share);
      } else if (Math.floorMod(to / 4 - from / 4, 4) == 2) { // round a ring, upwards on a tie
        way.add("node" + (from / 4 + 1) % 4 + nic + ".port");
      }
      way.add("node" + to / 4 + nic + ".port");
      way.add("node" + to / 4 + nic);
      way.add("sip" + to);
    }
    return way;
  }

  @ParameterizedTest
  @CsvSource({"switch, 4", "switch, 2", "switch, 1", "ring, 4", "ring, 2", "ring, 1"})
  void route_betweenAnyPackages_goesOverTheNicsThatItShould(String between, int nics)
      throws IOException {
    Machine m = machine(between, nics);
    for (int from = 0; from < 16; from++) {
      for (int to = 0; to < 16; to++) {
        if (from != to) {
          List<String> expected = expected(from, to, nics, between);
          assertThat(way(m, from, to)).as("%s to %s", from, to).isEqualTo(expected);
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"switch, 4", "ring, 2", "ring, 1"})
  void links_ofNodes_haveEndsThatFitTheirRoutes(String between, int nics) throws IOException {
    Machine m = machine(between, nics);
    for (int from = 0; from < 16; from++) {
      for (int to = 0; to < 16; to++) {
        int[] links =
            from == to ? new int[0] : m.route(new Pe(from, 0, 0), new Pe(to, 0, 0)).links();
        for (int i = 1; i < links.length; i++) {
          assertThat(m.linkFrom(links[i])).isEqualTo(m.linkTo(links[i - 1]));
        }
      }
    }
    assertThat(ChannelGraph.findCircle(machine(between, nics, "fabric.virtual_channels=auto")))
        .as("waits in a circle")
        .isEmpty();
  }

  @Test
  void fold_ownNics_takesLinksToLinks_andSharedNicsAreRefused() throws IOException {
    Machine m = machine("ring", 4);
    Symmetry symmetry = m.symmetry().orElseThrow();
    for (int by = 0; by < 16; by++) {
      for (int link = 0; link < m.linkCount(); link++) {
        int image = symmetry.shiftedLink(link, by);
        assertThat(m.specOf(image)).isEqualTo(m.specOf(link));
        assertThat(m.linkKind(image)).isEqualTo(m.linkKind(link));
        assertThat(symmetry.classOf(image)).isEqualTo(symmetry.classOf(link));
        assertThat(m.messagePs(image)).isEqualTo(m.messagePs(link));
      }
    }
    int[] whole = m.soleFeeders();
    int[] folded = symmetry.soleFeeders();
    for (int c = 0; c < symmetry.classes(); c++) {
      int feeder = whole[symmetry.linkOf(c)];
      assertThat(folded[c]).isEqualTo(feeder < 0 ? -1 : symmetry.classOf(feeder));
    }
    assertThat(Symmetry.obstacle(machine("ring", 2)))
        .contains("2 packages share a NIC in system.nodes; use nics: 4 to fold");
  }

  @Test
  void deadLink_betweenNics_isGoneRound_andLinksAreNamedByPackages() throws IOException {
    Machine m = machine("ring", 4, "system.sips.links=1-5 dead; 2-switch1 100 GB/s; 0-1 dead");
    assertThat(way(m, 1, 5))
        .containsSubsequence("node0.nic1.port", "node3.nic1.port", "node2.nic1.port");
    assertThat(way(m, 0, 4)).containsSubsequence("node0.nic0.port", "node1.nic0.port");
    assertThat(way(m, 0, 1)).startsWith("sip0", "switch_0", "sip2", "sip3");
    assertThatThrownBy(() -> machine("ring", 4, "system.sips.links=1-6 10 GB/s"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("joined otherwise, e.g. \"0-1 50 GB/s\"")
        .hasMessageContaining("\"0-4 50 GB/s\"");
    assertThatThrownBy(() -> machine("ring", 4, "system.sips.links=1-5 dead; 1-13 dead"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("no way is left from sip");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "nodes.packages=3 | system.nodes.packages: got 3; expected what the first dimensions of"
            + " system.network hold, with one left for the NICs: 1 or 2 or 4",
        "nodes.packages=16 | system.nodes.packages: got 16; expected what the first",
        "nodes.nics=3 | system.nodes.nics: got 3 for 4 packages; expected as many, each with a NIC"
            + " of its own, or a number that divides them, e.g. 1 for all",
        "nodes.nics=8 | system.nodes.nics: got 8 for 4 packages",
        "nodes.nics=0 | system.nodes.nics: got \"0\"; expected a whole number from 1",
        "nodes.bandwidth=0 GB/s | system.nodes.bandwidth",
        "nodes.latency=0 ns | system.nodes.latency",
        "nodes.message_overhead=-1 ns | system.nodes.message_overhead",
        "nodes.link.latency=0 ns | system.nodes.link.latency",
        "nodes.rails=4 | system.nodes.rails",
        "network=none | system.nodes: there is no network for their NICs; expected system.network",
      })
  void badNodes_everyKey_saysWhereAndWhat(String override, String message) {
    assertThatThrownBy(() -> machine("switch", 4, "system." + override))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(message);
  }

  @Test
  void messageOverhead_withFiniteBuffers_isRefused_andNodesNoneGoesBack() throws IOException {
    assertThatThrownBy(() -> machine("switch", 4, "fabric.buffer=64 KiB"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("system.nodes: finite buffers count no message_overhead of NICs");
    Machine without = machine("switch", 4, "system.nodes=none");
    assertThat(without.nodes()).isEmpty();
    assertThat(way(without, 0, 4)).containsExactly("sip0", "switch_0", "sip4");
  }

  /** Into each node 4 x 50 GB/s of the network, but 4 x 40 through the NICs. */
  @Test
  void cuts_ofLevels_areWhatEntersTheirParts() throws IOException {
    List<LevelCut> own = LevelCut.of(machine("switch", 4));
    // a package: two rings of two are one link each way, a switch, a NIC with its port
    assertThat(own)
        .containsExactly(
            new LevelCut("dimension 0", 16, 16 * (400e9 + 300e9 + 50e9)),
            new LevelCut("dimension 1", 8, 8 * (2 * 300e9 + 2 * 50e9)),
            new LevelCut("NICs", 4, 4 * 4 * 40e9),
            new LevelCut("dimension 2", 4, 4 * 4 * 50e9));
    assertThat(LevelCut.binding(own).orElseThrow().name()).isEqualTo("NICs");
    List<LevelCut> shared = LevelCut.of(machine("ring", 1));
    assertThat(shared.get(2)).isEqualTo(new LevelCut("NICs", 4, 4 * 40e9));
    assertThat(shared.get(3)).isEqualTo(new LevelCut("dimension 2", 4, 4 * 2 * 50e9));
    // 2 x 3 x 1 MiB / 160 GB/s
    assertThat(shared.get(2).secondsPerByte()).isCloseTo(6 / 160e9, within(1e-20));
  }

  @Test
  void show_nodes_saysWhoHasWhichNic_andWhichLevelBinds() throws IOException {
    assertThat(MachineReport.text(machine("switch", 2)))
        .contains(
            "nodes                   4 of 4 sips, 2 NICs, each for 2   40 GB/s, 300 ns, 7 ns per"
                + " message; 60 GB/s, 100 ns to a sip")
        .contains("NICs                      19660.8 ns   4 parts, 80 GB/s into each; this binds");
    assertThat(MachineReport.text(machine("switch", 4)).lines().filter(l -> l.contains("binds")))
        .hasSize(1);
    assertThat(Arrays.asList(1, 4))
        .allSatisfy(n ->
            assertThat(MachineReport.text(machine("ring", n)))
                .contains(n == 1 ? "one NIC for all" : "a NIC for each"));
  }
}
