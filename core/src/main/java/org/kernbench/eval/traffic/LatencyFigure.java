package org.kernbench.eval.traffic;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** Latency over load as SVG: mean, median and 99th percentile, and where it is saturated. */
final class LatencyFigure {
  private static final int WIDTH = 720;
  private static final int HEIGHT = 420;
  private static final int LEFT = 70;
  private static final int RIGHT = 110;
  private static final int TOP = 50;
  private static final int BOTTOM = 55;
  private static final int TICKS = 5;

  /** What is far beyond saturation says nothing and would flatten the rest. */
  private static final double MOST = 8;

  private static final double PS_PER_NS = 1000;

  private final TrafficCurve curve;
  private final double right;
  private final double high;
  private final StringBuilder out = new StringBuilder();

  private LatencyFigure(TrafficCurve curve) {
    this.curve = curve;
    this.right = rounded(curve.points().getLast().load());
    double highest = curve.points().stream().mapToDouble(p -> p.percentilePs(0.99)).max().orElse(1);
    this.high = rounded(Math.min(highest, MOST * curve.zeroLoadPs()) / PS_PER_NS);
  }

  /** The figure. */
  static String svg(String title, TrafficCurve curve) {
    return new LatencyFigure(curve).draw(title);
  }

  /** The next larger one of 1, 2, 2.5, 4, 5, 10 times a power of ten. */
  private static double rounded(double value) {
    double power = StrictMath.pow(10, Math.floor(StrictMath.log10(value)));
    for (double factor : new double[] {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8}) {
      if (value <= factor * power * (1 + 1e-9)) {
        return factor * power;
      }
    }
    return 10 * power;
  }

  private String draw(String title) {
    add(
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" \
        font-size="12">\
        """,
        WIDTH, HEIGHT);
    add("<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>");
    add(
        "<text x=\"%d\" y=\"24\" font-size=\"15\">Latency over load: %s</text>",
        LEFT, escaped(title));
    axes();
    line("99 %", "#d55e00", p -> p.percentilePs(0.99));
    line("mean", "#0072b2", TrafficPoint::meanPs);
    line("median", "#009e73", p -> p.percentilePs(0.5));
    if (curve.saturation() > 0) {
      double x = x(curve.saturation());
      add(
          "<path d=\"M%.1f %d V%d\" stroke=\"#666666\" stroke-dasharray=\"5 4\"/>",
          x, TOP, HEIGHT - BOTTOM);
      add(
          "<text x=\"%.1f\" y=\"%d\" text-anchor=\"end\" fill=\"#666666\">saturated at %.3f</text>",
          x - 6, TOP + 14, curve.saturation());
    }
    return out.append("</svg>\n").toString();
  }

  private void axes() {
    for (int i = 0; i <= TICKS; i++) {
      double load = right * i / TICKS;
      double ns = high * i / TICKS;
      add(
          "<path d=\"M%.1f %d V%d M%d %.1f H%d\" stroke=\"#dddddd\"/>",
          x(load), TOP, HEIGHT - BOTTOM, LEFT, y(ns), WIDTH - RIGHT);
      add(
          "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
          x(load), HEIGHT - BOTTOM + 18, plain(load));
      add(
          "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
          LEFT - 8, y(ns) + 4, plain(ns));
    }
    add(
        """
        <text x="%d" y="%d" text-anchor="middle">load, part of what the first link of a node \
        passes</text>\
        """,
        (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14);
    add(
        """
        <text x="18" y="%d" text-anchor="middle" transform="rotate(-90 18 %d)">latency, ns</text>\
        """,
        (TOP + HEIGHT - BOTTOM) / 2, (TOP + HEIGHT - BOTTOM) / 2);
  }

  private void line(String name, String colour, ToDoubleFunction<TrafficPoint> latencyPs) {
    StringBuilder path = new StringBuilder();
    double lastX = x(0);
    double lastY = y(0);
    double beforeNs = 0;
    double beforeLoad = 0;
    for (TrafficPoint p : shown()) {
      double ns = latencyPs.applyAsDouble(p) / PS_PER_NS;
      double load = p.load();
      boolean leaves = ns > high;
      if (leaves) { // up to where it leaves the figure
        load = beforeLoad + (load - beforeLoad) * (high - beforeNs) / (ns - beforeNs);
        ns = high;
      }
      lastX = x(load);
      lastY = y(ns);
      path.append(
          String.format(Locale.ROOT, "%s%.1f %.1f", path.isEmpty() ? "M" : " L", lastX, lastY));
      if (leaves) {
        break;
      }
      add("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>", lastX, lastY, colour);
      beforeNs = ns;
      beforeLoad = load;
    }
    add("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>", path, colour);
    double up = lastY + (name.equals("mean") ? 4 : name.equals("median") ? 20 : -12);
    add("<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s</text>", lastX + 7, up, colour, name);
  }

  private List<TrafficPoint> shown() {
    return curve.points().stream().filter(p -> p.latenciesPs().length > 0).toList();
  }

  private double x(double load) {
    return LEFT + load / right * (WIDTH - LEFT - RIGHT);
  }

  private double y(double ns) {
    return HEIGHT - BOTTOM - ns / high * (HEIGHT - TOP - BOTTOM);
  }

  private static String plain(double value) {
    String text = String.format(Locale.ROOT, "%.3f", value);
    return text.replaceAll("\\.?0+$", "");
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;");
  }

  private void add(String pattern, Object... values) {
    out.append(String.format(Locale.ROOT, pattern, values)).append('\n');
  }
}
