package org.kernbench.eval.figures;

import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.geom.Line2D;
import java.awt.geom.Rectangle2D;
import java.util.List;
import java.util.Map;

/**
 * The ranks of a pipeline over time: a row for each, a box for each microbatch, coloured by what is
 * computed. The second and further stages of a rank are darker.
 */
public final class PipelineChart {
  private static final int WIDTH = 960;
  private static final double LEFT = 70;
  private static final double RIGHT = 24;
  private static final double TOP = 84;
  private static final double ROW = 26;
  private static final double LEAST_FOR_TEXT = 7; // pixels for each character
  private static final Color INK = new Color(0x22, 0x22, 0x22);
  private static final Color GRID = new Color(0xDD, 0xDD, 0xDD);
  private static final List<String> KINDS = List.of("F", "B", "I", "W");
  private static final Map<String, String> WORDS =
      Map.of("F", "forward", "B", "backward", "I", "input gradient", "W", "weight gradient");
  private static final Map<String, Color> COLOURS =
      Map.of(
          "F", new Color(0x56, 0xB4, 0xE9),
          "B", new Color(0x00, 0x9E, 0x73),
          "I", new Color(0x8F, 0xD1, 0xB5),
          "W", new Color(0xE6, 0x9F, 0x00));

  private PipelineChart() {}

  /**
   * An action.
   *
   * @param rank row, from 0
   * @param kind {@code F}, {@code B}, {@code I} or {@code W}
   * @param shade 0 for the first stage of a rank, 1 for its second, and so on
   * @param label what the box says, if there is room
   */
  public record Bar(int rank, String kind, int shade, String label, double fromNs, double toNs) {
    /** Checks the kind. */
    public Bar {
      if (!KINDS.contains(kind)) {
        throw new IllegalArgumentException("kind " + kind + "; expected one of " + KINDS);
      }
    }
  }

  /** Draws the bars; time 0 is the left end. */
  public static Figure of(String name, String title, List<Bar> bars) {
    int rows = bars.stream().mapToInt(Bar::rank).max().orElse(0) + 1;
    int height = (int) (TOP + rows * ROW + 40);
    return new Figure(name, WIDTH, height, (g, area) -> draw(g, title, bars, rows));
  }

  private static void draw(Graphics2D g, String title, List<Bar> bars, int rows) {
    double end = Math.max(1, bars.stream().mapToDouble(Bar::toNs).max().orElse(1));
    double scale = (WIDTH - LEFT - RIGHT) / end;
    text(g, title, 22, 28, FigureFonts.bold(15), INK);
    legend(g, bars);
    double bottom = TOP + rows * ROW;
    for (int i = 0; i <= 5; i++) {
      double x = LEFT + (WIDTH - LEFT - RIGHT) * i / 5;
      g.setColor(GRID);
      g.draw(new Line2D.Double(x, TOP - 6, x, bottom));
      Font font = FigureFonts.plain(11);
      String time = Plots.time(end * i / 5);
      double width = g.getFontMetrics(font).getStringBounds(time, g).getWidth();
      text(g, time, Math.min(x - width / 2, WIDTH - width - 4), bottom + 18, font, INK);
    }
    for (int r = 0; r < rows; r++) {
      text(g, "rank " + r, 16, TOP + r * ROW + 17, FigureFonts.plain(12), INK);
    }
    for (Bar bar : bars) {
      double x = LEFT + bar.fromNs() * scale;
      double width = Math.max(0.8, (bar.toNs() - bar.fromNs()) * scale - 0.6);
      double y = TOP + bar.rank() * ROW + 2;
      g.setColor(colour(bar.kind(), bar.shade()));
      g.fill(new Rectangle2D.Double(x, y, width, ROW - 4));
      if (width > LEAST_FOR_TEXT * bar.label().length() + 2) {
        text(g, bar.label(), x + 2, y + 15, FigureFonts.plain(10), INK);
      }
    }
  }

  private static void legend(Graphics2D g, List<Bar> bars) {
    double x = LEFT;
    for (String kind : KINDS) {
      if (bars.stream().anyMatch(b -> b.kind().equals(kind))) {
        g.setColor(colour(kind, 0));
        g.fill(new Rectangle2D.Double(x, 46, 12, 12));
        String word = kind + " " + WORDS.get(kind);
        text(g, word, x + 17, 57, FigureFonts.plain(11.5f), INK);
        x += 130;
      }
    }
  }

  private static Color colour(String kind, int shade) {
    Color plain = COLOURS.getOrDefault(kind, INK);
    double factor = Math.max(0.45, 1 - 0.22 * shade);
    return new Color(
        (int) (plain.getRed() * factor),
        (int) (plain.getGreen() * factor),
        (int) (plain.getBlue() * factor));
  }

  private static void text(Graphics2D g, String text, double x, double y, Font font, Color colour) {
    g.setFont(font);
    g.setColor(colour);
    g.drawString(text, (float) x, (float) y);
  }
}
