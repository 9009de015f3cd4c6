package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * {@code maximise sum x, A x <= limit, x >= 0} with columns that may be added: the revised simplex
 * method with a dense inverse of the basis (Dantzig and Orchard-Hays 1954). Meant for some hundred
 * rows.
 */
final class Simplex {
  private static final double ZERO = 1e-9;

  private final int rows;
  private final List<double[]> columns = new ArrayList<>();

  /** By place in the basis: a column, or {@code -1 - row} for a row's slack. */
  private final int[] basis;

  private final double[] amount;
  private final double[][] inverse;

  /**
   * Without columns: nothing is used.
   *
   * @param limit above 0
   */
  Simplex(double[] limit) {
    rows = limit.length;
    basis = new int[rows];
    amount = limit.clone();
    inverse = new double[rows][rows];
    for (int row = 0; row < rows; row++) {
      basis[row] = -1 - row;
      inverse[row][row] = 1;
    }
  }

  /** Adds a column, all of whose entries are at least 0 and one above. */
  void add(double[] column) {
    columns.add(column);
  }

  /** By row, what one unit more of it would be worth. */
  double[] prices() {
    double[] price = new double[rows];
    for (int at = 0; at < rows; at++) {
      if (basis[at] >= 0) {
        for (int row = 0; row < rows; row++) {
          price[row] += inverse[at][row];
        }
      }
    }
    return price;
  }

  /** By column, its value. */
  double[] values() {
    double[] values = new double[columns.size()];
    for (int at = 0; at < rows; at++) {
      if (basis[at] >= 0) {
        values[basis[at]] = Math.max(0, amount[at]);
      }
    }
    return values;
  }

  /** Goes on until no column that is there improves the sum. */
  void optimise() {
    int limit = 50 * (rows + columns.size());
    for (int step = 0; step < limit; step++) {
      int entering = entering();
      if (entering == Integer.MIN_VALUE || !enter(entering)) {
        return;
      }
    }
  }

  private int entering() {
    double[] price = prices();
    int best = Integer.MIN_VALUE;
    double gain = ZERO;
    for (int row = 0; row < rows; row++) {
      if (-price[row] > gain) {
        gain = -price[row];
        best = -1 - row;
      }
    }
    for (int c = 0; c < columns.size(); c++) {
      double worth = 1;
      double[] column = columns.get(c);
      for (int row = 0; row < rows; row++) {
        worth -= price[row] * column[row];
      }
      if (worth > gain) {
        gain = worth;
        best = c;
      }
    }
    return best;
  }

  private boolean enter(int entering) {
    double[] change = new double[rows];
    for (int at = 0; at < rows; at++) {
      double[] line = inverse[at];
      double sum = 0;
      if (entering < 0) {
        sum = line[-1 - entering];
      } else {
        double[] column = columns.get(entering);
        for (int row = 0; row < rows; row++) {
          sum += line[row] * column[row];
        }
      }
      change[at] = sum;
    }
    int leaving = -1;
    double least = Double.POSITIVE_INFINITY;
    for (int at = 0; at < rows; at++) {
      if (change[at] > ZERO) {
        double ratio = Math.max(0, amount[at]) / change[at];
        if (ratio < least) {
          least = ratio;
          leaving = at;
        }
      }
    }
    if (leaving < 0) {
      return false;
    }
    double[] pivot = inverse[leaving];
    double by = change[leaving];
    for (int row = 0; row < rows; row++) {
      pivot[row] /= by;
    }
    amount[leaving] /= by;
    for (int at = 0; at < rows; at++) {
      if (at != leaving && change[at] != 0) {
        double times = change[at];
        double[] line = inverse[at];
        for (int row = 0; row < rows; row++) {
          line[row] -= times * pivot[row];
        }
        amount[at] -= times * amount[leaving];
      }
    }
    basis[leaving] = entering;
    return true;
  }

  @Override
  public String toString() {
    return Arrays.toString(values());
  }
}
