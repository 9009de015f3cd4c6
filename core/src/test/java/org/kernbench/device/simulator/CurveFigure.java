package org.kernbench.device.simulator;

import java.util.List;
import java.util.Locale;

/** A small figure for the documentation: lines and marks over linear axes, as SVG. */
public final class CurveFigure {
  private static final int WIDTH = 720;
  private static final int HEIGHT = 420;
  private static final int LEFT = 60;
  private static final int RIGHT = 170;
  private static final int TOP = 40;
  private static final int BOTTOM = 50;

  private final double[] x;
  private final double[] y;
  private final StringBuilder out = new StringBuilder();

  public CurveFigure(String title, String xLabel, String yLabel, double[] x, double[] y) {
    this.x = x;
    this.y = y;
    out.append(
        format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\""
                + " font-family=\"sans-serif\" font-size=\"11\">%n"
                + "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n",
            WIDTH, HEIGHT));
    text(LEFT, 20, "start", title);
    text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle", xLabel);
    out.append(
        format(
            "<text x=\"16\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 16 %d)\">%s</text>%n",
            HEIGHT / 2, HEIGHT / 2, yLabel));
    for (int i = 0; i <= 6; i++) {
      double at = x[0] + (x[1] - x[0]) * i / 6;
      rule(px(at), py(y[0]), px(at), py(y[1]));
      text(px(at), HEIGHT - BOTTOM + 16, "middle", format("%.0f", at));
      double up = y[0] + (y[1] - y[0]) * i / 6;
      rule(px(x[0]), py(up), px(x[1]), py(up));
      text(LEFT - 6, py(up) + 4, "end", format("%.0f", up));
    }
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values).replace("\r", "");
  }

  private double px(double value) {
    return LEFT + (value - x[0]) / (x[1] - x[0]) * (WIDTH - LEFT - RIGHT);
  }

  private double py(double value) {
    return HEIGHT - BOTTOM - (value - y[0]) / (y[1] - y[0]) * (HEIGHT - TOP - BOTTOM);
  }

  private void text(double atX, double atY, String anchor, String text) {
    out.append(
        format(
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>%n", atX, atY, anchor, text));
  }

  private void rule(double x1, double y1, double x2, double y2) {
    out.append(
        format(
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>%n",
            x1, y1, x2, y2));
  }

  /** A line as far as it stays inside, with its name where it ends. */
  public void line(String name, String dashes, String colour, List<double[]> points) {
    StringBuilder path = new StringBuilder();
    double endX = 0;
    double endY = 0;
    double[] before = points.getFirst();
    for (double[] p : points) {
      double[] at = p;
      if (p[1] > y[1]) {
        double part = (y[1] - before[1]) / (p[1] - before[1]);
        at = new double[] {before[0] + part * (p[0] - before[0]), y[1]};
      }
      endX = px(at[0]);
      endY = py(at[1]);
      path.append(format("%s%.1f %.1f", path.isEmpty() ? "M" : " L", endX, endY));
      before = p;
      if (p[1] > y[1]) {
        break;
      }
    }
    out.append(
        format(
            "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" stroke-dasharray=\"%s\"/>%n",
            path, colour, dashes.isEmpty() ? "none" : dashes));
    boolean atTop = endY <= TOP + 1;
    int row = names++;
    double labelY = atTop ? TOP + 14 + row * 16 : endY + 4;
    double labelX = WIDTH - RIGHT + 8;
    out.append(
        format(
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\""
                + " stroke-dasharray=\"%s\"/>%n",
            labelX,
            labelY - 4,
            labelX + 14,
            labelY - 4,
            colour,
            dashes.isEmpty() ? "none" : dashes));
    text(labelX + 18, labelY, "start", name);
  }

  private int names;

  /** Marks, a shape for each series so that they differ in grey too. */
  public void marks(int shape, String colour, List<double[]> points) {
    for (double[] p : points) {
      if (p[1] <= y[1]) {
        double cx = px(p[0]);
        double cy = py(p[1]);
        String d =
            switch (shape % 4) {
              case 0 -> format("M%.1f %.1f h8 v8 h-8 z", cx - 4, cy - 4);
              case 1 -> format("M%.1f %.1f l5 9 h-10 z", cx, cy - 5);
              case 2 -> format("M%.1f %.1f l5 5 l-5 5 l-5 -5 z", cx, cy - 5);
              default -> format("M%.1f %.1f l8 8 m0 -8 l-8 8", cx - 4, cy - 4);
            };
        out.append(
            format(
                "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.4\"/>%n", d, colour));
      }
    }
  }

  public String svg() {
    return out + "</svg>\n";
  }
}
