package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Figures: the same rows give the same bytes, and the committed ones are of the committed rows. */
final class FiguresTest {
  private static final Path COMMITTED =
      Path.of(System.getProperty("basedir", "."), "../docs/figures/milestone-1h-ccl");
  private static final Illustrated BENCH = new MilestoneCclBench();

  @TempDir private Path directory;

  @Test
  void committedFigures_drawnAgain_haveTheSameBytes() throws Exception {
    Files.copy(COMMITTED.resolve("summary.csv"), directory.resolve("summary.csv"));

    List<Path> files = Artefacts.draw(BENCH, directory);

    assertThat(files).hasSize(1 + 2 * 7);
    for (Path file : files) {
      Path committed = COMMITTED.resolve(file.getFileName());
      if (file.toString().endsWith(".png")) {
        var image = ImageIO.read(new ByteArrayInputStream(Files.readAllBytes(file)));
        var other = ImageIO.read(committed.toFile());
        // Pixels may differ between builds of the JDK's font renderer, sizes may not.
        assertThat(image.getWidth()).isEqualTo(other.getWidth()).isEqualTo(2 * Plots.WIDTH);
        assertThat(image.getHeight()).isEqualTo(other.getHeight());
      } else {
        assertThat(file).as(committed.toString()).hasSameTextualContentAs(committed);
      }
    }
  }

  @Test
  void figure_drawnTwice_hasTheSameBytesAndIsWellFormed() throws Exception {
    Figure figure =
        Plots.timeOverBytes(
            "f",
            new Plots.Words("title", "caption", "x", "y"),
            List.of(
                new Plots.Curve(
                    "a <b>", Plots.Style.MEASURED, new double[] {16, 64}, new double[] {5, 90}),
                new Plots.Curve(
                    "bound", Plots.Style.BOUND, new double[] {16, 64}, new double[] {4, 8})));

    assertThat(figure.png()).isEqualTo(figure.png());
    assertThat(figure.svg()).isEqualTo(figure.svg()).contains("a &lt;b&gt;", ">64 B<", ">50 ns<");
    DocumentBuilderFactory xml = DocumentBuilderFactory.newInstance();
    xml.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
    var svg =
        xml.newDocumentBuilder().parse(new ByteArrayInputStream(figure.svg().getBytes("UTF-8")));
    assertThat(svg.getDocumentElement().getAttribute("viewBox")).isEqualTo("0 0 860 520");
  }

  @Test
  @Tag("slow")
  void milestone_point_isTheSameAsASingleRun() {
    RunResult table =
        Runner.of("test", Progress.SILENT)
            .run(BENCH, RunOptions.DEFAULT.withMode(org.kernbench.device.Mode.TIME));
    RunResult single =
        Runner.of("test", Progress.SILENT)
            .run(
                new AllReduceBench(),
                RunOptions.DEFAULT
                    .withMode(org.kernbench.device.Mode.TIME)
                    .withOverrides(LatencySweepBench.NETWORKS.get(2).overrides())
                    .withParams(List.of("n_elem=512")));

    assertThat(table.problems()).isEmpty();
    assertThat(table.rows()).hasSizeGreaterThanOrEqualTo(36 + 12);
    assertThat(table.rows())
        .filteredOn(r ->
            r.get("sweep").equals("latency")
                && r.get("topology").equals("mesh_2d_no_wrap")
                && r.get("algorithm").equals("root_center")
                && r.get("n_elem").equals(512))
        .singleElement()
        .satisfies(r -> {
          assertThat(r.get("crit_ns")).isEqualTo(single.metrics().get("crit_ns"));
          assertThat(r.get("bound_ns")).isEqualTo(single.metrics().get("bound_ns"));
        });
  }

  @Test
  void fast_withoutRows_saysHowToGetThem() throws IOException {
    assertThatThrownBy(() -> Artefacts.draw(BENCH, directory))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("run without it first");
    Files.writeString(directory.resolve("summary.csv"), "bench,x\nother,1\n");
    assertThatThrownBy(() -> Artefacts.draw(BENCH, directory))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("holds no rows of bench milestone-1h-ccl");
  }

  @Test
  void numbers_areShortAndHaveUnits() {
    assertThat(Plots.bytes(98304)).isEqualTo("96 KiB");
    assertThat(Plots.bytes(16)).isEqualTo("16 B");
    assertThat(Plots.time(13328.152)).isEqualTo("13.3 µs");
    assertThat(Plots.time(999.9)).isEqualTo("1000 ns");
    assertThat(Plots.time(500)).isEqualTo("500 ns");
    assertThat(Plots.plain(15.02)).isEqualTo("15");
    assertThat(Plots.plain(0.25)).isEqualTo("0.25");
  }

  @Test
  void references_sayWhereTheyWereRead() {
    assertThat(References.of("allreduce.csv").values())
        .isNotEmpty()
        .allSatisfy(r -> {
          assertThat(r.source()).isNotBlank();
          assertThat(r.status()).isNotBlank();
        });
  }
}
