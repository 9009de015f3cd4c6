package org.kernbench.machine.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.spec.LinkKind;

/** The cuts through the middle of machines, and their links, counted by hand in drawings. */
final class BisectionTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // one package of 2 x 2 cubes with one link each way
        "1 | ring_1d | 1 | 2 | 2 | cubes, across x: 2; cubes, across y: 2",
        "1 | ring_1d | 1 | 3 | 1 | cubes, across x: 1",
        "1 | ring_1d | 1 | 1 | 3 | cubes, across y: 1",
        "1 | ring_1d | 1 | 1 | 1 |",
        "1 | mesh_2d_no_wrap | 1 | 1 | 1 |",
        "2 | ring_1d | auto | 1 | 1 | sips: 1",
        "5 | ring_1d | auto | 1 | 1 | sips: 2",
        "4 | switch | auto | 1 | 1 | sips: 2", // two of four have a link to the switch
        "4 | fully_connected | auto | 1 | 1 | sips: 4",
        "6 | mesh_2d_no_wrap | 3 | 1 | 1 | sips, across x: 2; sips, across y: 3",
        "3 | mesh_2d_no_wrap | 1 | 1 | 1 | sips, across y: 1",
        "3 | mesh_2d_no_wrap | 3 | 1 | 1 | sips, across x: 1",
        "6 | torus_2d | 3 | 1 | 1 | sips, across x: 4; sips, across y: 3",
      })
  void of_gridsAndRings_cutEachAxisThatHasMoreThanOnePosition(
      int sips, String topology, String width, int w, int h, String expected) {
    Machine machine =
        Machines.load(
            "tiny",
            List.of(
                "system.sips.count=" + sips,
                "system.sips.topology=" + topology,
                "system.sips.w=" + width,
                "system.sips.wrap_pairs=single",
                "sip.cube_mesh.w=" + w,
                "sip.cube_mesh.h=" + h));
    List<Bisection> cuts = Bisection.of(machine);
    assertThat(cuts.stream().map(c -> c.name() + ": " + c.links()))
        .containsExactlyElementsOf(
            expected == null ? List.of() : Arrays.asList(expected.split("; ")));
    for (Bisection cut : cuts) {
      LinkKind kind = cut.ofSip() ? LinkKind.CUBE_TO_CUBE : LinkKind.SIP_TO_SIP;
      assertThat(cut.ofSip()).isEqualTo(cut.name().startsWith("cubes"));
      assertThat(cut.bytesPerSecond())
          .isEqualTo(cut.links() * (double) machine.spec(kind).rate().bytesPerSecond());
    }
  }

  /** Of ports of a switch half pass at once, the smaller half of an odd number. */
  @ParameterizedTest
  @CsvSource({"2, 1", "3, 1", "4, 2", "5, 2", "7, 3"})
  void of_switchOfANetwork_isTheSmallerHalfOfItsPorts(int size, int links, @TempDir Path folder)
      throws IOException {
    Path file = folder.resolve("m.yaml");
    Files.writeString(
        file,
        """
        description: a switch
        extends: ring
        system:
          network:
            - {kind: switch, size: %s, bandwidth: 30 GB/s, latency: 100 ns}
        """
            .formatted(size));
    Bisection cut = Bisection.of(Machines.load(file.toString(), List.of())).getLast();
    assertThat(cut.name()).isEqualTo("sips, across dimension 0");
    assertThat(cut.links()).isEqualTo(links);
    assertThat(cut.bytesPerSecond()).isEqualTo(links * 30e9);
  }

  /** What can cross is what the slower direction lets pass; a switch takes in and gives out. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "kind: ring, size: 8 | 3->4 50 GB/s | 250",
        "kind: ring, size: 8 | 4->3 50 GB/s | 250",
        "kind: ring, size: 8 | 0->7 50 GB/s | 250",
        "kind: mesh, size: 4 | 2->1 50 GB/s | 50",
        "kind: mesh, size: 4 | 0->1 50 GB/s | 200",
        "kind: switch, size: 8 | 1-switch0 50 GB/s | 650",
        "kind: switch, size: 8 | 5-switch0 50 GB/s | 650",
        "kind: switch, size: 8 | switch0->5 50 GB/s | 650",
      })
  void of_unequalLinks_isTheSlowerDirection(
      String dimension, String link, int gigabytes, @TempDir Path folder) throws IOException {
    Path file = folder.resolve("m.yaml");
    Files.writeString(
        file,
        """
        description: unequal
        extends: ring
        system:
          sips:
            links: ["%s"]
          network:
            - {%s, bandwidth: 200 GB/s, latency: 100 ns}
        """
            .formatted(link, dimension));
    Bisection cut = Bisection.of(Machines.load(file.toString(), List.of())).getLast();
    assertThat(cut.bytesPerSecond()).isEqualTo(gigabytes * 1e9);
  }
}
