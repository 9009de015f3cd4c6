package org.kernbench.eval.benches;

/** Functions in f64 that benches compare with, written down as they are defined. */
final class ReferenceFunctions {

  private ReferenceFunctions() {}

  /**
   * {@code x Φ(x)}, with the normal distribution by its series {@code 1/2 + φ(x) (x + x^3/3 +
   * x^5/(3*5) + ..)}, whose terms have one sign.
   */
  static double gelu(double x) {
    if (x > 9) {
      return x;
    }
    if (x < -9) {
      return 0;
    }
    double term = x;
    double sum = 0;
    for (int k = 1; Math.abs(term) > Math.ulp(sum) / 8; k++) {
      sum += term;
      term *= x * x / (2 * k + 1);
    }
    return x * (0.5 + sum * StrictMath.exp(-x * x / 2) / Math.sqrt(2 * Math.PI));
  }

  /**
   * The softmax of one row; all zeros if every element is -inf, as attention wants it for a row
   * that is masked altogether.
   */
  static double[] softmax(double[] row) {
    double largest = Double.NEGATIVE_INFINITY;
    for (double v : row) {
      largest = Math.max(largest, v);
    }
    double[] y = new double[row.length];
    if (largest == Double.NEGATIVE_INFINITY) {
      return y;
    }
    double sum = 0;
    for (int i = 0; i < row.length; i++) {
      y[i] = StrictMath.exp(row[i] - largest);
      sum += y[i];
    }
    for (int i = 0; i < row.length; i++) {
      y[i] /= sum;
    }
    return y;
  }

  /**
   * Attention of one head: {@code softmax(q k^T / sqrt(d)) v}; query i sees keys below {@code
   * visible(i)}, and gives zeros if it sees none.
   */
  static double[] attention(
      double[] q, double[] k, double[] v, int queries, int d, Visible visible) {
    double[] y = new double[queries * d];
    for (int i = 0; i < queries; i++) {
      int keys = visible.to(i);
      double[] row = new double[keys];
      for (int j = 0; j < keys; j++) {
        for (int c = 0; c < d; c++) {
          row[j] += q[i * d + c] * k[j * d + c];
        }
        row[j] /= Math.sqrt(d);
      }
      double[] p = softmax(row);
      for (int j = 0; j < keys; j++) {
        for (int c = 0; c < d; c++) {
          y[i * d + c] += p[j] * v[j * d + c];
        }
      }
    }
    return y;
  }

  /** How many of the keys a query may see. */
  interface Visible {
    int to(int query);
  }
}
