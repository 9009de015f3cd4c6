package org.kernbench.eval.figures;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.font.FontRenderContext;
import java.awt.geom.Line2D;
import java.awt.geom.Path2D;
import java.awt.geom.Rectangle2D;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Draws what {@link Chart} has made of rows: title and legend at the top, axes with their columns,
 * the conditions below.
 */
final class ChartDrawing {
  private static final int WIDTH = 860;
  private static final int PLOT = 380; // height between the axes
  private static final double LEFT = 84;
  private static final double RIGHT = 24;
  private static final double LINE = 17; // of text
  private static final double CELL = 30; // least height of a box of a heat map
  private static final Color INK = new Color(0x22, 0x22, 0x22);
  private static final Color SOFT = new Color(0x66, 0x66, 0x66);
  private static final Color GRID = new Color(0xDD, 0xDD, 0xDD);
  private static final FontRenderContext MEASURE = new FontRenderContext(null, true, true);

  /** Okabe and Ito (2008), those that differ in grey too; as many as in {@code Plots}. */
  private static final Color[] COLOURS = {
    new Color(0x00, 0x72, 0xB2),
    new Color(0xD5, 0x5E, 0x00),
    new Color(0x00, 0x9E, 0x73),
    new Color(0x33, 0x22, 0x44),
    new Color(0xCC, 0x79, 0xA7),
    new Color(0x56, 0xB4, 0xE9),
    new Color(0xE6, 0x9F, 0x00),
    new Color(0x77, 0x77, 0x77)
  };

  private static final float[][] DASHES = {{}, {7, 4}, {2, 3}, {9, 3, 2, 3}};

  private ChartDrawing() {}

  /** How a series looks: no two of the first 32 look alike. */
  record Look(Color colour, int pattern) {
    static Look of(int series) {
      return new Look(COLOURS[series % COLOURS.length], series / COLOURS.length % DASHES.length);
    }

    private BasicStroke stroke() {
      float[] dashes = DASHES[pattern];
      return dashes.length == 0
          ? new BasicStroke(2)
          : new BasicStroke(2, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 1, dashes, 0);
    }
  }

  // ---- lines ----

  static Figure lines(String name, Plots.Words words, String x, String y, Chart.Points points) {
    ChartScale across = ChartScale.of(x, points.numbers(x), false);
    ChartScale up = ChartScale.of(y, points.all(), false);
    return framed(
        name,
        words,
        legendRows(points),
        PLOT,
        (g, frame) -> {
          axes(g, frame, words, across, up);
          int series = 0;
          for (Map<String, Double> line : points.values().values()) {
            line(g, frame, x, Look.of(series++), line, across, up);
          }
          legend(g, points, true);
        });
  }

  private static void line(
      Graphics2D g,
      Rectangle2D frame,
      String column,
      Look look,
      Map<String, Double> line,
      ChartScale across,
      ChartScale up) {
    List<double[]> spots = new ArrayList<>();
    line.forEach((place, value) ->
        spots.add(
            new double[] {
              frame.getX() + across.at(Chart.number(column, place)) * frame.getWidth(),
              frame.getMaxY() - up.at(value) * frame.getHeight()
            }));
    spots.sort((a, b) -> Double.compare(a[0], b[0]));
    Path2D path = new Path2D.Double();
    for (double[] spot : spots) {
      if (path.getCurrentPoint() == null) {
        path.moveTo(spot[0], spot[1]);
      } else {
        path.lineTo(spot[0], spot[1]);
      }
    }
    g.setColor(look.colour());
    g.setStroke(look.stroke());
    g.draw(path);
    for (double[] spot : spots) {
      g.fill(new Rectangle2D.Double(spot[0] - 3, spot[1] - 3, 6, 6));
    }
  }

  // ---- bars ----

  static Figure bars(String name, Plots.Words words, String y, Chart.Points points) {
    ChartScale up = ChartScale.of(y, points.all(), true);
    return framed(
        name,
        words,
        legendRows(points),
        PLOT,
        (g, frame) -> {
          axis(g, frame, up, false);
          names(g, frame, words, up);
          double group = frame.getWidth() / points.places().size();
          double bar = group * 0.8 / points.values().size();
          for (int place = 0; place < points.places().size(); place++) {
            double from = frame.getX() + place * group + group * 0.1;
            int series = 0;
            for (Map<String, Double> values : points.values().values()) {
              Double value = values.get(points.places().get(place));
              if (value != null) {
                bar(g, frame, up, from + series * bar, bar, Look.of(series), value);
              }
              series++;
            }
            String text = named(words.x(), points.places().get(place));
            centred(g, text, from + group * 0.4, frame.getMaxY() + 18, INK);
          }
          legend(g, points, false);
        });
  }

  private static void bar(
      Graphics2D g,
      Rectangle2D frame,
      ChartScale up,
      double x,
      double width,
      Look look,
      double value) {
    double zero = frame.getMaxY() - up.at(0) * frame.getHeight();
    double end = frame.getMaxY() - up.at(value) * frame.getHeight();
    Rectangle2D box =
        new Rectangle2D.Double(x, Math.min(zero, end), width - 1, Math.abs(end - zero));
    g.setColor(look.colour());
    g.fill(box);
    hatch(g, box, look);
    String text = up.unit().write(value);
    if (width(text, FigureFonts.plain(11)) < width + 6) {
      centred(g, text, x + width / 2, Math.min(zero, end) - 5, INK);
    }
  }

  /** White strokes that tell bars of one colour apart, closer for each further pattern. */
  private static void hatch(Graphics2D g, Rectangle2D box, Look look) {
    if (look.pattern() == 0) {
      return;
    }
    g.setColor(Color.WHITE);
    g.setStroke(new BasicStroke(1.2f));
    double step = 14.0 / look.pattern();
    for (double y = box.getY() + step; y < box.getMaxY(); y += step) {
      g.draw(new Line2D.Double(box.getX(), y, box.getMaxX(), y));
    }
  }

  // ---- heat map ----

  static Figure heatMap(String name, Plots.Words words, Chart.Points points) {
    double height = Math.max(PLOT / 2.0, points.values().size() * CELL);
    double[] all = points.all();
    double least = java.util.Arrays.stream(all).min().orElse(0);
    double most = java.util.Arrays.stream(all).max().orElse(1);
    ChartScale.Unit unit = ChartScale.Unit.of(words.y());
    return framed(
        name,
        words,
        1,
        height,
        (g, frame) -> {
          double wide = frame.getWidth() / points.places().size();
          double high = frame.getHeight() / points.values().size();
          int row = 0;
          for (Map.Entry<String, Map<String, Double>> line : points.values().entrySet()) {
            double y = frame.getY() + row++ * high;
            right(g, line.getKey(), frame.getX() - 8, y + high / 2 + 4);
            for (int i = 0; i < points.places().size(); i++) {
              Double value = line.getValue().get(points.places().get(i));
              Rectangle2D box =
                  new Rectangle2D.Double(frame.getX() + i * wide, y, wide - 1, high - 1);
              cell(g, box, value, least, most, unit);
            }
          }
          for (int i = 0; i < points.places().size(); i++) {
            double middle = frame.getX() + (i + 0.5) * wide;
            centred(g, named(words.x(), points.places().get(i)), middle, frame.getMaxY() + 18, INK);
          }
          centred(g, words.x(), frame.getCenterX(), frame.getMaxY() + 38, INK);
          String range = unit.write(least) + " (light) to " + unit.write(most) + " (dark)";
          text(g, words.y() + ": " + range, LEFT, top() - 4, FigureFonts.plain(12), INK);
        });
  }

  private static void cell(
      Graphics2D g,
      Rectangle2D box,
      @org.jspecify.annotations.Nullable Double value,
      double least,
      double most,
      ChartScale.Unit unit) {
    if (value == null) {
      g.setColor(GRID);
      g.draw(box);
      return;
    }
    double share = most > least ? (value - least) / (most - least) : 0;
    g.setColor(heat(share));
    g.fill(box);
    String text = unit.write(value);
    if (width(text, FigureFonts.plain(11)) < box.getWidth()) {
      centred(g, text, box.getCenterX(), box.getCenterY() + 4, share > 0.55 ? Color.WHITE : INK);
    }
  }

  /** From nearly white to dark blue, darker with every step. */
  static Color heat(double share) {
    return new Color(
        (int) Math.round(0xF2 + share * (0x08 - 0xF2)),
        (int) Math.round(0xF6 + share * (0x3A - 0xF6)),
        (int) Math.round(0xFB + share * (0x6B - 0xFB)));
  }

  // ---- frame ----

  /** What draws into the area between the axes. */
  @FunctionalInterface
  private interface Inside {
    void draw(Graphics2D g, Rectangle2D frame);
  }

  private static double top() {
    return 62;
  }

  private static Figure framed(
      String name, Plots.Words words, int legend, double height, Inside inside) {
    List<String> caption = wrapped(words.caption(), WIDTH - LEFT - RIGHT);
    double from = top() + legend * LINE;
    int all = (int) Math.ceil(from + height + 52 + caption.size() * LINE);
    return new Figure(
        name,
        WIDTH,
        all,
        (g, area) -> {
          text(g, words.title(), 20, 30, FigureFonts.bold(16), INK);
          inside.draw(g, new Rectangle2D.Double(LEFT, from, WIDTH - LEFT - RIGHT, height));
          double y = from + height + 58;
          for (String line : caption) {
            text(g, line, LEFT, y, FigureFonts.plain(11), SOFT);
            y += LINE;
          }
        });
  }

  private static void axes(
      Graphics2D g, Rectangle2D frame, Plots.Words words, ChartScale across, ChartScale up) {
    axis(g, frame, up, false);
    axis(g, frame, across, true);
    names(g, frame, words, up);
    if (across.isLogarithmic()) {
      right(g, "logarithmic", frame.getMaxX(), frame.getMaxY() + 38);
    }
  }

  private static void axis(Graphics2D g, Rectangle2D frame, ChartScale scale, boolean across) {
    for (double tick : scale.ticks()) {
      double at = scale.at(tick);
      double x = frame.getX() + at * frame.getWidth();
      double y = frame.getMaxY() - at * frame.getHeight();
      g.setColor(GRID);
      g.setStroke(new BasicStroke(0.8f));
      g.draw(
          across
              ? new Line2D.Double(x, frame.getY(), x, frame.getMaxY())
              : new Line2D.Double(frame.getX(), y, frame.getMaxX(), y));
      if (across) {
        centred(g, scale.unit().write(tick), x, frame.getMaxY() + 18, INK);
      } else {
        right(g, scale.unit().write(tick), frame.getX() - 8, y + 4);
      }
    }
  }

  private static void names(Graphics2D g, Rectangle2D frame, Plots.Words words, ChartScale up) {
    centred(g, words.x(), frame.getCenterX(), frame.getMaxY() + 38, INK);
    String scale = up.isLogarithmic() ? " (logarithmic)" : "";
    text(g, words.y() + scale, 20, 48, FigureFonts.plain(12), SOFT);
  }

  // ---- legend ----

  private static List<List<Integer>> legendLines(Chart.Points points) {
    List<List<Integer>> lines = new ArrayList<>(List.of(new ArrayList<>()));
    double x = LEFT;
    List<String> names = List.copyOf(points.values().keySet());
    for (int i = 0; i < names.size(); i++) {
      double wide = 46 + width(names.get(i), FigureFonts.plain(12));
      if (x + wide > WIDTH - RIGHT && !lines.getLast().isEmpty()) {
        lines.add(new ArrayList<>());
        x = LEFT;
      }
      lines.getLast().add(i);
      x += wide;
    }
    return lines;
  }

  private static int legendRows(Chart.Points points) {
    return points.values().size() == 1 ? 0 : legendLines(points).size();
  }

  private static void legend(Graphics2D g, Chart.Points points, boolean asLines) {
    List<String> names = List.copyOf(points.values().keySet());
    if (names.size() == 1) {
      return;
    }
    double y = top();
    for (List<Integer> line : legendLines(points)) {
      double x = LEFT;
      for (int series : line) {
        entry(g, Look.of(series), x, y, asLines);
        text(g, names.get(series), x + 30, y + 4, FigureFonts.plain(12), INK);
        x += 46 + width(names.get(series), FigureFonts.plain(12));
      }
      y += LINE;
    }
  }

  private static void entry(Graphics2D g, Look look, double x, double y, boolean asLine) {
    g.setColor(look.colour());
    if (asLine) {
      g.setStroke(look.stroke());
      g.draw(new Line2D.Double(x, y, x + 24, y));
    } else {
      Rectangle2D box = new Rectangle2D.Double(x + 4, y - 8, 18, 15);
      g.fill(box);
      hatch(g, box, look);
    }
  }

  // ---- text ----

  private static String named(String column, String place) {
    return ChartScale.Unit.of(column).name(column, place);
  }

  private static double width(String text, Font font) {
    return font.getStringBounds(text, MEASURE).getWidth();
  }

  /** Words of a caption in lines that have room. */
  private static List<String> wrapped(String caption, double room) {
    List<String> lines = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (String word : caption.split("  ")) {
      String longer = line.isEmpty() ? word : line + "   " + word;
      if (width(longer, FigureFonts.plain(11)) > room && !line.isEmpty()) {
        lines.add(line.toString());
        line = new StringBuilder(word);
      } else {
        line = new StringBuilder(longer);
      }
    }
    lines.add(line.toString());
    return lines;
  }

  private static void text(Graphics2D g, String text, double x, double y, Font font, Color colour) {
    g.setFont(font);
    g.setColor(colour);
    g.drawString(text, (float) x, (float) y);
  }

  private static void centred(Graphics2D g, String text, double x, double y, Color colour) {
    Font font = FigureFonts.plain(11);
    text(g, text, x - width(text, font) / 2, y, font, colour);
  }

  private static void right(Graphics2D g, String text, double x, double y) {
    Font font = FigureFonts.plain(11);
    text(g, text, x - width(text, font), y, font, INK);
  }
}
