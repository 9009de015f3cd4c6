package org.kernbench.eval.figures;

import java.awt.geom.Line2D;
import java.awt.geom.Rectangle2D;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds places for words at points of a plot with two logarithmic axes: beside a point of their
 * own, clear of marks, lines and words placed before, or where they touch the fewest.
 */
final class LabelPlaces {
  private static final double HEIGHT = 13;
  private static final double MARK = 4.5;
  private static final double GAP = 6;

  private final double perX;
  private final double perY;
  private final List<Rectangle2D> taken = new ArrayList<>();
  private final List<Line2D> lines = new ArrayList<>();

  /**
   * Places on a plot.
   *
   * @param perX units of the figure for each power of ten along x
   * @param perY the same along y
   */
  LabelPlaces(double perX, double perY) {
    this.perX = perX;
    this.perY = perY;
  }

  /** The point at which a word stands, and on which side of it. */
  record Place(double x, double y, boolean right, boolean above) {}

  /** Marks that words keep clear of. */
  void marks(double[] x, double[] y) {
    for (int i = 0; i < x.length; i++) {
      taken.add(new Rectangle2D.Double(across(x[i]) - MARK, down(y[i]) - MARK, 2 * MARK, 2 * MARK));
    }
  }

  /** A line that words keep clear of. */
  void line(double[] x, double[] y) {
    for (int i = 1; i < x.length; i++) {
      lines.add(new Line2D.Double(across(x[i - 1]), down(y[i - 1]), across(x[i]), down(y[i])));
    }
  }

  /** Places a word of some width at one of its points, rather at the first. */
  Place put(double[] x, double[] y, double width) {
    Place best = new Place(x[0], y[0], true, false);
    int fewest = Integer.MAX_VALUE;
    for (int i = 0; i < x.length; i++) {
      for (int side = 0; side < 4; side++) {
        Place place = new Place(x[i], y[i], side < 2, side % 2 == 1);
        int touched = touched(box(place, width));
        if (touched < fewest) {
          best = place;
          fewest = touched;
        }
      }
    }
    taken.add(box(best, width));
    return best;
  }

  private int touched(Rectangle2D box) {
    return (int)
        (taken.stream().filter(box::intersects).count()
            + lines.stream().filter(box::intersectsLine).count());
  }

  private Rectangle2D box(Place place, double width) {
    double left = across(place.x()) + (place.right() ? GAP : -GAP - width);
    double top = down(place.y()) - (place.above() ? HEIGHT : 0);
    return new Rectangle2D.Double(left, top, width, HEIGHT);
  }

  private double across(double x) {
    return StrictMath.log10(x) * perX;
  }

  private double down(double y) {
    return -StrictMath.log10(y) * perY;
  }
}
