package org.kernbench.eval.figures;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.geom.Line2D;
import java.awt.geom.Rectangle2D;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Operations of engines over time, one band of rows for each group. */
public final class Gantt {
  private static final int WIDTH = 860;
  private static final double LEFT = 176;
  private static final double RIGHT = 30;
  private static final double TOP = 62;
  private static final double ROW = 13;
  private static final Color INK = new Color(0x22, 0x22, 0x22);
  private static final Color SOFT = new Color(0x66, 0x66, 0x66);
  private static final Color GRID = new Color(0xDD, 0xDD, 0xDD);
  private static final Color[] COLOURS = {
    new Color(0x00, 0x72, 0xB2), new Color(0xD5, 0x5E, 0x00), new Color(0x00, 0x9E, 0x73)
  };

  private Gantt() {}

  /** An operation, nanoseconds. */
  public record Bar(String group, String engine, double fromNs, double toNs) {}

  /** A row: bars that do not overlap. */
  private record Lane(String group, String engine, int number, List<Bar> bars) {}

  public static Figure of(String name, String title, String caption, List<Bar> bars) {
    List<Lane> lanes = lanes(bars);
    List<String> engines = bars.stream().map(Bar::engine).distinct().toList();
    long groups = lanes.stream().map(Lane::group).distinct().count();
    int height = (int) (TOP + lanes.size() * ROW + groups * 22 + 78);
    return new Figure(
        name, WIDTH, height, (g, area) -> draw(g, title, caption, lanes, engines, height));
  }

  private static List<Lane> lanes(List<Bar> bars) {
    Map<String, List<Lane>> byEngine = new LinkedHashMap<>();
    for (Bar bar : bars) {
      List<Lane> own =
          byEngine.computeIfAbsent(bar.group() + "/" + bar.engine(), key -> new ArrayList<>());
      Lane free =
          own.stream()
              .filter(l -> l.bars().getLast().toNs() <= bar.fromNs() + 1e-9)
              .findFirst()
              .orElse(null);
      if (free == null) {
        free = new Lane(bar.group(), bar.engine(), own.size(), new ArrayList<>());
        own.add(free);
      }
      free.bars().add(bar);
    }
    return byEngine.values().stream().flatMap(List::stream).toList();
  }

  private static void draw(
      Graphics2D g,
      String title,
      String caption,
      List<Lane> lanes,
      List<String> engines,
      int height) {
    double end = 1;
    for (Lane lane : lanes) {
      end = Math.max(end, lane.bars().getLast().toNs());
    }
    double scale = (WIDTH - LEFT - RIGHT) / end;
    text(g, title, 22, 30, FigureFonts.bold(16), INK);
    double bottom = height - 66;
    double step = step(end);
    for (double t = 0; t <= end; t += step) {
      g.setColor(GRID);
      g.setStroke(new BasicStroke(0.8f));
      g.draw(new Line2D.Double(LEFT + t * scale, TOP - 8, LEFT + t * scale, bottom));
      Font font = FigureFonts.plain(11);
      double width = g.getFontMetrics(font).getStringBounds(Plots.time(t), g).getWidth();
      text(g, Plots.time(t), LEFT + t * scale - width / 2, bottom + 15, font, INK);
    }
    double y = TOP;
    String group = "";
    for (Lane lane : lanes) {
      if (!lane.group().equals(group)) {
        group = lane.group();
        y += 20;
        text(g, group, 22, y - 5, FigureFonts.bold(12), INK);
        y += 2;
      }
      if (lane.number() == 0) {
        text(g, lane.engine(), 40, y + ROW - 3, FigureFonts.plain(11), INK);
      }
      g.setColor(COLOURS[engines.indexOf(lane.engine()) % COLOURS.length]);
      for (Bar bar : lane.bars()) {
        double width = Math.max(1, (bar.toNs() - bar.fromNs()) * scale - 0.6);
        g.fill(new Rectangle2D.Double(LEFT + bar.fromNs() * scale, y + 1.5, width, ROW - 3));
      }
      y += ROW;
    }
    double line = height - 32;
    for (String part : caption.split("\n")) {
      text(g, part, 22, line, FigureFonts.plain(10.5f), SOFT);
      line += 14;
    }
  }

  /** A round step that gives about eight ticks. */
  private static double step(double end) {
    double power = StrictMath.pow(10, Math.floor(StrictMath.log10(end / 8)));
    for (double digit : new double[] {1, 2, 5, 10}) {
      if (digit * power >= end / 8) {
        return digit * power;
      }
    }
    return 10 * power;
  }

  private static void text(Graphics2D g, String text, double x, double y, Font font, Color colour) {
    g.setFont(font);
    g.setColor(colour);
    g.drawString(text, (float) x, (float) y);
  }
}
