package org.kernbench.eval.figures;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.Shape;
import java.awt.Stroke;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Path2D;
import java.awt.geom.Rectangle2D;
import java.text.FieldPosition;
import java.text.NumberFormat;
import java.text.ParsePosition;
import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleFunction;
import org.jfree.chart.JFreeChart;
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
import org.jfree.chart.plot.Plot;
import org.jfree.chart.plot.PlotOrientation;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.category.BarRenderer;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.chart.title.LegendTitle;
import org.jfree.chart.title.TextTitle;
import org.jfree.chart.ui.HorizontalAlignment;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.chart.ui.RectangleInsets;
import org.jfree.chart.ui.TextAnchor;
import org.jfree.data.Range;
import org.jfree.data.category.DefaultCategoryDataset;

/**
 * What all plots have in common: colours, fonts, axes and marks. White ground, thin grey grid,
 * colours of Okabe and Ito (2008) in an order of falling lightness, so that they differ in grey
 * too, another mark for every line.
 */
final class PlotLook {
  static final Color INK = new Color(0x22, 0x22, 0x22);
  static final Color SOFT = new Color(0x66, 0x66, 0x66);
  static final Color GRID = new Color(0xDD, 0xDD, 0xDD);
  static final Color REFERENCE = new Color(0xAA, 0xAA, 0xAA);
  static final Color[] COLOURS = {
    new Color(0x00, 0x72, 0xB2), // blue
    new Color(0xD5, 0x5E, 0x00), // vermilion
    new Color(0x00, 0x9E, 0x73), // green
    new Color(0x33, 0x22, 0x44), // near black
    new Color(0xCC, 0x79, 0xA7), // purple
    new Color(0x56, 0xB4, 0xE9), // sky
    new Color(0xE6, 0x9F, 0x00) // orange
  };

  private PlotLook() {}

  static void legend(JFreeChart chart, Plot plot) {
    LegendTitle legend = new LegendTitle(plot);
    legend.setItemFont(FigureFonts.plain(12));
    legend.setItemPaint(INK);
    legend.setPosition(RectangleEdge.TOP);
    legend.setHorizontalAlignment(HorizontalAlignment.LEFT);
    legend.setPadding(0, 20, 0, 0);
    chart.addLegend(legend);
  }

  static JFreeChart dressed(Plot plot, Plots.Words words) {
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

  static void dress(XYPlot plot) {
    plot.setBackgroundPaint(Color.WHITE);
    plot.setOutlineVisible(false);
    plot.setDomainGridlinePaint(GRID);
    plot.setRangeGridlinePaint(GRID);
    plot.setDomainGridlineStroke(new BasicStroke(0.8f));
    plot.setRangeGridlineStroke(new BasicStroke(0.8f));
    plot.setAxisOffset(RectangleInsets.ZERO_INSETS);
  }

  static void dress(CategoryPlot plot) {
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

  static void axis(CategoryAxis axis) {
    axis.setLabelFont(FigureFonts.plain(13));
    axis.setTickLabelFont(FigureFonts.plain(10.5f));
    axis.setLabelPaint(INK);
    axis.setTickLabelPaint(INK);
    axis.setAxisLinePaint(INK);
    axis.setCategoryLabelPositions(CategoryLabelPositions.STANDARD);
  }

  static void axis(ValueAxis axis) {
    axis.setLabelFont(FigureFonts.plain(13));
    axis.setTickLabelFont(FigureFonts.plain(11));
    axis.setLabelPaint(INK);
    axis.setTickLabelPaint(INK);
    axis.setAxisLinePaint(INK);
    axis.setTickMarkPaint(INK);
  }

  static NumberAxis linear(String label, DoubleFunction<String> format) {
    NumberAxis axis = new NumberAxis(label);
    axis.setNumberFormatOverride(format(format));
    axis(axis);
    return axis;
  }

  static Logarithmic log(String label, double base, double step, DoubleFunction<String> format) {
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
  static final class Logarithmic extends LogAxis {
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
      double first =
          Math.floor(StrictMath.log(getLowerBound()) / StrictMath.log(getBase()) / step) * step;
      for (double power = first;
          StrictMath.pow(getBase(), power) <= getUpperBound();
          power += step) {
        for (int digit : digits) {
          double value = digit * StrictMath.pow(getBase(), power);
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

  static void line(XYLineAndShapeRenderer r, int series, Color colour, Stroke stroke) {
    r.setSeriesPaint(series, colour);
    r.setSeriesStroke(series, stroke);
    r.setSeriesShapesVisible(series, false);
    r.setSeriesVisibleInLegend(series, false); // its name stands at its end
  }

  static Stroke dashes(float on, float off) {
    return new BasicStroke(
        1.6f, BasicStroke.CAP_ROUND, BasicStroke.JOIN_ROUND, 1, new float[] {on, off}, 0);
  }

  static Shape mark(int index) {
    double s = 3.6;
    return switch (index % 4) {
      case 0 -> new Ellipse2D.Double(-s, -s, 2 * s, 2 * s);
      case 1 -> new Rectangle2D.Double(-s, -s, 2 * s, 2 * s);
      case 2 -> polygon(0, -s * 1.3, s * 1.2, s, -s * 1.2, s);
      default -> polygon(0, -s * 1.4, s * 1.4, 0, 0, s * 1.4, -s * 1.4, 0);
    };
  }

  static Shape polygon(double... xy) {
    Path2D path = new Path2D.Double();
    path.moveTo(xy[0], xy[1]);
    for (int i = 2; i < xy.length; i += 2) {
      path.lineTo(xy[i], xy[i + 1]);
    }
    path.closePath();
    return path;
  }

  static BarRenderer dressed(
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

  static NumberFormat format(DoubleFunction<String> words) {
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
