package org.kernbench.tensor;

import java.util.function.DoubleUnaryOperator;

/**
 * A smooth function of a number of 0 or more, as polynomials of degree 8 over parts of equal
 * length, through Chebyshev's points of each part.
 *
 * @param perUnit parts from 0 to 1
 * @param c nine coefficients of each part, from the constant on, in the distance from its middle in
 *     parts
 */
record PolynomialPieces(double perUnit, double[] c) {
  private static final int TERMS = 9;

  /**
   * Works the parts out.
   *
   * @param end where the last part ends, a whole number
   * @param f finite between 0 and {@code end}; nothing else is asked
   */
  static PolynomialPieces of(int perUnit, int end, DoubleUnaryOperator f) {
    double[] all = new double[perUnit * end * TERMS];
    double[] u = new double[TERMS];
    double[] y = new double[TERMS];
    for (int part = 0; part < perUnit * end; part++) {
      for (int i = 0; i < TERMS; i++) {
        u[i] = StrictMath.cos(StrictMath.PI * (2 * i + 1) / (2 * TERMS)) / 2;
        y[i] = f.applyAsDouble((part + 0.5 + u[i]) / perUnit);
      }
      System.arraycopy(interpolated(u, y), 0, all, part * TERMS, TERMS);
    }
    return new PolynomialPieces(perUnit, all);
  }

  /** Newton's divided differences, multiplied out; y is used up. */
  private static double[] interpolated(double[] u, double[] y) {
    for (int order = 1; order < TERMS; order++) {
      for (int i = TERMS - 1; i >= order; i--) {
        y[i] = (y[i] - y[i - 1]) / (u[i] - u[i - order]);
      }
    }
    double[] sum = new double[TERMS];
    for (int i = TERMS - 1; i >= 0; i--) {
      for (int k = TERMS - 1; k > 0; k--) {
        sum[k] = sum[k - 1] - u[i] * sum[k];
      }
      sum[0] = y[i] - u[i] * sum[0];
    }
    return sum;
  }

  /** The function at {@code z}, which is 0 or more and less than the end. */
  double at(double z) {
    double place = z * perUnit;
    int part = (int) place;
    double x = place - part - 0.5;
    int k = part * TERMS;
    double square = x * x;
    double high = Math.fma(c[k + 8], square, Math.fma(c[k + 7], x, c[k + 6]));
    double middle = Math.fma(high, square, Math.fma(c[k + 5], x, c[k + 4]));
    double low = Math.fma(middle, square, Math.fma(c[k + 3], x, c[k + 2]));
    return Math.fma(low, square, Math.fma(c[k + 1], x, c[k]));
  }
}
