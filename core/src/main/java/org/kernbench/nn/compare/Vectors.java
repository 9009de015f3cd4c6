package org.kernbench.nn.compare;

/** Distances and sizes of host vectors. */
final class Vectors {
  private Vectors() {}

  static double norm(double[] a) {
    double sum = 0;
    for (double x : a) {
      sum += x * x;
    }
    return Math.sqrt(sum);
  }

  static double[] minus(double[] a, double[] b) {
    double[] d = new double[a.length];
    for (int i = 0; i < a.length; i++) {
      d[i] = a[i] - b[i];
    }
    return d;
  }

  /** The distance of equally long vectors over the size of the second, or of a floor. */
  static double error(double[] got, double[] expected, double floor) {
    double size = Math.max(norm(expected), floor);
    double distance = norm(minus(got, expected));
    return Double.isNaN(distance)
        ? Double.POSITIVE_INFINITY
        : distance == 0 ? 0 : size == 0 ? Double.POSITIVE_INFINITY : distance / size;
  }

  /** The factor that brings the second nearest to the first; NaN if the second is zero. */
  static double factor(double[] a, double[] b) {
    double ab = 0;
    double bb = 0;
    for (int i = 0; i < a.length; i++) {
      ab += a[i] * b[i];
      bb += b[i] * b[i];
    }
    return bb == 0 ? Double.NaN : ab / bb;
  }

  static double[] times(double factor, double[] a) {
    double[] b = new double[a.length];
    for (int i = 0; i < a.length; i++) {
      b[i] = factor * a[i];
    }
    return b;
  }

  static void add(double[] to, double[] a) {
    for (int i = 0; i < to.length; i++) {
      to[i] += a[i];
    }
  }

  /** Index of the element that differs most. */
  static int worst(double[] got, double[] expected) {
    int worst = 0;
    for (int i = 1; i < got.length; i++) {
      if (!(Math.abs(got[i] - expected[i]) <= Math.abs(got[worst] - expected[worst]))) {
        worst = i;
      }
    }
    return worst;
  }
}
