package org.kernbench.eval.figures;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.Paint;
import java.awt.Shape;
import java.awt.Stroke;
import java.awt.font.FontRenderContext;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Path2D;
import java.awt.geom.Rectangle2D;
import java.text.FieldPosition;
import java.text.NumberFormat;
import java.text.ParsePosition;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleFunction;
import org.jfree.chart.ChartRenderingInfo;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.annotations.XYTextAnnotation;
import org.jfree.chart.axis.AxisLocation;
import org.jfree.chart.axis.CategoryAxis;
import org.jfree.chart.axis.CategoryLabelPositions;
import org.jfree.chart.axis.LogAxis;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.axis.NumberTick;
import org.jfree.chart.axis.NumberTickUnit;
import org.jfree.chart.axis.TickType;
import org.jfree.chart.axis.ValueAxis;
import org.jfree.chart.labels.StandardCategoryItemLabelGenerator;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.plot.CombinedDomainCategoryPlot;
import org.jfree.chart.plot.Plot;
import org.jfree.chart.plot.PlotOrientation;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.category.BarRenderer;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.chart.title.TextTitle;
import org.jfree.chart.ui.HorizontalAlignment;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.chart.ui.RectangleInsets;
import org.jfree.chart.ui.TextAnchor;
import org.jfree.data.Range;
import org.jfree.data.category.DefaultCategoryDataset;
import org.jfree.data.xy.DefaultXYDataset;

/**
 * The one look of all plots: white ground, thin grey grid, labels beside lines instead of a legend,
 * colours of Okabe and Ito (2008) in an order of falling lightness, so that they differ in grey
 * too, and another mark for every line. The only class that knows the plotting library.
 */
public final class Plots {
  static final int WIDTH = 860;
  static final int HEIGHT = 520;

  private static final Color INK = new Color(0x22, 0x22, 0x22);
  private static final Color SOFT = new Color(0x66, 0x66, 0x66);
  private static final Color GRID = new Color(0xDD, 0xDD, 0xDD);
  private static final Color REFERENCE = new Color(0xAA, 0xAA, 0xAA);
  private static final Color[] COLOURS = {
    new Color(0x00, 0x72, 0xB2), // blue
    new Color(0xD5, 0x5E, 0x00), // vermilion
    new Color(0x00, 0x9E, 0x73), // green
    new Color(0x33, 0x22, 0x44), // near black
    new Color(0xCC, 0x79, 0xA7), // purple
    new Color(0x56, 0xB4, 0xE9), // sky
    new Color(0xE6, 0x9F, 0x00) // orange
  };

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
    Logarithmic x = log(words.x(), 2, 2, Plots::bytes);
    Logarithmic y = log(words.y(), 10, 1, Plots::time);
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
    Logarithmic x = log(words.x(), 10, 1, ticks);
    Logarithmic y = log(words.y(), 10, 1, ticks);
    return lines(name, words, x, y, curves, labels, 0.45);
  }

  private static Figure lines(
      String name,
      Words words,
      Logarithmic x,
      Logarithmic y,
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
    x.setRange(left / Math.pow(base, 0.25), right * Math.pow(base, roomAtRight));
    x.endTicksAt(right); // what follows is room for labels
    double lowest = floor125(low * 0.95);
    y.setRange(lowest, high * 1.6);
    label(plot, renderer, curves, lowest, high * 1.6);
    labels(plot, curves, labels);
    dress(plot);
    JFreeChart chart = dressed(plot, words);
    if (curves.stream().anyMatch(c -> c.style() == Style.POINTS)) {
      legend(chart, plot);
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
      text.setPaint(SOFT);
      plot.addAnnotation(text);
    }
  }

  private static double span(Range range) {
    return Math.log10(range.getUpperBound() / range.getLowerBound());
  }

  /** The largest of 1, 2, 5 times a power of ten that is not above a value. */
  private static double floor125(double value) {
    double power = Math.pow(10, Math.floor(Math.log10(value)));
    return power * (value >= 5 * power ? 5 : value >= 2 * power ? 2 : 1);
  }

  private static void style(XYLineAndShapeRenderer r, int series, Style style, int measured) {
    Color colour = COLOURS[measured % COLOURS.length];
    switch (style) {
      case MEASURED -> {
        r.setSeriesPaint(series, colour);
        r.setSeriesStroke(series, new BasicStroke(2.2f));
        r.setSeriesShape(series, mark(measured));
      }
      case POINTS -> {
        r.setSeriesPaint(series, colour);
        r.setUseFillPaint(true);
        r.setSeriesFillPaint(series, colour);
        r.setSeriesLinesVisible(series, false);
        r.setSeriesShape(series, mark(measured));
      }
      case BOUND -> line(r, series, SOFT, dashes(7, 5));
      case FORMULA -> line(r, series, INK, dashes(1.5f, 4));
    }
  }

  private static void line(XYLineAndShapeRenderer r, int series, Color colour, Stroke stroke) {
    r.setSeriesPaint(series, colour);
    r.setSeriesStroke(series, stroke);
    r.setSeriesShapesVisible(series, false);
    r.setSeriesVisibleInLegend(series, false); // its name stands at its end
  }

  private static Stroke dashes(float on, float off) {
    return new BasicStroke(
        1.6f, BasicStroke.CAP_ROUND, BasicStroke.JOIN_ROUND, 1, new float[] {on, off}, 0);
  }

  private static Shape mark(int index) {
    double s = 3.6;
    return switch (index % 4) {
      case 0 -> new Ellipse2D.Double(-s, -s, 2 * s, 2 * s);
      case 1 -> new Rectangle2D.Double(-s, -s, 2 * s, 2 * s);
      case 2 -> polygon(0, -s * 1.3, s * 1.2, s, -s * 1.2, s);
      default -> polygon(0, -s * 1.4, s * 1.4, 0, 0, s * 1.4, -s * 1.4, 0);
    };
  }

  private static Shape polygon(double... xy) {
    Path2D path = new Path2D.Double();
    path.moveTo(xy[0], xy[1]);
    for (int i = 2; i < xy.length; i += 2) {
      path.lineTo(xy[i], xy[i + 1]);
    }
    path.closePath();
    return path;
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
    double step = Math.log10(high / low) * 17 / (HEIGHT - 170.0);
    double below = Double.NEGATIVE_INFINITY;
    for (int i : order) {
      Curve c = curves.get(i);
      double at = Math.max(Math.log10(last(c.y())), below + step);
      below = at;
      XYTextAnnotation text =
          new XYTextAnnotation("  " + c.label() + ending(c), last(c.x()), Math.pow(10, at));
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
    NumberAxis y = linear(words.y(), Plots::plain);
    y.setRange(0, top);
    y.setTickUnit(new NumberTickUnit(step(top)));
    CategoryAxis x = new CategoryAxis(words.x());
    x.setMaximumCategoryLabelLines(3);
    x.setMaximumCategoryLabelWidthRatio(1.25f);
    CategoryPlot plot = new CategoryPlot(data, x, y, barRenderer(data, format));
    dress(plot);
    JFreeChart chart = dressed(plot, words);
    if (data.getRowCount() > 1) {
      legend(chart, plot);
    }
    return new Figure(name, WIDTH, HEIGHT, chart::draw);
  }

  /** 1, 2 or 5 times a power of ten, so that an axis has five to ten ticks. */
  private static double step(double top) {
    double power = Math.pow(10, Math.floor(Math.log10(top / 5)));
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
    NumberAxis upper = linear("", Plots::plain);
    upper.setRange(gap[1], top);
    upper.setTickUnit(new NumberTickUnit(step(5 * (top - gap[1]) / 1.5)));
    NumberAxis lower = linear(words.y(), Plots::plain);
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
    dress(above);
    dress(below);
    axis(x);
    both.setOutlineVisible(false);
    JFreeChart chart = dressed(both, words);
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
    g.setColor(INK);
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
    return dressed(
        new BarRenderer() {
          private static final long serialVersionUID = 1L;

          @Override
          public Paint getItemPaint(int row, int column) {
            return others.contains(column) ? REFERENCE : COLOURS[0];
          }
        },
        data,
        format);
  }

  private static BarRenderer barRenderer(
      DefaultCategoryDataset data, DoubleFunction<String> format) {
    return dressed(new BarRenderer(), data, format);
  }

  private static BarRenderer dressed(
      BarRenderer bars, DefaultCategoryDataset data, DoubleFunction<String> format) {
    bars.setBarPainter(new StandardBarPainter());
    bars.setShadowVisible(false);
    bars.setMaximumBarWidth(0.11);
    bars.setItemMargin(0.06);
    for (int row = 0; row < data.getRowCount(); row++) {
      bars.setSeriesPaint(row, COLOURS[row % COLOURS.length]);
    }
    bars.setDefaultItemLabelGenerator(
        new StandardCategoryItemLabelGenerator("{2}", format(format)));
    bars.setDefaultItemLabelsVisible(true);
    bars.setDefaultItemLabelFont(FigureFonts.plain(11));
    bars.setDefaultItemLabelPaint(INK);
    return bars;
  }

  private static void legend(JFreeChart chart, Plot plot) {
    org.jfree.chart.title.LegendTitle legend = new org.jfree.chart.title.LegendTitle(plot);
    legend.setItemFont(FigureFonts.plain(12));
    legend.setItemPaint(INK);
    legend.setPosition(RectangleEdge.TOP);
    legend.setHorizontalAlignment(HorizontalAlignment.LEFT);
    legend.setPadding(0, 20, 0, 0);
    chart.addLegend(legend);
  }

  // ---- the look ----

  private static JFreeChart dressed(Plot plot, Words words) {
    Font bold = FigureFonts.bold(16);
    JFreeChart chart = new JFreeChart(null, bold, plot, false);
    chart.setBackgroundPaint(Color.WHITE);
    chart.setPadding(new RectangleInsets(12, 14, 10, 16));
    TextTitle title = new TextTitle(words.title(), bold);
    title.setHorizontalAlignment(HorizontalAlignment.LEFT);
    title.setPaint(INK);
    title.setPadding(0, 8, 8, 0);
    chart.setTitle(title);
    TextTitle caption = new TextTitle(words.caption(), FigureFonts.plain(10.5f));
    caption.setPosition(RectangleEdge.BOTTOM);
    caption.setHorizontalAlignment(HorizontalAlignment.LEFT);
    caption.setTextAlignment(HorizontalAlignment.LEFT);
    caption.setPaint(SOFT);
    caption.setPadding(8, 8, 0, 0);
    chart.addSubtitle(caption);
    return chart;
  }

  private static void dress(XYPlot plot) {
    plot.setBackgroundPaint(Color.WHITE);
    plot.setOutlineVisible(false);
    plot.setDomainGridlinePaint(GRID);
    plot.setRangeGridlinePaint(GRID);
    plot.setDomainGridlineStroke(new BasicStroke(0.8f));
    plot.setRangeGridlineStroke(new BasicStroke(0.8f));
    plot.setAxisOffset(RectangleInsets.ZERO_INSETS);
  }

  private static void dress(CategoryPlot plot) {
    plot.setOrientation(PlotOrientation.VERTICAL);
    plot.setBackgroundPaint(Color.WHITE);
    plot.setOutlineVisible(false);
    plot.setRangeGridlinePaint(GRID);
    plot.setRangeGridlineStroke(new BasicStroke(0.8f));
    plot.setRangeAxisLocation(AxisLocation.BOTTOM_OR_LEFT);
    plot.setAxisOffset(RectangleInsets.ZERO_INSETS);
    if (plot.getDomainAxis() != null) {
      axis(plot.getDomainAxis());
    }
  }

  private static void axis(CategoryAxis axis) {
    axis.setLabelFont(FigureFonts.plain(13));
    axis.setTickLabelFont(FigureFonts.plain(10.5f));
    axis.setLabelPaint(INK);
    axis.setTickLabelPaint(INK);
    axis.setAxisLinePaint(INK);
    axis.setCategoryLabelPositions(CategoryLabelPositions.STANDARD);
  }

  private static void axis(ValueAxis axis) {
    axis.setLabelFont(FigureFonts.plain(13));
    axis.setTickLabelFont(FigureFonts.plain(11));
    axis.setLabelPaint(INK);
    axis.setTickLabelPaint(INK);
    axis.setAxisLinePaint(INK);
    axis.setTickMarkPaint(INK);
  }

  private static NumberAxis linear(String label, DoubleFunction<String> format) {
    NumberAxis axis = new NumberAxis(label);
    axis.setNumberFormatOverride(format(format));
    axis(axis);
    return axis;
  }

  private static Logarithmic log(
      String label, double base, double step, DoubleFunction<String> format) {
    Logarithmic axis = new Logarithmic(label, base, step, format);
    axis.setBase(base);
    axis.setTickUnit(new NumberTickUnit(step));
    axis.setNumberFormatOverride(format(format));
    axis.setMinorTickMarksVisible(false);
    axis.setSmallestValue(1e-9);
    axis.setDefaultAutoRange(new Range(1, 10));
    axis(axis);
    return axis;
  }

  /** Ticks at 1, 2 and 5 of each power of ten, or at every {@code step}-th power of two. */
  private static final class Logarithmic extends LogAxis {
    private static final long serialVersionUID = 1L;
    private final double step;
    private final transient DoubleFunction<String> format;
    private double lastTick = Double.MAX_VALUE;

    Logarithmic(String label, double base, double step, DoubleFunction<String> format) {
      super(label);
      this.step = base == 10 ? 1 : step;
      this.format = format;
      setBase(base);
    }

    void endTicksAt(double value) {
      lastTick = value;
    }

    @Override
    protected List<NumberTick> refreshTicksVertical(
        Graphics2D g, Rectangle2D area, RectangleEdge edge) {
      return ticks(TextAnchor.CENTER_RIGHT);
    }

    @Override
    protected List<NumberTick> refreshTicksHorizontal(
        Graphics2D g, Rectangle2D area, RectangleEdge edge) {
      return ticks(TextAnchor.TOP_CENTER);
    }

    private List<NumberTick> ticks(TextAnchor anchor) {
      List<NumberTick> ticks = new ArrayList<>();
      int[] digits = getBase() == 10 ? new int[] {1, 2, 5} : new int[] {1};
      double first = Math.floor(Math.log(getLowerBound()) / Math.log(getBase()) / step) * step;
      for (double power = first; Math.pow(getBase(), power) <= getUpperBound(); power += step) {
        for (int digit : digits) {
          double value = digit * Math.pow(getBase(), power);
          if (value >= getLowerBound() * (1 - 1e-9)
              && value <= Math.min(getUpperBound(), lastTick * (1 + 1e-9))) {
            ticks.add(
                new NumberTick(
                    TickType.MAJOR, value, format.apply(value), anchor, TextAnchor.CENTER, 0));
          }
        }
      }
      return ticks;
    }
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

  private static NumberFormat format(DoubleFunction<String> words) {
    return new NumberFormat() {
      private static final long serialVersionUID = 1L;
      private final transient DoubleFunction<String> format = words;

      @Override
      public StringBuffer format(double number, StringBuffer to, FieldPosition position) {
        return to.append(format.apply(number));
      }

      @Override
      public StringBuffer format(long number, StringBuffer to, FieldPosition position) {
        return to.append(format.apply(number));
      }

      @Override
      public Number parse(String source, ParsePosition position) {
        throw new UnsupportedOperationException("figures are not read");
      }
    };
  }
}
