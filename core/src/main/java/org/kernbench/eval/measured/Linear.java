package org.kernbench.eval.measured;

/** Small systems of linear equations. */
final class Linear {
  private Linear() {}

  /** Gauss with pivots. */
  static double[] solved(double[][] a, double[] b) {
    int n = b.length;
    for (int i = 0; i < n; i++) {
      int pivot = i;
      for (int j = i + 1; j < n; j++) {
        pivot = Math.abs(a[j][i]) > Math.abs(a[pivot][i]) ? j : pivot;
      }
      double[] row = a[i];
      a[i] = a[pivot];
      a[pivot] = row;
      double value = b[i];
      b[i] = b[pivot];
      b[pivot] = value;
      for (int j = i + 1; j < n; j++) {
        double factor = a[j][i] / a[i][i];
        b[j] -= factor * b[i];
        for (int k = i; k < n; k++) {
          a[j][k] -= factor * a[i][k];
        }
      }
    }
    double[] x = new double[n];
    for (int i = n - 1; i >= 0; i--) {
      double sum = b[i];
      for (int k = i + 1; k < n; k++) {
        sum -= a[i][k] * x[k];
      }
      x[i] = sum / a[i][i];
    }
    return x;
  }

  /** The inverse. */
  static double[][] inverse(double[][] a) {
    int n = a.length;
    double[][] inverse = new double[n][n];
    for (int column = 0; column < n; column++) {
      double[][] copy = new double[n][];
      for (int i = 0; i < n; i++) {
        copy[i] = a[i].clone();
      }
      double[] unit = new double[n];
      unit[column] = 1;
      double[] x = solved(copy, unit);
      for (int i = 0; i < n; i++) {
        inverse[i][column] = x[i];
      }
    }
    return inverse;
  }
}
