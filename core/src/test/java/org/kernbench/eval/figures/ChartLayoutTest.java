package org.kernbench.eval.figures;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** Where what a chart consists of stands, and in which colours: as a reader sees it. */
final class ChartLayoutTest {
  private static final Offset<Double> NEAR = within(0.02);
  private static final String GRID = "rgb(221,221,221)";
  private static final String INK = "rgb(34,34,34)";
  private static final String WHITE = "white";

  private static Map<String, String> row(Object x, Object series, Object y) {
    Map<String, String> row = new LinkedHashMap<>();
    row.put("x", "" + x);
    row.put("by", "" + series);
    row.put("y", "" + y);
    row.put("machine", "tiny");
    return row;
  }

  /** Two series at 1, 2 and 4: 10, 20, 40 and three times 30. */
  private static final List<Map<String, String>> ROWS =
      List.of(
          row(1, "ring", 10),
          row(2, "ring", 20),
          row(4, "ring", 40),
          row(1, "tree", 30),
          row(2, "tree", 30),
          row(4, "tree", 30));

  private static List<Map<String, String>> grid(int places, int series, String name) {
    List<Map<String, String>> rows = new ArrayList<>();
    for (int s = 0; s < series; s++) {
      for (int x = 1; x <= places; x++) {
        rows.add(row(x, name + s, 10 * x + s));
      }
    }
    return rows;
  }

  private static Drawn lines(List<Map<String, String>> rows) {
    return Drawn.of(Chart.of("Title", rows).lines("f", "x", "y", "by"));
  }

  private static Drawn bars(List<Map<String, String>> rows) {
    return Drawn.of(Chart.of("Title", rows).bars("f", "x", "y", "by"));
  }

  private static Drawn heatMap(List<Map<String, String>> rows) {
    return Drawn.of(Chart.of("Title", rows).heatMap("f", "x", "by", "y"));
  }

  private static boolean isUpright(Drawn.Item line) {
    return line.at("x1") == line.at("x2");
  }

  private static List<Drawn.Item> gridLines(Drawn drawn, boolean upright) {
    return drawn.all("line").stream()
        .filter(l -> l.stroke().equals(GRID) && isUpright(l) == upright)
        .toList();
  }

  // ---- axes ----

  /** A line of the grid through the frame for each number, which stands at the end of it. */
  @Test
  void gridLines_goThroughTheirNumbers() {
    Drawn drawn = lines(ROWS);
    double left = gridLines(drawn, false).getFirst().at("x1");
    double right = gridLines(drawn, false).getFirst().at("x2");
    double bottom = gridLines(drawn, true).getFirst().at("y2");
    double top = gridLines(drawn, true).getFirst().at("y1");

    List<Drawn.Item> up = gridLines(drawn, false);
    assertThat(up).hasSize(5); // 0, 10, 20, 30, 40
    for (int i = 0; i < 5; i++) {
      double y = bottom - i * (bottom - top) / 4;
      assertThat(up.get(i).at("y1")).isCloseTo(y, NEAR);
      String number = "" + 10 * i;
      assertThat(drawn.texts())
          .anySatisfy(text -> {
            assertThat(text.text()).isEqualTo(number);
            assertThat(text.end()).isCloseTo(left - 8, NEAR);
            assertThat(text.at("y")).isCloseTo(y + 4, NEAR);
            assertThat(text.fill()).isEqualTo(INK);
          });
    }
    List<Drawn.Item> across = gridLines(drawn, true);
    assertThat(across).hasSize(5); // 0 to 4
    for (int i = 0; i < 5; i++) {
      double x = left + i * (right - left) / 4;
      assertThat(across.get(i).at("x1")).isCloseTo(x, NEAR);
      String number = "" + i;
      assertThat(drawn.texts())
          .anySatisfy(text -> {
            assertThat(text.text()).isEqualTo(number);
            assertThat(text.middle()).isCloseTo(x, NEAR);
            assertThat(text.at("y")).isCloseTo(bottom + 18, NEAR);
          });
    }
    assertThat(drawn.text("x").middle()).isCloseTo((left + right) / 2, NEAR);
    assertThat(drawn.text("x").at("y")).isGreaterThan(bottom + 18 + 10);
    assertThat(drawn.text("y").at("y")).isLessThan(top);
  }

  @Test
  void axis_ofPowers_saysSo() {
    Drawn both = lines(List.of(row(1, "a", 1), row(1000, "a", 1000)));
    assertThat(both.text("logarithmic").end()).isCloseTo(836, NEAR);
    assertThat(both.text("y (logarithmic)").text()).isNotEmpty();

    Drawn neither = lines(ROWS);
    assertThat(neither.texts()).noneMatch(t -> t.text().contains("logarithmic"));
    assertThat(bars(List.of(row(1, "a", 1), row(1000, "a", 1000))).texts())
        .as("bars begin at zero, which no axis of powers has")
        .noneMatch(t -> t.text().contains("logarithmic"));
  }

  @Test
  void texts_ofManySeriesAndConditions_neitherOverlapNorLeaveThePicture() {
    List<Map<String, String>> rows = grid(6, 20, "an algorithm of number ");
    rows.forEach(row -> {
      for (int i = 0; i < 12; i++) {
        row.put("condition number " + i, "a value of some length");
      }
    });
    Chart chart = Chart.of("Title", rows);
    for (Figure figure :
        List.of(
            chart.lines("f", "x", "y", "by"),
            chart.bars("f", "x", "y", "by"),
            Chart.of("Title", grid(6, 20, "algorithm")).heatMap("f", "x", "by", "y"))) {
      Drawn drawn = Drawn.of(figure);
      assertThat(drawn.clashes()).isEmpty();
      assertThat(drawn.text("Title").at("y")).isLessThan(60);
    }
    Drawn drawn = Drawn.of(chart.lines("f", "x", "y", "by"));
    List<String> caption =
        drawn.texts().stream().map(Drawn.Item::text).filter(t -> t.contains("=")).toList();
    assertThat(caption).hasSizeGreaterThan(2);
    assertThat(String.join("   ", caption).split(" {3}"))
        .hasSize(13)
        .startsWith("machine=tiny", "condition number 0=a value of some length");
  }

  // ---- lines ----

  /** Points are joined from left to right, in whatever order rows are. */
  @Test
  void line_ofRowsInAnyOrder_goesFromLeftToRight() {
    List<Map<String, String>> turned = List.of(ROWS.get(2), ROWS.get(0), ROWS.get(1));

    List<Drawn.Item> paths = lines(turned).all("path");

    assertThat(paths).hasSize(1);
    assertThat(paths.getFirst().attributes().get("d"))
        .isEqualTo(lines(ROWS.subList(0, 3)).all("path").getFirst().attributes().get("d"))
        .isEqualTo("M272 347 L460 252 L836 62");
  }

  /** A mark is a small box around its point, in the colour of its line and of the legend. */
  @Test
  void series_hasOneColourInLineMarksAndLegend() {
    Drawn drawn = lines(ROWS);
    List<Drawn.Item> paths = drawn.all("path");
    List<Drawn.Item> marks = drawn.all("rect");

    assertThat(paths).hasSize(2);
    assertThat(marks).hasSize(6);
    for (int series = 0; series < 2; series++) {
      String colour = paths.get(series).stroke();
      List<Drawn.Item> own = marks.subList(3 * series, 3 * series + 3);
      assertThat(own)
          .allMatch(m -> m.fill().equals(colour) && m.at("width") == 6 && m.at("height") == 6);
      Drawn.Item word = drawn.text(series == 0 ? "ring" : "tree");
      assertThat(drawn.all("line"))
          .filteredOn(l -> l.stroke().equals(colour))
          .singleElement()
          .satisfies(l -> {
            assertThat(l.at("x2")).isBetween(word.at("x") - 10, word.at("x"));
            assertThat(l.at("x2") - l.at("x1")).isCloseTo(24, NEAR);
            assertThat(l.at("y1")).isBetween(word.at("y") - 10, word.at("y"));
          });
    }
    assertThat(paths.get(0).stroke()).isNotEqualTo(paths.get(1).stroke());
    assertThat(marks.getFirst().at("x") + 3).isCloseTo(272, NEAR);
    double bottom = gridLines(drawn, true).getFirst().at("y2");
    assertThat(marks.getFirst().at("y") + 3).isCloseTo(bottom - 380 * 10 / 40.0, NEAR);
  }

  @Test
  void seriesBeyondTheColours_haveDashes() {
    List<Drawn.Item> paths = lines(grid(2, 17, "a")).all("path");

    assertThat(paths.get(8).stroke()).isEqualTo(paths.get(0).stroke());
    assertThat(Stream.of(0, 7, 8, 16).map(i -> dashes(paths.get(i))))
        .containsExactly("none", "none", "7,4", "2,3");
  }

  private static String dashes(Drawn.Item path) {
    return path.attributes().getOrDefault("stroke-dasharray", "none").replace(" ", "");
  }

  /** Of one series the title says enough: no legend, and the room for it goes. */
  @Test
  void oneSeries_hasNoLegend() {
    Drawn one = lines(ROWS.subList(0, 3));

    assertThat(one.texts()).noneMatch(t -> t.text().equals("ring"));
    assertThat(one.height()).isEqualTo(lines(ROWS).height() - 17);
    assertThat(bars(ROWS.subList(0, 3)).texts()).noneMatch(t -> t.text().equals("ring"));
    assertThat(bars(ROWS.subList(0, 3)).all("rect")).hasSize(3);
  }

  // ---- bars ----

  /** Bars of a group stand side by side, in four fifths of its share of the axis. */
  @Test
  void bars_standInGroupsAboveTheirPlace() {
    Drawn drawn = bars(ROWS);
    List<Drawn.Item> bars = drawn.all("rect").stream().filter(b -> b.at("width") > 20).toList();
    double group = (836.0 - 84) / 3;

    assertThat(bars).hasSize(6);
    for (int place = 0; place < 3; place++) {
      double middle = 84 + (place + 0.5) * group;
      Drawn.Item ring = bars.get(2 * place);
      Drawn.Item tree = bars.get(2 * place + 1);
      assertThat(ring.at("x")).isCloseTo(middle - 0.4 * group, NEAR);
      assertThat(tree.at("x")).isCloseTo(middle, NEAR);
      assertThat(ring.at("width")).isCloseTo(0.4 * group - 1, NEAR);
      assertThat(tree.fill()).isNotEqualTo(ring.fill());
      String name = List.of("1", "2", "4").get(place);
      assertThat(drawn.text(name).middle()).isCloseTo(middle, NEAR);
      assertThat(drawn.texts())
          .anySatisfy(text -> {
            assertThat(text.middle()).isCloseTo(middle - 0.2 * group, NEAR);
            assertThat(text.at("y")).isCloseTo(ring.at("y") - 5, NEAR);
          });
    }
    assertThat(drawn.all("rect")).hasSize(8); // and two in the legend
    for (String name : List.of("ring", "tree")) {
      Drawn.Item word = drawn.text(name);
      Drawn.Item bar = bars.get(name.equals("ring") ? 0 : 1);
      assertThat(drawn.all("rect"))
          .filteredOn(r -> r.at("width") == 18 && r.fill().equals(bar.fill()))
          .singleElement()
          .satisfies(r -> assertThat(r.at("x") + 18).isBetween(word.at("x") - 12, word.at("x")));
    }
  }

  @Test
  void bar_below0_hangsFromTheZeroLine() {
    Drawn drawn = bars(List.of(row("a", "s", 20), row("b", "s", -10), row("c", "s", 0)));
    List<Drawn.Item> bars = drawn.all("rect");
    double zero = bars.get(0).at("y") + bars.get(0).at("height");

    assertThat(bars.get(1).at("y")).isCloseTo(zero, NEAR);
    assertThat(bars.get(1).at("height")).isCloseTo(bars.get(0).at("height") / 2, NEAR);
    assertThat(drawn.texts())
        .as("the number of a bar stands above it")
        .anyMatch(t -> t.text().equals("-10") && Math.abs(t.at("y") - (zero - 5)) < 0.02);
    assertThat(gridLines(drawn, false)).anyMatch(l -> Math.abs(l.at("y1") - zero) < 0.02);
  }

  /** A number that would reach into the next bars is left out; the axis says as much. */
  @Test
  void numbers_ofNarrowBars_areLeftOut() {
    assertThat(numbers(bars(grid(2, 10, "a")))).isEqualTo(20);
    assertThat(numbers(bars(grid(8, 20, "a")))).isZero();
  }

  private static long numbers(Drawn drawn) {
    List<Drawn.Item> bars = drawn.all("rect");
    return drawn.texts().stream()
        .filter(t ->
            bars.stream()
                .anyMatch(b ->
                    Math.abs(t.at("y") - b.at("y") + 5) < 0.02
                        && Math.abs(t.middle() - b.at("x") - b.at("width") / 2) < 1))
        .count();
  }

  /** White lines tell bars of one colour apart: none, one every 14, every 7 and so on. */
  @Test
  void barsOfOneColour_areToldApartByWhiteLines() {
    List<Map<String, String>> rows = new ArrayList<>();
    for (int s = 0; s < 17; s++) {
      rows.add(row("a", "s" + s, 100));
    }
    Drawn drawn = bars(rows);
    List<Drawn.Item> bars = drawn.all("rect").stream().filter(b -> b.at("height") > 20).toList();
    List<Drawn.Item> white =
        drawn.all("line").stream().filter(l -> l.stroke().equals(WHITE)).toList();

    assertThat(bars.get(8).fill()).isEqualTo(bars.get(0).fill());
    assertThat(Stream.of(0, 7, 8, 16).map(i -> spacing(white, bars.get(i))))
        .containsExactly(0L, 0L, 14L, 7L);
  }

  /** How far apart the first two white lines of a bar are, and the first is from its top. */
  private static long spacing(List<Drawn.Item> white, Drawn.Item bar) {
    List<Drawn.Item> own = white.stream().filter(l -> l.at("x1") == bar.at("x")).toList();
    if (own.isEmpty()) {
      return 0;
    }
    assertThat(own).allMatch(l -> Math.abs(l.at("x2") - bar.at("x") - bar.at("width")) < 0.02);
    assertThat(own.getLast().at("y1")).isLessThan(bar.at("y") + bar.at("height"));
    double first = own.getFirst().at("y1") - bar.at("y");
    assertThat(own.get(1).at("y1") - own.get(0).at("y1")).isCloseTo(first, NEAR);
    return Math.round(first);
  }

  // ---- heat maps ----

  /** One box for each pair; light to dark with its number in ink or white, as can be read. */
  @Test
  void heatMap_isATableOfBoxes() {
    Drawn drawn = heatMap(ROWS);
    List<Drawn.Item> boxes = drawn.all("rect");
    double wide = (836.0 - 84) / 3;
    double high = 190 / 2.0;

    assertThat(boxes).hasSize(6);
    for (int i = 0; i < 6; i++) {
      Drawn.Item box = boxes.get(i);
      assertThat(box.at("x")).isCloseTo(84 + i % 3 * wide, NEAR);
      assertThat(box.at("y") - boxes.getFirst().at("y")).isCloseTo(i / 3 * high, NEAR);
      assertThat(box.at("width")).isCloseTo(wide - 1, NEAR);
      assertThat(box.at("height")).isCloseTo(high - 1, NEAR);
      Drawn.Item number = drawn.texts().get(numberOf(drawn, box));
      assertThat(number.text()).isEqualTo(ROWS.get(i).get("y"));
      assertThat(number.fill()).isEqualTo(number.text().matches("30|40") ? WHITE : INK);
    }
    assertThat(boxes.get(0).fill()).isEqualTo("rgb(242,246,251)");
    assertThat(boxes.get(2).fill()).isEqualTo("rgb(8,58,107)");
    double top = boxes.getFirst().at("y");
    assertThat(drawn.text("ring").end()).isCloseTo(76, NEAR);
    assertThat(drawn.text("ring").at("y")).isCloseTo(top + high / 2 + 4, NEAR);
    assertThat(drawn.text("tree").at("y")).isCloseTo(top + 1.5 * high + 4, NEAR);
    assertThat(drawn.text("2").middle()).isCloseTo(84 + 1.5 * wide, NEAR);
    assertThat(drawn.text("2").at("y")).isCloseTo(top + 190 + 18, NEAR);
    assertThat(drawn.text("y: 10 (light) to 40 (dark)").at("y")).isLessThan(top);
    assertThat(drawn.text("x").middle()).isCloseTo(460, NEAR);
  }

  private static int numberOf(Drawn drawn, Drawn.Item box) {
    double x = box.at("x") + box.at("width") / 2;
    double y = box.at("y") + box.at("height") / 2;
    List<Drawn.Item> texts = drawn.texts();
    for (int i = 0; i < texts.size(); i++) {
      Drawn.Item text = texts.get(i);
      if (Math.abs(text.middle() - x) < 0.05 && Math.abs(text.at("y") - y - 4) < 0.05) {
        return i;
      }
    }
    throw new AssertionError("no number in the box at " + x + ", " + y);
  }

  /** What nobody measured is an empty box; values that are all alike are all light. */
  @Test
  void heatMap_withoutAValue_leavesItsBoxEmpty() {
    List<Map<String, String>> rows = new ArrayList<>(ROWS.subList(0, 3));
    rows.add(row(1, "tree", 30));
    rows.add(row(2, "tree", ""));
    Drawn drawn = heatMap(rows);

    List<Drawn.Item> empty =
        drawn.all("rect").stream().filter(b -> b.fill().equals("none")).toList();
    assertThat(empty).hasSize(2).allMatch(b -> b.stroke().equals(GRID));
    assertThat(empty.getFirst().at("x")).isCloseTo(84 + (836.0 - 84) / 3, NEAR);

    Drawn alike = heatMap(List.of(row(1, "a", 5), row(2, "a", 5)));
    assertThat(alike.all("rect")).allMatch(b -> b.fill().equals("rgb(242,246,251)"));
    assertThat(alike.text("y: 5 (light) to 5 (dark)").text()).isNotEmpty();
  }

  /** Many rows make the map higher: 30 each at least, 190 in all at least. */
  @Test
  void heatMap_ofManyRows_hasRoomForEach() {
    List<Drawn.Item> many = heatMap(grid(2, 20, "a")).all("rect");
    List<Drawn.Item> few = heatMap(grid(2, 6, "a")).all("rect");

    assertThat(many.get(2).at("y") - many.get(0).at("y")).isCloseTo(30, NEAR);
    assertThat(few.get(2).at("y") - few.get(0).at("y")).isCloseTo(190 / 6.0, NEAR);
    Drawn narrow = heatMap(grid(40, 2, "a"));
    assertThat(narrow.all("rect")).hasSize(80);
    assertThat(narrow.texts())
        .as("no number is wider than its box")
        .noneMatch(t -> t.text().equals("100") && t.wide() > 17.8);
  }
}
