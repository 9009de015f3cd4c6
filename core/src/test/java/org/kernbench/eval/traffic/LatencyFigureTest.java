package org.kernbench.eval.traffic;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The figure of latency over load, its marks counted and measured in the SVG. */
final class LatencyFigureTest {
  /** A hundred packets of 1 to 100 times {@code ps}. */
  private static TrafficPoint point(double load, long ps) {
    long[] latencies = new long[100];
    for (int i = 0; i < 100; i++) {
      latencies[i] = (i + 1) * ps;
    }
    return new TrafficPoint(load, load, load, latencies, 0, 1, 0, 1);
  }

  private static List<String> found(String svg, String pattern) {
    return Pattern.compile(pattern)
        .matcher(svg)
        .results()
        .map((MatchResult m) -> m.group(1))
        .toList();
  }

  /** Up to 0.4 across and 100 ns up: the frame is 540 wide from 70, and 315 high up from 365. */
  private static final String SVG =
      LatencyFigure.svg(
          "a < b & c",
          new TrafficCurve(
              List.of(point(0.1, 200), point(0.2, 500), point(0.4, 1000)), 50_000, 0.3));

  @Test
  void marks_standWhereTheNumbersSay() {
    List<String> places =
        found(SVG, "<circle (cx=\"[\\d.]+\" cy=\"[\\d.]+\" r=\"3\" fill=\"#[0-9a-f]+\")/>");
    double[] loads = {0.1, 0.2, 0.4};
    // 99th of a hundred, their mean of 50.5, and the 50th, each times 0.2, 0.5 and 1 ns
    double[] of = {99, 50.5, 50};
    String[] colours = {"#d55e00", "#0072b2", "#009e73"};
    double[] ns = {0.2, 0.5, 1};

    assertThat(places).hasSize(9);
    for (int i = 0; i < 9; i++) {
      double x = 70 + loads[i % 3] / 0.4 * 540;
      double y = 365 - of[i / 3] * ns[i % 3] / 100 * 315;
      assertThat(places.get(i))
          .isEqualTo(
              String.format(
                  Locale.ROOT,
                  "cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"",
                  x,
                  y,
                  colours[i / 3]));
    }
    assertThat(found(SVG, "<path d=\"(M[^\"]*)\" fill=\"none\" stroke=\"#0072b2\""))
        .containsExactly("M205.0 333.2 L340.0 285.5 L610.0 205.9");
  }

  @Test
  void axes_haveSixNumbersEach_atTheirLines() {
    assertThat(found(SVG, "y=\"383\" text-anchor=\"middle\">([\\d.]+)<"))
        .containsExactly("0", "0.08", "0.16", "0.24", "0.32", "0.4");
    assertThat(found(SVG, "<text x=\"62\" y=\"[\\d.]+\" text-anchor=\"end\">([\\d.]+)<"))
        .containsExactly("0", "20", "40", "60", "80", "100");
    assertThat(found(SVG, "<path d=\"(M[^\"]*)\" stroke=\"#dddddd\"/>"))
        .startsWith("M70.0 50 V365 M70 365.0 H610")
        .endsWith("M610.0 50 V365 M70 50.0 H610")
        .hasSize(6);
    assertThat(SVG)
        .contains(">Latency over load: a &lt; b &amp; c</text>")
        .contains(">load, part of what the first link of a node passes</text>")
        .contains(">latency, ns</text>")
        .endsWith("</svg>\n");
  }

  @Test
  void saturation_isALineThroughTheFrame_ifThereIsOne() {
    assertThat(SVG)
        .contains("<path d=\"M475.0 50 V365\" stroke=\"#666666\" stroke-dasharray=\"5 4\"/>")
        .contains(
            "<text x=\"469.0\" y=\"64\" text-anchor=\"end\" fill=\"#666666\">saturated at"
                + " 0.300</text>");
    String none = LatencyFigure.svg("t", new TrafficCurve(List.of(point(0.1, 200)), 20_000, 0));
    assertThat(none).doesNotContain("saturated").doesNotContain("stroke-dasharray");
  }

  /** Names stand beside the last points, and not on each other. */
  @Test
  void names_standAtTheEndsOfTheirLines() {
    assertThat(found(SVG, "<text x=\"617.0\" (y=\"[\\d.]+\" fill=\"#[0-9a-f]+\">[^<]+)<"))
        .containsExactly(
            "y=\"41.1\" fill=\"#d55e00\">99 %",
            "y=\"209.9\" fill=\"#0072b2\">mean", "y=\"227.5\" fill=\"#009e73\">median");
  }

  /** What is above eight times the quiet latency leaves the figure at its top, with no mark. */
  @Test
  void lineFarBeyondSaturation_endsAtTheTop() {
    String svg =
        LatencyFigure.svg(
            "t",
            new TrafficCurve(
                List.of(point(0.1, 200), point(0.2, 10_000), point(0.4, 90_000)), 10_000, 0.15));

    assertThat(found(svg, "<text x=\"62\" y=\"50\\.?0?\" text-anchor=\"end\">([\\d.]+)<"))
        .isEmpty();
    assertThat(found(svg, "<text x=\"62\" y=\"54.0\" text-anchor=\"end\">([\\d.]+)<"))
        .containsExactly("80");
    assertThat(found(svg, "(<circle)")).hasSize(3);
    // the mean goes from 10.1 ns at 0.1 to 505 ns at 0.2, and passes 80 ns in between
    double load = 0.1 + 0.1 * (80 - 10.1) / (505 - 10.1);
    assertThat(found(svg, "<path d=\"(M[^\"]*)\" fill=\"none\" stroke=\"#0072b2\""))
        .containsExactly(
            String.format(
                Locale.ROOT,
                "M205.0 %.1f L%.1f 50.0",
                365 - 10.1 / 80 * 315,
                70 + load / 0.4 * 540));
  }

  /** The right end and the top are the next of 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10. */
  @Test
  void ends_areRoundNumbers() {
    double[] loads = {0.1, 0.11, 0.15, 0.21, 0.26, 0.4, 0.45, 0.6, 0.61, 0.81, 0.012};
    List<String> ends =
        Stream.iterate(0, i -> i + 1)
            .limit(loads.length)
            .map(i ->
                found(
                        LatencyFigure.svg(
                            "t", new TrafficCurve(List.of(point(loads[i], 10)), 1_000, 0)),
                        "x=\"610.0\" y=\"383\" text-anchor=\"middle\">([\\d.]+)<")
                    .getFirst())
            .toList();
    assertThat(ends)
        .containsExactly(
            "0.1", "0.15", "0.15", "0.25", "0.3", "0.4", "0.5", "0.6", "0.8", "1", "0.015");
  }

  @Test
  void point_withoutPackets_hasNoMark() {
    TrafficPoint empty = new TrafficPoint(0.15, 0.15, 0, new long[0], 0, 1, 0, 1);
    TrafficPoint last = point(0.2, 200);
    assertThat(last.percentilePs(0.5)).isEqualTo(50 * 200);
    assertThat(last.percentilePs(0.501)).isEqualTo(51 * 200);
    assertThat(last.percentilePs(0)).isEqualTo(200);
    assertThat(last.percentilePs(1)).isEqualTo(100 * 200);
    assertThat(empty.latenciesPs()).isEmpty();
  }
}
