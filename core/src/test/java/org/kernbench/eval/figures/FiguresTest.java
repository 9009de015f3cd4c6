package org.kernbench.eval.figures;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.awt.Color;
import java.awt.font.FontRenderContext;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Illustrated;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.AllReduceBench;
import org.kernbench.eval.benches.LatencySweepBench;
import org.kernbench.eval.benches.MilestoneCclBench;
import org.kernbench.eval.benches.MilestoneGemmBench;
import org.kernbench.eval.benches.References;
import org.kernbench.eval.report.Artefacts;

/** Figures: the same rows give the same bytes, and the committed ones are of the committed rows. */
final class FiguresTest {
  private static final Path FIGURES =
      Path.of(System.getProperty("basedir", "."), "../docs/figures");
  private static final Illustrated BENCH = new MilestoneCclBench();

  @TempDir private Path directory;

  static Stream<Illustrated> illustrated() {
    return Stream.of(new MilestoneCclBench(), new MilestoneGemmBench());
  }

  /** Tables and SVGs byte by byte, PNGs pixel by pixel: their bytes also follow the JDK's zlib. */
  @ParameterizedTest
  @MethodSource("illustrated")
  void committedFigures_drawnAgain_areTheSame(Illustrated bench) throws IOException {
    Path committed = FIGURES.resolve(bench.name());
    Files.copy(committed.resolve("summary.csv"), directory.resolve("summary.csv"));

    List<Path> files = Artefacts.draw(bench, directory);

    assertThat(files).hasSize(1 + 2 * (bench instanceof MilestoneCclBench ? 8 : 7));
    for (Path file : files) {
      Path other = committed.resolve(file.getFileName());
      if (file.toString().endsWith(".png")) {
        assertSamePixels(ImageIO.read(file.toFile()), ImageIO.read(other.toFile()), other);
      } else {
        assertThat(file).as(other.toString()).hasSameBinaryContentAs(other);
      }
    }
  }

  private static void assertSamePixels(BufferedImage got, BufferedImage expected, Path file) {
    int width = expected.getWidth();
    int height = expected.getHeight();
    assertThat(width).isEqualTo(2 * Plots.WIDTH);
    assertThat(List.of(got.getWidth(), got.getHeight()))
        .as(file.toString())
        .containsExactly(width, height);
    int[] pixels = got.getRGB(0, 0, width, height, null, 0, width);
    int[] others = expected.getRGB(0, 0, width, height, null, 0, width);
    int differs = Arrays.mismatch(pixels, others);
    assertThat(differs)
        .as("%s: first pixel that differs, of %d x %d", file, width, height)
        .isEqualTo(-1);
  }

  /** Letters are filled outlines: their pixels come from the font, not from the toolkit's text. */
  @Test
  void letters_ofAPng_areFilledOutlines() throws IOException {
    Figure figure =
        new Figure(
            "f",
            40,
            30,
            (g, area) -> {
              g.setColor(Color.BLACK);
              g.setFont(FigureFonts.plain(20));
              g.drawString("I", 10, 25);
            });
    BufferedImage image = ImageIO.read(new ByteArrayInputStream(figure.png()));
    Rectangle2D outline =
        FigureFonts.plain(20)
            .createGlyphVector(new FontRenderContext(null, true, true), "I")
            .getOutline(10, 25)
            .getBounds2D();
    double ink = 0;
    for (int x = 0; x < image.getWidth(); x++) {
      for (int y = 0; y < image.getHeight(); y++) {
        ink += 1 - (image.getRGB(x, y) & 0xFF) / 255.0;
      }
    }
    // the letter is one bar: its ink is its area, at two pixels to a unit each way
    double area = outline.getWidth() * outline.getHeight() * 4;
    assertThat(ink).isCloseTo(area, within(0.02 * area));
  }

  @Test
  void threeDigits_keepsZerosThatSayHowPreciseANumberIs() {
    assertThat(Stream.of(2.8, 15.0, 9.996, 366.0, 1234.5).map(Plots::threeDigits))
        .containsExactly("2.80", "15.0", "10.0", "366", "1235");
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

  private static List<String> ticks(Figure figure, String unit) {
    List<String> ticks = new ArrayList<>();
    Pattern.compile(">(\\d+ " + unit + ")<")
        .matcher(figure.svg())
        .results()
        .forEach(m -> ticks.add(m.group(1)));
    return ticks;
  }

  private static Figure over(double[] bytes, double[] ns) {
    return Plots.timeOverBytes(
        "f",
        new Plots.Words("title", "caption", "x", "y"),
        List.of(new Plots.Curve("a", Plots.Style.MEASURED, bytes, ns)));
  }

  /** Every second power of two up to the last point; 1, 2 and 5 of each power of ten around. */
  @Test
  void ticks_ofBothAxes_areRoundNumbersInTheRange() {
    Figure figure = over(new double[] {16, 4096}, new double[] {5, 90});
    assertThat(ticks(figure, "(?:B|KiB)"))
        .containsExactly("16 B", "64 B", "256 B", "1 KiB", "4 KiB");
    assertThat(ticks(figure, "ns"))
        .containsExactlyInAnyOrder("2 ns", "5 ns", "10 ns", "20 ns", "50 ns", "100 ns");
    Figure other = over(new double[] {64, 1 << 21}, new double[] {1050, 20_000});
    assertThat(ticks(other, "(?:B|KiB|MiB)"))
        .containsExactly("64 B", "256 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB");
    assertThat(ticks(other, "(?:ns|µs)"))
        .containsExactlyInAnyOrder("500 ns", "1 µs", "2 µs", "5 µs", "10 µs", "20 µs");
  }

  @Test
  void numbers_atTheEdgesOfTheirUnits() {
    assertThat(Stream.of(0.0, 1023.0, 1024.0, 1536.0, 1048576.0, 1073741824.0).map(Plots::bytes))
        .containsExactly("0 B", "1023 B", "1 KiB", "1.5 KiB", "1 MiB", "1 GiB");
    assertThat(Plots.bytes(Math.pow(2, 50))).isEqualTo("1024 TiB");
    assertThat(Stream.of(1.0, 1000.0, 2.5e6, 1e9, 1e13).map(Plots::time))
        .containsExactly("1 ns", "1 µs", "2.5 ms", "1 s", "10000 s");
    assertThat(Stream.of(0.0, 0.05, 0.1234, 1.0, 9.999, 10.26, 99.9, 100.4, -2.5).map(Plots::plain))
        .containsExactly("0", "0.05", "0.12", "1", "10", "10.3", "99.9", "100", "-2.5");
    assertThat(Stream.of(0.0, 9.994, 9.995, 99.94, 99.95, -15.0).map(Plots::threeDigits))
        .containsExactly("0.00", "9.99", "10.0", "99.9", "100", "-15.0");
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
                && r.get("root").equals("center")
                && r.get("n_elem").equals(512))
        .singleElement()
        .satisfies(r -> {
          assertThat(r.get("crit_ns")).isEqualTo(single.metrics().get("crit_ns"));
          assertThat(r.get("bound_ns")).isEqualTo(single.metrics().get("bound_ns"));
        });
  }

  /** Lines of one figure are of the same ranks; rows that are not are not drawn. */
  @Test
  void figure_ofRowsThatDifferInRanks_isRefused() throws IOException {
    Path summary = FIGURES.resolve("milestone-1h-ccl/summary.csv");
    List<String> lines = new ArrayList<>(Files.readAllLines(summary));
    for (int i = 1; i < lines.size(); i++) {
      if (lines.get(i).contains(",torus_2d,") && lines.get(i).contains(",hierarchical,")) {
        lines.set(i, lines.get(i).replace(",96,cube,", ",6,sip,"));
      }
    }
    Files.write(directory.resolve("summary.csv"), lines);
    assertThatThrownBy(() -> Artefacts.draw(BENCH, directory))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("the rows of one figure differ in ranks: 96, 6");
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
