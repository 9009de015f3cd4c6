package org.kernbench.eval.figures;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.Paint;
import java.awt.font.FontRenderContext;
import java.awt.geom.Rectangle2D;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleFunction;
import org.jfree.chart.ChartRenderingInfo;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.annotations.XYTextAnnotation;
import org.jfree.chart.axis.CategoryAxis;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.axis.NumberTickUnit;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.plot.CombinedDomainCategoryPlot;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.category.BarRenderer;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.chart.ui.TextAnchor;
import org.jfree.data.Range;
import org.jfree.data.category.DefaultCategoryDataset;
import org.jfree.data.xy.DefaultXYDataset;

/**
 * Plots of curves and of bars, with labels beside lines instead of a legend, in the one look of
 * {@link PlotLook}. These two are the only classes that know the plotting library.
 */
public final class Plots {
  static final int WIDTH = 860;
  static final int HEIGHT = 520;

  private Plots() {}

  /** How a line is drawn. */
  public enum Style {
    /** Measured points with marks. */
    MEASURED,
    /** A limit: dashed grey. */
    BOUND,
    /** A formula: dotted black. */
    FORMULA,
    /** Points without a line. */
    POINTS
  }

  /** A line: label and points, in data units. */
  public static final class Curve {
    private final String label;
    private final Style style;
    private final double[] x;
    private final double[] y;

    /** The points one after the other. */
    public Curve(String label, Style style, double[] x, double[] y) {
      this.label = label;
      this.style = style;
      this.x = x;
      this.y = y;
    }

    String label() {
      return label;
    }

    Style style() {
      return style;
    }

    double[] x() {
      return x;
    }

    double[] y() {
      return y;
    }
  }

  /** Words around a plot; the caption says the conditions. */
  public record Words(String title, String caption, String x, String y) {}

  // ---- lines ----

  /** Curves over sizes in bytes (powers of two) and times in nanoseconds (powers of ten). */
  public static Figure timeOverBytes(String name, Words words, List<Curve> curves) {
    PlotLook.Logarithmic x = PlotLook.log(words.x(), 2, 2, Plots::bytes);
    PlotLook.Logarithmic y = PlotLook.log(words.y(), 10, 1, Plots::time);
    return lines(name, words, x, y, curves, List.of(), 3.8);
  }

  /** A word, and the points that it belongs to: it stands at one, rather the first. */
  public static final class Label {
    private final String text;
    private final double[] x;
    private final double[] y;

    /** At one of the points. */
    public Label(String text, double[] x, double[] y) {
      this.text = text;
      this.x = x;
      this.y = y;
    }

    String text() {
      return text;
    }

    double[] x() {
      return x;
    }

    double[] y() {
      return y;
    }
  }

  /** Points and lines over two logarithmic axes to base ten; series of points have a legend. */
  public static Figure logLog(
      String name,
      Words words,
      DoubleFunction<String> ticks,
      List<Curve> curves,
      List<Label> labels) {
    PlotLook.Logarithmic x = PlotLook.log(words.x(), 10, 1, ticks);
    PlotLook.Logarithmic y = PlotLook.log(words.y(), 10, 1, ticks);
    return lines(name, words, x, y, curves, labels, 0.45);
  }

  private static Figure lines(
      String name,
      Words words,
      PlotLook.Logarithmic x,
      PlotLook.Logarithmic y,
      List<Curve> curves,
      List<Label> labels,
      double roomAtRight) {
    DefaultXYDataset data = new DefaultXYDataset();
    XYLineAndShapeRenderer renderer = new XYLineAndShapeRenderer();
    XYPlot plot = new XYPlot(data, x, y, renderer);
    double right = 0;
    double low = Double.MAX_VALUE;
    double high = 0;
    double left = Double.MAX_VALUE;
    int measured = 0;
    for (int i = 0; i < curves.size(); i++) {
      Curve curve = curves.get(i);
      data.addSeries(curve.label(), new double[][] {curve.x(), curve.y()});
      for (int p = 0; p < curve.x().length; p++) {
        right = Math.max(right, curve.x()[p]);
        left = Math.min(left, curve.x()[p]);
        low = Math.min(low, curve.y()[p]);
        high = Math.max(high, curve.y()[p]);
      }
      style(renderer, i, curve.style(), measured);
      measured += curve.style() == Style.MEASURED || curve.style() == Style.POINTS ? 1 : 0;
    }
    double base = x.getBase();
    x.setRange(left / StrictMath.pow(base, 0.25), right * StrictMath.pow(base, roomAtRight));
    x.endTicksAt(right); // what follows is room for labels
    double lowest = floor125(low * 0.95);
    y.setRange(lowest, high * 1.6);
    label(plot, renderer, curves, lowest, high * 1.6);
    labels(plot, curves, labels);
    PlotLook.dress(plot);
    JFreeChart chart = PlotLook.dressed(plot, words);
    if (curves.stream().anyMatch(c -> c.style() == Style.POINTS)) {
      PlotLook.legend(chart, plot);
    }
    return new Figure(name, WIDTH, HEIGHT, chart::draw);
  }

  /** A word at one of its points, clear of marks, lines and other words where there is room. */
  private static void labels(XYPlot plot, List<Curve> curves, List<Label> labels) {
    Font font = FigureFonts.plain(10.5f);
    double perX = (WIDTH - 95) / span(plot.getDomainAxis().getRange());
    double perY = (HEIGHT - 150) / span(plot.getRangeAxis().getRange());
    LabelPlaces places = new LabelPlaces(perX, perY);
    for (Curve curve : curves) {
      if (curve.style() == Style.POINTS) {
        places.marks(curve.x(), curve.y());
      } else {
        places.line(curve.x(), curve.y());
      }
    }
    FontRenderContext context = new FontRenderContext(null, true, true);
    for (Label label : labels) {
      double width = font.getStringBounds(label.text(), context).getWidth();
      LabelPlaces.Place place = places.put(label.x(), label.y(), width);
      XYTextAnnotation text =
          new XYTextAnnotation(
              place.right() ? "  " + label.text() : label.text() + "  ", place.x(), place.y());
      text.setTextAnchor(
          place.above()
              ? place.right() ? TextAnchor.BOTTOM_LEFT : TextAnchor.BOTTOM_RIGHT
              : place.right() ? TextAnchor.TOP_LEFT : TextAnchor.TOP_RIGHT);
      text.setFont(font);
      text.setPaint(PlotLook.SOFT);
      plot.addAnnotation(text);
    }
  }

  private static double span(Range range) {
    return StrictMath.log10(range.getUpperBound() / range.getLowerBound());
  }

  /** The largest of 1, 2, 5 times a power of ten that is not above a value. */
  private static double floor125(double value) {
    double power = StrictMath.pow(10, Math.floor(StrictMath.log10(value)));
    return power * (value >= 5 * power ? 5 : value >= 2 * power ? 2 : 1);
  }

  private static void style(XYLineAndShapeRenderer r, int series, Style style, int measured) {
    Color colour = PlotLook.COLOURS[measured % PlotLook.COLOURS.length];
    switch (style) {
      case MEASURED -> {
        r.setSeriesPaint(series, colour);
        r.setSeriesStroke(series, new BasicStroke(2.2f));
        r.setSeriesShape(series, PlotLook.mark(measured));
      }
      case POINTS -> {
        r.setSeriesPaint(series, colour);
        r.setUseFillPaint(true);
        r.setSeriesFillPaint(series, colour);
        r.setSeriesLinesVisible(series, false);
        r.setSeriesShape(series, PlotLook.mark(measured));
      }
      case BOUND -> PlotLook.line(r, series, PlotLook.SOFT, PlotLook.dashes(7, 5));
      case FORMULA -> PlotLook.line(r, series, PlotLook.INK, PlotLook.dashes(1.5f, 4));
    }
  }

  /** The name of each line right of its last point, pushed apart where they would touch. */
  private static void label(
      XYPlot plot, XYLineAndShapeRenderer renderer, List<Curve> curves, double low, double high) {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < curves.size(); i++) {
      if (curves.get(i).style() != Style.POINTS) {
        order.add(i);
      }
    }
    order.sort(Comparator.comparingDouble((Integer i) -> last(curves.get(i).y())));
    double step = StrictMath.log10(high / low) * 17 / (HEIGHT - 170.0);
    double below = Double.NEGATIVE_INFINITY;
    for (int i : order) {
      Curve c = curves.get(i);
      double at = Math.max(StrictMath.log10(last(c.y())), below + step);
      below = at;
      XYTextAnnotation text =
          new XYTextAnnotation("  " + c.label() + ending(c), last(c.x()), StrictMath.pow(10, at));
      text.setTextAnchor(TextAnchor.CENTER_LEFT);
      text.setFont(FigureFonts.plain(12));
      text.setPaint(renderer.getSeriesPaint(i));
      plot.addAnnotation(text);
    }
  }

  /** The time at the end of a measured curve. */
  private static String ending(Curve c) {
    return c.style() == Style.MEASURED ? ", " + time(last(c.y()), Plots::threeDigits) : "";
  }

  private static double last(double[] values) {
    return values[values.length - 1];
  }

  // ---- bars ----

  /** A series whose bars are grey: numbers of others. */
  public static final String OF_OTHERS = "of others";

  /** A bar: the group it stands in, its series, its height. */
  public record Bar(String group, String series, double value) {}

  /** Groups of bars; the value is written above each. */
  public static Figure bars(
      String name, Words words, List<Bar> bars, double top, DoubleFunction<String> format) {
    DefaultCategoryDataset data = data(bars);
    NumberAxis y = PlotLook.linear(words.y(), Plots::plain);
    y.setRange(0, top);
    y.setTickUnit(new NumberTickUnit(step(top)));
    CategoryAxis x = new CategoryAxis(words.x());
    x.setMaximumCategoryLabelLines(3);
    x.setMaximumCategoryLabelWidthRatio(1.25f);
    CategoryPlot plot = new CategoryPlot(data, x, y, barRenderer(data, format));
    PlotLook.dress(plot);
    JFreeChart chart = PlotLook.dressed(plot, words);
    if (data.getRowCount() > 1) {
      PlotLook.legend(chart, plot);
    }
    return new Figure(name, WIDTH, HEIGHT, chart::draw);
  }

  /** 1, 2 or 5 times a power of ten, so that an axis has five to ten ticks. */
  private static double step(double top) {
    double power = StrictMath.pow(10, Math.floor(StrictMath.log10(top / 5)));
    return power * (top / 5 >= 5 * power ? 5 : top / 5 >= 2 * power ? 2 : 1);
  }

  /**
   * Bars of which one is far higher: the axis is broken between {@code gap[0]} and {@code gap[1]}.
   */
  public static Figure brokenBars(
      String name,
      Words words,
      List<Bar> bars,
      double[] gap,
      double top,
      DoubleFunction<String> format) {
    List<Integer> others = new ArrayList<>();
    DefaultCategoryDataset data = new DefaultCategoryDataset();
    for (Bar bar : bars) {
      if (bar.series().equals(OF_OTHERS)) {
        others.add(data.getColumnCount());
      }
      data.addValue(bar.value(), "bars", bar.group());
    }
    NumberAxis upper = PlotLook.linear("", Plots::plain);
    upper.setRange(gap[1], top);
    upper.setTickUnit(new NumberTickUnit(step(5 * (top - gap[1]) / 1.5)));
    NumberAxis lower = PlotLook.linear(words.y(), Plots::plain);
    lower.setRange(0, gap[0]);
    lower.setTickUnit(new NumberTickUnit(5));
    CategoryPlot above = new CategoryPlot(data, null, upper, twoKinds(data, others, format));
    CategoryPlot below = new CategoryPlot(data, null, lower, twoKinds(data, others, format));
    CategoryAxis x = new CategoryAxis(words.x());
    x.setMaximumCategoryLabelLines(3);
    CombinedDomainCategoryPlot both = new CombinedDomainCategoryPlot(x);
    both.setGap(16);
    both.add(above, 1);
    both.add(below, 3);
    PlotLook.dress(above);
    PlotLook.dress(below);
    PlotLook.axis(x);
    both.setOutlineVisible(false);
    JFreeChart chart = PlotLook.dressed(both, words);
    return new Figure(
        name,
        WIDTH,
        HEIGHT,
        (g, area) -> {
          ChartRenderingInfo info = new ChartRenderingInfo();
          chart.draw(g, area, info);
          Rectangle2D top1 = info.getPlotInfo().getSubplotInfo(0).getDataArea();
          Rectangle2D bottom = info.getPlotInfo().getSubplotInfo(1).getDataArea();
          breakMarks(g, top1.getMinX(), top1.getMaxY());
          breakMarks(g, bottom.getMinX(), bottom.getMinY());
        });
  }

  private static void breakMarks(Graphics2D g, double x, double y) {
    g.setColor(PlotLook.INK);
    g.setStroke(new BasicStroke(1.4f));
    g.draw(new java.awt.geom.Line2D.Double(x - 7, y + 4, x + 7, y - 4));
  }

  private static DefaultCategoryDataset data(List<Bar> bars) {
    DefaultCategoryDataset data = new DefaultCategoryDataset();
    for (Bar bar : bars) {
      data.addValue(bar.value(), bar.series(), bar.group());
    }
    return data;
  }

  /** Bars of one series, some of them grey. */
  private static BarRenderer twoKinds(
      DefaultCategoryDataset data, List<Integer> others, DoubleFunction<String> format) {
    return PlotLook.dressed(
        new BarRenderer() {
          private static final long serialVersionUID = 1L;

          @Override
          public Paint getItemPaint(int row, int column) {
            return others.contains(column) ? PlotLook.REFERENCE : PlotLook.COLOURS[0];
          }
        },
        data,
        format);
  }

  private static BarRenderer barRenderer(
      DefaultCategoryDataset data, DoubleFunction<String> format) {
    return PlotLook.dressed(new BarRenderer(), data, format);
  }

  // ---- numbers ----

  /** {@code 16 B}, {@code 4 KiB}. */
  static String bytes(double value) {
    String[] units = {"B", "KiB", "MiB", "GiB", "TiB"};
    double rest = value;
    int unit = 0;
    while (rest >= 1024 - 1e-6 && unit < units.length - 1) {
      rest /= 1024;
      unit++;
    }
    return plain(rest) + " " + units[unit];
  }

  /** Nanoseconds as {@code 100 ns}, {@code 10 µs}. */
  public static String time(double ns) {
    return time(ns, Plots::plain);
  }

  private static String time(double ns, DoubleFunction<String> format) {
    String[] units = {"ns", "µs", "ms", "s"};
    double rest = ns;
    int unit = 0;
    while (rest >= 1000 - 1e-6 && unit < units.length - 1) {
      rest /= 1000;
      unit++;
    }
    return format.apply(rest) + " " + units[unit];
  }

  /** Three significant digits, also if the last are zeros; all digits of a number above 999. */
  public static String threeDigits(double value) {
    double magnitude = Math.abs(value);
    int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
    return String.format(Locale.ROOT, "%." + decimals + "f", value);
  }

  /** At most three significant digits, no exponent. */
  public static String plain(double value) {
    double magnitude = Math.abs(value);
    int decimals = magnitude >= 100 || magnitude == 0 ? 0 : magnitude >= 10 ? 1 : 2;
    if (magnitude > 0 && magnitude < 0.1) {
      decimals = 3;
    }
    String text = String.format(Locale.ROOT, "%." + decimals + "f", value);
    return text.contains(".") ? text.replaceAll("\\.?0+$", "") : text;
  }
}
