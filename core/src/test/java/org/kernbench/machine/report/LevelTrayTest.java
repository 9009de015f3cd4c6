package org.kernbench.machine.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.cli.Golden;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.report.MachineDiagram.View;

/** Drawings of networks of several dimensions: counted in lines of each colour, by hand. */
final class LevelTrayTest {
  private static String svg(String machine, String... overrides) {
    Machine loaded = Machines.load(machine, List.of(overrides));
    return MachineDiagram.svg(loaded, View.TRAY);
  }

  /** Lines and arcs, without the one in the legend. */
  private static long lines(String svg, String colour) {
    Pattern path = Pattern.compile("<path [^>]*stroke=\"" + colour + "\"");
    return path.matcher(svg).results().map(MatchResult::group).count() - 1;
  }

  private static int count(String text, String part) {
    return text.split(part, -1).length - 1;
  }

  /**
   * A ring of four has four links each way, so 16 rings along each of dimensions 0 and 1 have 64;
   * of dimension 2 four bundles join four blocks.
   */
  @Test
  void torus_hasEveryLinkOfTwoDimensions_andBundlesOfTheThird() {
    String svg = svg("torus-4x4x4");

    assertThat(lines(svg, "#c0392b")).isEqualTo(64);
    assertThat(lines(svg, "#2c7fb8")).isEqualTo(64);
    assertThat(lines(svg, "#7b5ea7")).isEqualTo(4);
    assertThat(svg)
        .contains("dimension 0: ring of 4, 50 GB/s per direction, 250 ns<")
        .contains("dimension 2: ring of 4, 50 GB/s per direction, 250 ns; a bundle is 16 of them")
        .doesNotContain("200 GB/s");
  }

  /** Sixteen packages on two switches; each NIC on one of eight more. */
  @Test
  void nodes_haveTheirNicsAndSwitches_eachAtItsOwnRate() {
    String svg = svg("2x-dgx-h100");

    assertThat(lines(svg, "#c0392b")).isEqualTo(16);
    assertThat(lines(svg, "#2c7fb8")).isEqualTo(16);
    assertThat(count(svg, ">switch<")).isEqualTo(2);
    assertThat(count(svg, ">NIC<")).isEqualTo(16);
    assertThat(svg)
        .contains("dimension 0: switch of 8, 450 GB/s per direction, 120 ns<")
        .contains("dimension 1: switch of 2, 50 GB/s per direction, 500 ns; between NICs<");
  }

  @ParameterizedTest
  @CsvSource({"1,2,2", "2,4,4", "4,8,8", "8,16,16"})
  void sharedNics_areDrawnOnceForThosePackages(int nics, int drawn, int links) {
    String svg = svg("2x-dgx-h100", "system.nodes.nics=" + nics);

    assertThat(count(svg, ">NIC<")).isEqualTo(drawn);
    assertThat(lines(svg, "#2c7fb8")).isEqualTo(links);
  }

  /** Of 64 nodes the first eight are drawn, and said to be. */
  @Test
  void moreThan64Packages_areTheFirst() {
    String svg = svg("64x-dgx-h100");

    assertThat(svg).contains("the first 64 of 512 sips").contains(">sip 63<");
    assertThat(svg).doesNotContain(">sip 64<");
    assertThat(lines(svg, "#c0392b")).isEqualTo(64);
  }

  /** A pair in each dimension, one link dead one way, one slower both ways. */
  @Test
  void deadAndSlowLinks_areDrawnInEveryDimension() {
    String svg = svg("torus-4x4x4", "system.sips.links=0-1 10 GB/s; 0->4 dead; 0-16 dead");

    assertThat(lines(svg, "#c0392b")).isEqualTo(63);
    assertThat(lines(svg, "#2c7fb8")).isEqualTo(64); // the way back is as it was
    assertThat(lines(svg, "#e0983a")).isEqualTo(2); // both ways
    assertThat(svg).contains("0-1 10 GB/s; 0-&gt;4 dead; 0-16 dead");
  }

  private static Machine network(Path folder, String... dimensions) throws IOException {
    StringBuilder yaml = new StringBuilder("description: packages in dimensions\nextends: ring\n");
    yaml.append("system:\n  network:\n");
    for (String dimension : dimensions) {
      yaml.append("    - {").append(dimension).append(", bandwidth: 50 GB/s, latency: 250 ns}\n");
    }
    return Machines.load(Files.writeString(folder.resolve("m.yaml"), yaml).toString(), List.of());
  }

  /** Four dimensions: the third across, the fourth down, each with the links of its sort. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "rings | kind: ring, size: 2 | kind: ring, size: 2 | kind: ring, size: 4 | kind: ring, size: 3",
        "switches | kind: ring, size: 2 | kind: ring, size: 2 | kind: switch, size: 3"
            + " | kind: switch, size: 2, reduces: true",
        "full | kind: switch, size: 2 | kind: switch, size: 3 | kind: fully_connected, size: 3"
            + " | kind: fully_connected, size: 4",
      })
  void fourDimensions_areTheReviewedOnes(
      String name, String a, String b, String c, String d, @TempDir Path folder)
      throws IOException {
    Machine machine = network(folder, a, b, c, d);

    Golden.check("machine/levels-" + name + "-tray.svg", MachineDiagram.svg(machine, View.TRAY));
    Golden.check(
        "machine/levels-" + name + ".txt",
        MachineReport.text(machine).replace(folder.toString(), "FOLDER"));
  }

  /**
   * Bundles of three and of four blocks: each pair once where all are joined, 3 + 6; rings 4 + 3.
   */
  @Test
  void fourDimensions_haveABundleForEachPairOfBlocks(@TempDir Path folder) throws IOException {
    String[] inner = {"kind: ring, size: 2", "kind: ring, size: 2"};
    String full =
        MachineDiagram.svg(
            network(
                folder,
                inner[0],
                inner[1],
                "kind: fully_connected, size: 3",
                "kind: fully_connected, size: 4"),
            View.TRAY);
    String rings =
        MachineDiagram.svg(
            network(folder, inner[0], inner[1], "kind: ring, size: 4", "kind: ring, size: 3"),
            View.TRAY);

    assertThat(lines(full, "#7b5ea7")).as("of each of four blocks").isEqualTo(4 * 3);
    assertThat(lines(full, "#b8860b")).isEqualTo(6);
    assertThat(lines(rings, "#7b5ea7")).isEqualTo(3 * 4);
    assertThat(lines(rings, "#b8860b")).isEqualTo(3);
  }
}
