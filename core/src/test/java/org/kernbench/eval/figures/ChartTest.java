package org.kernbench.eval.figures;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Figures of rows, read back from their SVG. */
final class ChartTest {
  private static Map<String, String> row(String... cells) {
    Map<String, String> row = new LinkedHashMap<>();
    for (int i = 0; i < cells.length; i += 2) {
      row.put(cells[i], cells[i + 1]);
    }
    return row;
  }

  private static Map<String, String> run(int bytes, String algorithm, double ns) {
    return row(
        "bytes",
        "" + bytes,
        "algorithm",
        algorithm,
        "crit_ns",
        "" + ns,
        "machine",
        "tiny",
        "note",
        "");
  }

  private static final List<Map<String, String>> ROWS =
      List.of(
          run(1024, "ring", 100),
          run(2048, "ring", 200),
          run(4096, "ring", 400),
          run(1024, "tree", 300),
          run(2048, "tree", 300),
          run(4096, "tree", 300));

  private static List<String> texts(Figure figure) {
    List<String> texts = new ArrayList<>();
    Matcher m = Pattern.compile("<text[^>]*>([^<]*)</text").matcher(figure.svg());
    while (m.find()) {
      texts.add(m.group(1).strip());
    }
    return texts;
  }

  /** Boxes as {@code x, y, width, height}, the white ground left out. */
  private static List<double[]> boxes(Figure figure) {
    List<double[]> boxes = new ArrayList<>();
    Matcher m = Pattern.compile("<rect ([^>]*)/>").matcher(figure.svg());
    while (m.find()) {
      double[] box = new double[4];
      String[] names = {"x", "y", "width", "height"};
      for (int i = 0; i < 4; i++) {
        Matcher value = Pattern.compile("\\b" + names[i] + "=\"([-\\d.]+)\"").matcher(m.group(1));
        box[i] = value.find() ? Double.parseDouble(value.group(1)) : 0;
      }
      if (box[2] < 800) {
        boxes.add(box);
      }
    }
    return boxes;
  }

  @Test
  void caption_hasWhatAllRowsShareAndNothingElse() {
    List<String> texts = texts(Chart.of("Both", ROWS).lines("f", "bytes", "crit_ns", "algorithm"));

    assertThat(texts).contains("Both", "machine=tiny", "ring", "tree", "bytes", "crit_ns");
    assertThat(texts).contains("0 B", "1 KiB", "2 KiB", "4 KiB", "200 ns");
    assertThat(texts).noneMatch(t -> t.contains("note") || t.contains("algorithm="));
  }

  /** Marks stand where the numbers say: equal steps here, as 4096 is but four times 1024. */
  @Test
  void lines_marksStandInProportion() {
    List<double[]> marks =
        boxes(
            Chart.of("t", ROWS)
                .only("algorithm", "ring")
                .lines("f", "bytes", "crit_ns", "algorithm"));

    assertThat(marks).hasSize(3);
    double perByte = (marks.get(1)[0] - marks.get(0)[0]) / 1024;
    assertThat((marks.get(2)[0] - marks.get(1)[0]) / 2048).isCloseTo(perByte, within(1e-4));
    double perNs = (marks.get(0)[1] - marks.get(1)[1]) / 100;
    assertThat((marks.get(1)[1] - marks.get(2)[1]) / 200).isCloseTo(perNs, within(1e-3));
  }

  @Test
  void bars_areAsHighAsTheirNumbers() {
    List<double[]> bars = boxes(Chart.of("t", ROWS).bars("f", "bytes", "crit_ns", "algorithm"));
    List<double[]> tall = bars.stream().filter(b -> b[3] > 20).toList();

    assertThat(tall).hasSize(6); // by place, and in each ring, then tree
    double[] expected = {100, 300, 200, 300, 400, 300};
    for (int i = 0; i < 6; i++) {
      assertThat(tall.get(i)[3] / tall.get(0)[3]).isCloseTo(expected[i] / 100, within(0.01));
      assertThat(tall.get(i)[1] + tall.get(i)[3])
          .isCloseTo(tall.get(0)[1] + tall.get(0)[3], within(0.02));
    }
  }

  @Test
  void heatMap_hasABoxAndANumberForEveryPair() {
    Figure map = Chart.of("t", ROWS).heatMap("f", "bytes", "algorithm", "crit_ns");

    assertThat(boxes(map)).hasSize(6);
    assertThat(texts(map)).contains("100 ns", "200 ns", "400 ns", "4 KiB", "ring", "machine=tiny");
    assertThat(texts(map)).anyMatch(t -> t.equals("crit_ns: 100 ns (light) to 400 ns (dark)"));
    IntStream.range(0, 20)
        .forEach(i -> {
          int now = ChartDrawing.heat(i / 20.0).getGreen();
          assertThat(ChartDrawing.heat((i + 1) / 20.0).getGreen()).isLessThan(now);
        });
  }

  @Test
  void looks_ofAllSeries_areDifferent() {
    Set<ChartDrawing.Look> looks = new HashSet<>();
    for (int i = 0; i < Chart.MOST_SERIES; i++) {
      looks.add(ChartDrawing.Look.of(i));
    }
    assertThat(looks).hasSize(Chart.MOST_SERIES);
  }

  /** Thirty-fold or more: powers; less: from zero, in steps of 1, 2 or 5. */
  @Test
  void scale_followsTheSpreadOfTheNumbers() {
    ChartScale wide = ChartScale.of("bytes", new double[] {1024, 1 << 20}, false);
    ChartScale close = ChartScale.of("x", new double[] {3, 70}, false);

    assertThat(wide.at(1024)).isZero();
    assertThat(wide.at(32 * 1024)).isCloseTo(0.5, within(1e-12));
    assertThat(wide.ticks()).first().isEqualTo(1024.0);
    assertThat(close.ticks()).containsExactly(0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0);
    assertThat(ChartScale.of("x", new double[] {-4, 7}, true).ticks())
        .containsExactly(-4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0);
    assertThat(ChartScale.of("x", new double[] {1, 1000}, true).isLogarithmic()).isFalse();
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "7, 7",
    "-2.5, -2.5",
    "12.34, 12.3",
    "100, 100",
    "1234.4, '1,234'",
    "1234567, '1,234,567'",
    "9999999, '9,999,999'",
    "1e7, 1.00e+07",
    "-1e7, -1.00e+07",
    "0.5, 0.5",
    "0.001, 0.001",
    "0.00123456, 0.00123",
    "0.000999, 9.99e-04"
  })
  void number_hasThreeDigits(double value, String text) {
    assertThat(ChartScale.number(value)).isEqualTo(text);
    assertThat(ChartScale.Unit.NUMBER.write(value)).isEqualTo(text);
  }

  @Test
  void unit_isThatOfTheColumn_andWritesItsNumbers() {
    assertThat(ChartScale.Unit.of("bytes").write(2048)).isEqualTo("2 KiB");
    assertThat(ChartScale.Unit.of("sent_bytes").write(3 << 20)).isEqualTo("3 MiB");
    assertThat(ChartScale.Unit.of("crit_ns").write(1500)).isEqualTo("1.5 µs");
    assertThat(ChartScale.Unit.of("kilobytes").write(2048)).isEqualTo("2,048");
    assertThat(ChartScale.Unit.of("bytes").name("bytes", "1024")).isEqualTo("1 KiB");
    assertThat(ChartScale.Unit.of("ranks").name("ranks", "1024")).isEqualTo("1024");
  }

  @Test
  void scale_atItsLimits_isTheOneThatShowsMost() {
    assertThat(ChartScale.of("x", new double[] {1, 30}, false).isLogarithmic()).isTrue();
    assertThat(ChartScale.of("x", new double[] {1, 29.9}, false).isLogarithmic()).isFalse();
    assertThat(ChartScale.of("x", new double[] {0, 29.9}, false).isLogarithmic()).isFalse();
    assertThat(ChartScale.of("x", new double[] {0, 0}, false).high()).isEqualTo(1.0);
    ChartScale decades = ChartScale.of("x", new double[] {20, 3000}, false);
    assertThat(decades.ticks()).containsExactly(10.0, 100.0, 1000.0, 10_000.0);
    assertThat(decades.at(100)).isCloseTo(1.0 / 3, within(1e-12));
    assertThat(ChartScale.of("x", new double[] {1, 1e8}, false).ticks()).hasSize(9);
    assertThat(ChartScale.of("x", new double[] {1, 1e9}, false).ticks())
        .containsExactly(1.0, 1e2, 1e4, 1e6, 1e8);
  }

  @Test
  void rows_thatMakeNoFigure_areRefusedWithTheReason() {
    List<Map<String, String>> twice = new ArrayList<>(ROWS);
    twice.add(
        row("bytes", "1024", "algorithm", "ring", "crit_ns", "9", "machine", "ring", "note", ""));
    Chart chart = Chart.of("t", twice);

    assertThatThrownBy(() -> chart.lines("f", "bytes", "crit_ns", "algorithm"))
        .hasMessage(
            "two rows are for one point, bytes=1024, algorithm=ring; they differ in crit_ns,"
                + " machine: choose one with only(column, value)");
    assertThat(texts(chart.only("machine", "tiny").lines("f", "bytes", "crit_ns", "algorithm")))
        .contains("machine=tiny");
    assertThatThrownBy(() -> chart.only("machine", "large"))
        .hasMessage("no row has machine=large; there are [ring, tiny]");
    assertThatThrownBy(() -> chart.lines("f", "size", "crit_ns", ""))
        .hasMessage("no column size; the rows have bytes, algorithm, crit_ns, machine, note");
    assertThatThrownBy(() -> Chart.of("t", ROWS).lines("f", "algorithm", "crit_ns", "bytes"))
        .hasMessage("algorithm: got \"ring\"; expected a number");
    List<Map<String, String>> many =
        IntStream.range(0, 33).mapToObj(i -> run(1024, "a" + i, i + 1)).toList();
    assertThatThrownBy(() -> Chart.of("t", many).lines("f", "bytes", "crit_ns", "algorithm"))
        .hasMessageContaining("algorithm has 33 values, and 32 can be told apart");
  }

  @Test
  void point_withoutAValue_isLeftOutAndSaid() {
    List<Map<String, String>> rows = new ArrayList<>(ROWS);
    rows.add(
        row("bytes", "8192", "algorithm", "ring", "crit_ns", "", "machine", "tiny", "note", ""));

    assertThat(texts(Chart.of("t", rows).bars("f", "bytes", "crit_ns", "algorithm")))
        .anyMatch(t -> t.contains("1 of 7 points have no value"));
  }

  @Test
  void figure_twice_hasTheSameBytes() {
    Chart chart = Chart.of("t", ROWS);

    assertThat(chart.bars("f", "bytes", "crit_ns", "algorithm").svg())
        .isEqualTo(chart.bars("f", "bytes", "crit_ns", "algorithm").svg());
    assertThat(chart.bars("f", "bytes", "crit_ns", "algorithm").png()).isNotEmpty();
  }

  /** What a line, an axis or a colour says is no condition, though all points have it. */
  @Test
  void conditions_areWhatNoPartOfTheFigureShows() {
    List<Map<String, String>> alike = List.of(run(1024, "ring", 100));
    assertThat(texts(Chart.of("t", alike).bars("f", "bytes", "crit_ns", "algorithm")))
        .contains("machine=tiny")
        .noneMatch(text -> text.contains("bytes=") || text.contains("crit_ns="))
        .noneMatch(text -> text.contains("algorithm="));
  }

  /**
   * Numbers of the horizontal axis stand below the frame, side by side; those of the other left.
   */
  @Test
  void numbersOfAxes_standBesideTheirAxis() {
    String svg = Chart.of("t", ROWS).lines("f", "bytes", "crit_ns", "algorithm").svg();
    Map<String, double[]> at = new LinkedHashMap<>();
    Matcher m = Pattern.compile("<text([^>]*)>([^<]*)</text").matcher(svg);
    while (m.find()) {
      Matcher x = Pattern.compile("\\bx=\"([-\\d.]+)\"").matcher(m.group(1));
      Matcher y = Pattern.compile("\\by=\"([-\\d.]+)\"").matcher(m.group(1));
      if (x.find() && y.find()) {
        at.put(
            m.group(2).strip(),
            new double[] {Double.parseDouble(x.group(1)), Double.parseDouble(y.group(1))});
      }
    }
    double[] small = at.get("1 KiB");
    double[] large = at.get("4 KiB");
    assertThat(small).as("%s", at.keySet()).isNotNull();
    assertThat(small[1]).isEqualTo(large[1]);
    assertThat(large[0]).isGreaterThan(small[0] + 50);
    List<double[]> times =
        at.entrySet().stream()
            .filter(e -> e.getKey().endsWith(" ns"))
            .map(Map.Entry::getValue)
            .toList();
    assertThat(times).hasSizeGreaterThan(1);
    assertThat(times).allMatch(time -> time[1] < small[1] && time[0] < small[0] + 1);
  }
}
