package org.kernbench.tensor;

import java.util.Arrays;

/**
 * The functions on f64: whole arrays of double, in place on the first operand, in the orders that
 * {@link Numerics} promises. Plain loops: f64 serves references and gradient checks, not
 * throughput. {@link ScalarNumerics} is the obvious twin.
 */
final class DoubleKernels {
  private DoubleKernels() {}

  static void binary(BinaryOp op, double[] x, double[] y, int n) {
    switch (op) {
      case ADD -> {
        for (int i = 0; i < n; i++) {
          x[i] = x[i] + y[i];
        }
      }
      case SUB -> {
        for (int i = 0; i < n; i++) {
          x[i] = x[i] - y[i];
        }
      }
      case MUL -> {
        for (int i = 0; i < n; i++) {
          x[i] = x[i] * y[i];
        }
      }
      case DIV -> {
        for (int i = 0; i < n; i++) {
          x[i] = x[i] / y[i];
        }
      }
      case REM -> {
        for (int i = 0; i < n; i++) {
          x[i] = x[i] % y[i];
        }
      }
      case POW -> {
        for (int i = 0; i < n; i++) {
          x[i] = RealFunctions.pow(x[i], y[i]);
        }
      }
      case MAXIMUM -> {
        for (int i = 0; i < n; i++) {
          x[i] = Math.max(x[i], y[i]);
        }
      }
      case MINIMUM -> {
        for (int i = 0; i < n; i++) {
          x[i] = Math.min(x[i], y[i]);
        }
      }
      case AND, OR, XOR, SHL, SHR -> throw new AssertionError(op);
    }
  }

  static void unary(UnaryOp op, double[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = RealFunctions.apply(op, x[i]);
    }
  }

  static void fma(double[] x, double[] y, double[] z, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = Math.fma(x[i], y[i], z[i]);
    }
  }

  /** Makes every NaN the one that is stored. */
  static void canonicalNan(double[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = Double.isNaN(x[i]) ? Double.NaN : x[i];
    }
  }

  static void compare(CompareOp op, double[] x, double[] y, byte[] out, int outOff, int n) {
    for (int i = 0; i < n; i++) {
      boolean is =
          switch (op) {
            case LT -> x[i] < y[i];
            case LE -> x[i] <= y[i];
            case GT -> x[i] > y[i];
            case GE -> x[i] >= y[i];
            case EQ -> x[i] == y[i];
            case NE -> x[i] != y[i];
          };
      out[outOff + i] = (byte) (is ? 1 : 0);
    }
  }

  /** {@code [outer, axis, inner]} to {@code [outer, inner]}, ascending; the axis is not empty. */
  static double[] reduce(ReduceOp op, int outer, int axis, int inner, double[] x) {
    double[] results = new double[outer * inner];
    double[] sums = new double[inner];
    double[] row = new double[inner];
    for (int o = 0; o < outer; o++) {
      for (int a = 0; a < axis; a++) {
        System.arraycopy(x, (o * axis + a) * inner, a == 0 ? sums : row, 0, inner);
        if (a > 0) {
          binary(op.combine(), sums, row, inner);
        }
      }
      System.arraycopy(sums, 0, results, o * inner, inner);
    }
    return results;
  }

  /** {@code c[m, n] += a[m, k] b[k, n]}: one fused multiply-add per step, k ascending. */
  static void gemm(double[] a, double[] b, double[] c, int m, int n, int k) {
    for (int i = 0; i < m; i++) {
      double[] row = Arrays.copyOfRange(c, i * n, i * n + n);
      for (int p = 0; p < k; p++) {
        double s = a[i * k + p];
        int from = p * n;
        for (int j = 0; j < n; j++) {
          row[j] = Math.fma(s, b[from + j], row[j]);
        }
      }
      System.arraycopy(row, 0, c, i * n, n);
    }
  }
}
