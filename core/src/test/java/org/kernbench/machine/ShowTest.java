package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.util.List;
import java.util.Locale;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.cli.Golden;
import org.kernbench.machine.report.MachineDiagram;
import org.kernbench.machine.report.MachineReport;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.SipTopology;
import org.w3c.dom.Element;
import org.xml.sax.InputSource;

/** The report and the drawings of a machine. */
class ShowTest {
  /** The figures of {@code docs/spec/machine-and-timing.md} 7, worked out by hand there. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "kb-compat | 32.77 TB/s",
        "kb-compat | 1.02 PFLOP/s",
        "kb-compat | 512 GB/s   4 links, 1.6 % of the sip's HBM",
        "sip-2026 | 2.05 TB/s   4 links, 6.3 % of the sip's HBM",
        "sip-2026 | 800 GB/s   4 links",
        "sip-2026 | 768   128 per sip",
        "sip-2026 | 80 ns   dispatch 1 + DMA setup 28",
        "sip-2026-compute | 8.39 PFLOP/s",
        "sip-2026-compute | 301 flop per HBM byte",
        "kb-compat | 8 TFLOP/s",
      })
  void text_presets_printTheSpecifiedFigures(String preset, String figure) {
    assertThat(MachineReport.text(Machines.load(preset, List.of()))).contains(figure);
  }

  /**
   * Whole reports and drawings of one machine of each kind. What is said of bandwidth, latency and
   * size is worked out by hand elsewhere; here nothing gets lost, or changes unseen.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tiny |",
        "grid | extends: ring; system.sips.count=6; system.sips.topology=mesh_2d_no_wrap;"
            + " system.sips.w=3",
        "switch | extends: dgx-h100",
        "many | extends: ring; system.sips.count=100",
        "slow | extends: tiny; system.sips.count=3; system.sips.slow=1 compute 0.8, links 0.25",
        "torus | extends: ring; system.sips.count=12; system.sips.topology=torus_2d; system.sips.w=4",
        "notes | extends: tiny; system.sips.count=5; system.sips.topology=ring_1d;"
            + " fabric.virtual_channels=1; ipcq.slots=1; cube.noc.bandwidth=20 GB/s",
        "banked | extends: sip-2026-hbm3e; cube.hbm.fidelity=banked; ipcq.buffer_kind=sram;"
            + " system.sips.topology=mesh_2d_no_wrap; system.sips.links=4-5 400 ns",
      })
  void text_andDrawings_areTheReviewedOnes(String name, String settings) {
    Machine machine = machine(name, settings);
    Golden.check("machine/" + name + ".txt", MachineReport.text(machine));
    for (MachineDiagram.View view : MachineDiagram.View.values()) {
      if (settings != null && view != MachineDiagram.View.TRAY) {
        continue; // inside they are alike
      }
      String file = "machine/" + name + "-" + view.name().toLowerCase(Locale.ROOT) + ".svg";
      Golden.check(file, MachineDiagram.svg(machine, view));
    }
  }

  private static Machine machine(String name, String settings) {
    List<String> all = settings == null ? List.of() : List.of(settings.split("; *"));
    boolean derived = !all.isEmpty() && all.getFirst().startsWith("extends: ");
    return Machines.load(
        derived ? all.getFirst().substring("extends: ".length()) : name,
        derived ? all.subList(1, all.size()) : all);
  }

  @Test
  void text_machineOfOnePe_leavesOutWhatItHasNot() {
    String text = MachineReport.text(Machines.load("ring", List.of("system.sips.count=1")));
    assertThat(text).doesNotContain("next").contains("read own HBM");
  }

  /** Beyond 1024 PEs in a package the search for circles would take minutes; it is left out. */
  @Test
  void text_packageOfVeryManyPes_saysNothingOfCircles() {
    String buffers = "fabric.virtual_channels=1";
    String ring = "system.sips.topology=ring_1d";
    for (int width : new int[] {4, 36}) {
      String cubes = "sip.cube_mesh.w=" + width;
      Machine machine = Machines.load("sip-2026", List.of(ring, buffers, cubes));
      assertThat(MachineReport.text(machine).contains("wait for each other in a circle"))
          .isEqualTo(width == 4);
    }
  }

  @ParameterizedTest
  @EnumSource(MachineDiagram.View.class)
  void svg_everyPresetAndTopology_isXmlAndStaysInItsFrame(MachineDiagram.View view)
      throws Exception {
    for (String preset : Machines.presets().keySet()) {
      for (SipTopology topology : SipTopology.shortForms()) {
        Machine machine = Machines.load(preset, List.of("system.sips.topology=" + topology.name()));
        checkInside(MachineDiagram.svg(machine, view));
      }
    }
    checkInside(MachineDiagram.svg(Machines.load("ring", List.of("system.sips.count=200")), view));
  }

  private static void checkInside(String svg) throws Exception {
    Element root =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new InputSource(new StringReader(svg)))
            .getDocumentElement();
    double width = Double.parseDouble(root.getAttribute("width"));
    double height = Double.parseDouble(root.getAttribute("height"));
    var boxes = root.getElementsByTagName("rect");
    assertThat(boxes.getLength()).isGreaterThan(2);
    for (int i = 0; i < boxes.getLength(); i++) {
      Element box = (Element) boxes.item(i);
      if (box.hasAttribute("x")) {
        double x = Double.parseDouble(box.getAttribute("x"));
        double y = Double.parseDouble(box.getAttribute("y"));
        assertThat(x).isGreaterThanOrEqualTo(0);
        assertThat(y).isGreaterThanOrEqualTo(0);
        assertThat(x + Double.parseDouble(box.getAttribute("width"))).isLessThanOrEqualTo(width);
        assertThat(y + Double.parseDouble(box.getAttribute("height"))).isLessThanOrEqualTo(height);
      }
    }
  }

  @Test
  void svg_tray_drawsEachLinkBetweenSipsOnce() {
    Machine torus = Machines.load("sip-2026", List.of());
    String svg = MachineDiagram.svg(torus, MachineDiagram.View.TRAY);
    long lines = svg.lines().filter(l -> l.startsWith("<path") && l.contains("#c0392b")).count();
    assertThat(lines)
        .isEqualTo(9 + 1); // three rows' rings of 3 would be 6, three columns 3; a legend
  }

  @Test
  void findCircle_meshOfOneRouterEach_hasNoneAndRingOfFiveHasOne() {
    assertThat(ChannelGraph.findCircle(Machines.load("ring", List.of("system.sips.count=3"))))
        .isEmpty();
    List<Link> circle =
        ChannelGraph.findCircle(
            Machines.load("ring", List.of("system.sips.count=5", "fabric.virtual_channels=1")));
    assertThat(circle.stream().filter(l -> l.kind() == LinkKind.SIP_TO_SIP)).hasSize(5);
    assertThat(
            ChannelGraph.findCircle(
                Machines.load(
                    "ring",
                    List.of("system.sips.count=12", "system.sips.topology=mesh_2d_no_wrap"))))
        .isEmpty();
  }
}
