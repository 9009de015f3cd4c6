package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.report.MachineDiagram;
import org.kernbench.machine.report.MachineReport;

/** Reports and drawings of machines whose links between packages are dead or slow. */
final class UnequalLinksShownTest {
  private static Machine machine(String... overrides) {
    return Machines.load("sip-2026", List.of(overrides));
  }

  @Test
  void show_deadLink_takesAnotherAsTheNextPackage() {
    String text = MachineReport.text(machine("system.sips.links=0-1 dead"));

    assertThat(text)
        .contains("unequal links             0-1 dead")
        .contains("PE to next sip (0 to 3)   290 ns")
        .contains("+ sip link 250 +")
        .contains("to the next sip (0 to 3)  200 GB/s x 672 ns");
  }

  /** A torus of 3 x 2: four links lead across x in each direction, three across y. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "alike | 800 GB/s   4 links | 600 GB/s   3 links",
        "1-2 dead | 600 GB/s   3 links | 600 GB/s   3 links",
        "0-3 dead | 800 GB/s   4 links | 400 GB/s   2 links",
        "1-2 50 GB/s | 650 GB/s   4 links | 600 GB/s   3 links"
      })
  void show_cuts_countWhatWorksAtItsRate(String links, String x, String y) {
    assertThat(MachineReport.text(machine("system.sips.links=" + links)))
        .contains("sips, across x            " + x)
        .contains("sips, across y            " + y);
  }

  @Test
  void show_slowLinkOnTheWay_hasItsOwnLatencyInTheSum() {
    Machine machine = machine("system.sips.links=0-1 400 ns", "system.sips.count=2");

    assertThat(MachineReport.text(machine)).contains("sip link 400");
  }

  @Test
  void diagram_deadAndSlowLinks_areDrawnAndNamed() {
    String usual = MachineDiagram.svg(machine(), MachineDiagram.View.TRAY);
    String svg =
        MachineDiagram.svg(
            machine("system.sips.links=0-1 dead; 4-5 50 GB/s; 2->5 dead"),
            MachineDiagram.View.TRAY);

    assertThat(svg)
        .contains("0-1 dead; 4-5 50 GB/s; 2-&gt;5 dead")
        .contains("dead, both ways or one")
        .contains("slower or farther than the others");
    assertThat(usual).doesNotContain("dead");
    // three links less in the colour of the others: legend and six of nine are left
    assertThat(count(svg, "#c0392b")).isEqualTo(count(usual, "#c0392b") - 3);
  }

  private static int count(String text, String part) {
    return text.split(part, -1).length - 1;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "system.links.sip_to_sip.latency=5 us | --set:1:33 | system.links.sip_to_sip.latency",
        "ipcq.slots=1 | --set:1:12 | ipcq.slots",
        "ipcq.slot_size=1 KiB | --set:1:16 | ipcq.slot_size",
        "cube.hbm.channel_bandwidth=640 GB/s | --set:1:28 | cube.hbm.channel_bandwidth"
      })
  void warning_ofANumberThatTheUserGave_namesItsPlace(String set, String place, String path) {
    assertThat(machine(set).warnings())
        .isNotEmpty()
        .allSatisfy(w -> assertThat(w.toString()).startsWith(place + ": " + path + ": "));
  }

  /** The preset's own: no user wrote what it is compared with. */
  @Test
  void warning_ofAPreset_namesThePreset() {
    for (Object warning : machine().warnings()) {
      assertThat(warning.toString()).startsWith("machines/");
    }
  }
}
