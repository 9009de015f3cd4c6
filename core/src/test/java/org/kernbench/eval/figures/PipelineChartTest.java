package org.kernbench.eval.figures;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** The chart of a pipeline, read back from its SVG. */
final class PipelineChartTest {
  private static final Offset<Double> NEAR = within(0.02);
  private static final double LEFT = 70;
  private static final double RIGHT = 936;

  /** Two ranks and 1000 ns: the second rank has two stages, and one box too short for its name. */
  private static final Drawn DRAWN =
      Drawn.of(
          PipelineChart.of(
              "f",
              "Two ranks",
              List.of(
                  new PipelineChart.Bar(0, "F", 0, "F0", 0, 250),
                  new PipelineChart.Bar(1, "F", 1, "F1", 250, 500),
                  new PipelineChart.Bar(1, "B", 0, "B1", 500, 1000),
                  new PipelineChart.Bar(0, "W", 0, "a long name", 500, 510))));

  private static List<Drawn.Item> boxes() {
    return DRAWN.all("rect").stream().filter(b -> b.at("height") == 22).toList();
  }

  /** Each box begins where its time is, in the row of its rank, and ends just before the next. */
  @Test
  void boxes_standAtTheirTimes() {
    List<Drawn.Item> boxes = boxes();
    double ns = (RIGHT - LEFT) / 1000;

    assertThat(boxes).hasSize(4);
    double[] from = {0, 250, 500, 500};
    double[] to = {250, 500, 1000, 510};
    int[] rank = {0, 1, 1, 0};
    for (int i = 0; i < 4; i++) {
      assertThat(boxes.get(i).at("x")).isCloseTo(LEFT + from[i] * ns, NEAR);
      assertThat(boxes.get(i).at("width")).isCloseTo((to[i] - from[i]) * ns - 0.6, NEAR);
      assertThat(boxes.get(i).at("y") - boxes.get(0).at("y")).isCloseTo(26 * rank[i], NEAR);
      Drawn.Item name = DRAWN.text("rank " + rank[i]);
      assertThat(name.at("y")).isBetween(boxes.get(i).at("y"), boxes.get(i).at("y") + 22);
      assertThat(name.end()).isLessThan(LEFT);
    }
  }

  @Test
  void names_standInTheirBoxes_ifThereIsRoom() {
    for (int i = 0; i < 3; i++) {
      Drawn.Item box = boxes().get(i);
      Drawn.Item name = DRAWN.text(List.of("F0", "F1", "B1").get(i));
      assertThat(name.at("x")).isCloseTo(box.at("x") + 2, NEAR);
      assertThat(name.end()).isLessThan(box.at("x") + box.at("width"));
      assertThat(name.at("y")).isBetween(box.at("y") + 8, box.at("y") + 22);
    }
    assertThat(DRAWN.texts()).noneMatch(t -> t.text().equals("a long name"));
    assertThat(DRAWN.clashes()).isEmpty();
  }

  /** 7 for each sign and 2 more: one box is just as wide, the other wider. */
  @Test
  void name_needsRoomForEachSign() {
    double ns = (RIGHT - LEFT) / 1000;
    double just = (2 * 7 + 2 + 0.6) / ns;
    Drawn drawn =
        Drawn.of(
            PipelineChart.of(
                "f",
                "t",
                List.of(
                    new PipelineChart.Bar(0, "F", 0, "F7", 0, just - 0.1),
                    new PipelineChart.Bar(0, "F", 0, "F8", 500, 500 + just + 0.1),
                    new PipelineChart.Bar(0, "F", 0, "F9", 900, 1000))));
    assertThat(drawn.texts().stream().map(Drawn.Item::text))
        .contains("F8", "F9")
        .doesNotContain("F7");
  }

  /** In the order in which kinds follow each other, and only those that there are. */
  @Test
  void legend_hasTheKindsThatThereAre_inTheirColours() {
    List<Drawn.Item> keys = DRAWN.all("rect").stream().filter(b -> b.at("height") == 12).toList();

    assertThat(keys).hasSize(3);
    List<String> words = List.of("F forward", "B backward", "W weight gradient");
    int[] box = {0, 2, 3};
    for (int i = 0; i < 3; i++) {
      Drawn.Item word = DRAWN.text(words.get(i));
      assertThat(keys.get(i).fill()).isEqualTo(boxes().get(box[i]).fill());
      assertThat(keys.get(i).at("x")).isCloseTo(LEFT + 130 * i, NEAR);
      assertThat(word.at("x")).isCloseTo(keys.get(i).at("x") + 17, NEAR);
      assertThat(word.at("y")).isBetween(keys.get(i).at("y") + 8, keys.get(i).at("y") + 12);
    }
    assertThat(DRAWN.texts()).noneMatch(t -> t.text().contains("input gradient"));
  }

  /** 22 per cent darker for each further stage, down to 45 per cent. */
  @Test
  void furtherStages_areDarker() {
    Drawn drawn =
        Drawn.of(
            PipelineChart.of(
                "f",
                "t",
                List.of(
                    new PipelineChart.Bar(0, "F", 0, "", 0, 10),
                    new PipelineChart.Bar(1, "F", 1, "", 0, 10),
                    new PipelineChart.Bar(2, "F", 2, "", 0, 10),
                    new PipelineChart.Bar(3, "F", 7, "", 0, 10))));
    assertThat(drawn.all("rect").stream().filter(b -> b.at("height") == 22))
        .extracting(Drawn.Item::fill)
        .containsExactly("rgb(86,180,233)", "rgb(67,140,181)", "rgb(48,100,130)", "rgb(38,81,104)");
    assertThat(drawn.height()).isEqualTo(84 + 4 * 26 + 40);
  }

  /** Six marks of time from 0 to the end of the last box, each in the middle of its line. */
  @Test
  void axis_isDividedInFive() {
    List<Drawn.Item> lines = DRAWN.all("line");

    assertThat(lines).hasSize(6);
    List<String> times = List.of("0 ns", "200 ns", "400 ns", "600 ns", "800 ns", "1 µs");
    for (int i = 0; i < 6; i++) {
      double x = LEFT + i * (RIGHT - LEFT) / 5;
      assertThat(lines.get(i).at("x1")).isCloseTo(x, NEAR);
      assertThat(lines.get(i).at("x2")).isCloseTo(x, NEAR);
      assertThat(lines.get(i).at("y2")).isCloseTo(84 + 2 * 26, NEAR);
      assertThat(DRAWN.text(times.get(i)).middle()).isCloseTo(x, within(0.1));
      assertThat(DRAWN.text(times.get(i)).at("y")).isGreaterThan(84 + 2 * 26 + 10);
    }
  }

  @Test
  void nothing_isDrawnAsAnEmptyRow_andAWrongKindIsRefused() {
    Drawn empty = Drawn.of(PipelineChart.of("f", "t", List.of()));
    assertThat(empty.text("1 ns").text()).isNotEmpty();
    assertThat(empty.all("rect")).isEmpty();
    assertThat(empty.height()).isEqualTo(84 + 26 + 40);
    assertThatThrownBy(() -> new PipelineChart.Bar(0, "X", 0, "", 0, 1))
        .hasMessage("kind X; expected one of [F, B, I, W]");
  }
}
