package org.kernbench.tensor;

import java.util.Arrays;

/**
 * Functions along an axis of {@code [outer, axis, inner]}: whole arrays in the type that is
 * computed in, swept row by row over {@code inner}, in the ascending order that {@link Numerics}
 * promises. {@link ScalarNumerics} is the obvious twin, which goes element by element along the
 * axis.
 */
final class AxisKernels {
  private AxisKernels() {}

  // ---- integers ----

  /** The axis is not empty. */
  static long[] reduce(ReduceOp op, int outer, int axis, int inner, long[] x) {
    long[] results = new long[outer * inner];
    long[] row = new long[inner];
    long[] sums = new long[inner];
    for (int o = 0; o < outer; o++) {
      for (int a = 0; a < axis; a++) {
        System.arraycopy(x, (o * axis + a) * inner, a == 0 ? sums : row, 0, inner);
        if (a > 0) {
          LongKernels.binary(op.combine(), sums, row, inner);
        }
      }
      System.arraycopy(sums, 0, results, o * inner, inner);
    }
    return results;
  }

  /** In place. */
  static void cumulativeSum(int outer, int axis, int inner, long[] x) {
    for (int o = 0; o < outer; o++) {
      for (int i = (o * axis + 1) * inner; i < (o + 1) * axis * inner; i++) {
        x[i] += x[i - inner];
      }
    }
  }

  static int[] argReduce(ArgReduceOp op, int outer, int axis, int inner, long[] x) {
    int[] best = new int[outer * inner];
    long[] most = new long[inner];
    for (int o = 0; o < outer; o++) {
      System.arraycopy(x, o * axis * inner, most, 0, inner);
      for (int a = 1; a < axis; a++) {
        int from = (o * axis + a) * inner;
        for (int i = 0; i < inner; i++) {
          long v = x[from + i];
          if (op == ArgReduceOp.ARGMAX ? v > most[i] : v < most[i]) {
            most[i] = v;
            best[o * inner + i] = a;
          }
        }
      }
    }
    return best;
  }

  // ---- up to 32 bits ----

  /** In place; every element is kept in f32 between. */
  static void cumulativeSum(int outer, int axis, int inner, float[] x) {
    for (int o = 0; o < outer; o++) {
      for (int i = (o * axis + 1) * inner; i < (o + 1) * axis * inner; i++) {
        x[i] += x[i - inner];
      }
    }
  }

  /** In place. */
  static void softmax(int outer, int axis, int inner, float[] x) {
    float[] most = new float[inner];
    float[] sums = new float[inner];
    float[] row = new float[inner];
    for (int o = 0; o < outer; o++) {
      Arrays.fill(most, Float.NEGATIVE_INFINITY);
      Arrays.fill(sums, 0);
      int first = o * axis * inner;
      for (int a = 0; a < axis; a++) {
        System.arraycopy(x, first + a * inner, row, 0, inner);
        FloatKernels.binary(BinaryOp.MAXIMUM, most, row, inner);
      }
      for (int a = 0; a < axis; a++) {
        System.arraycopy(x, first + a * inner, row, 0, inner);
        FloatKernels.binary(BinaryOp.SUB, row, most, inner);
        FloatKernels.unary(UnaryOp.EXP, row, inner);
        FloatKernels.binary(BinaryOp.ADD, sums, row, inner);
        System.arraycopy(row, 0, x, first + a * inner, inner);
      }
      for (int a = 0; a < axis; a++) {
        System.arraycopy(x, first + a * inner, row, 0, inner);
        FloatKernels.binary(BinaryOp.DIV, row, sums, inner);
        System.arraycopy(row, 0, x, first + a * inner, inner);
      }
    }
  }

  // ---- f64, which holds the values of narrower types exactly ----

  /** In place. */
  static void cumulativeSum(int outer, int axis, int inner, double[] x) {
    for (int o = 0; o < outer; o++) {
      for (int i = (o * axis + 1) * inner; i < (o + 1) * axis * inner; i++) {
        x[i] += x[i - inner];
      }
    }
  }

  /** In place. */
  static void softmax(int outer, int axis, int inner, double[] x) {
    double[] most = new double[inner];
    double[] sums = new double[inner];
    for (int o = 0; o < outer; o++) {
      Arrays.fill(most, Double.NEGATIVE_INFINITY);
      Arrays.fill(sums, 0);
      int first = o * axis * inner;
      int end = first + axis * inner;
      for (int i = first; i < end; i++) {
        most[(i - first) % inner] = Math.max(most[(i - first) % inner], x[i]);
      }
      for (int i = first; i < end; i++) {
        x[i] = RealFunctions.apply(UnaryOp.EXP, x[i] - most[(i - first) % inner]);
        sums[(i - first) % inner] += x[i];
      }
      for (int i = first; i < end; i++) {
        x[i] /= sums[(i - first) % inner];
      }
    }
  }

  /** The first NaN, if there is one. */
  static int[] argReduce(ArgReduceOp op, int outer, int axis, int inner, double[] x) {
    int[] best = new int[outer * inner];
    double[] most = new double[inner];
    for (int o = 0; o < outer; o++) {
      System.arraycopy(x, o * axis * inner, most, 0, inner);
      for (int a = 1; a < axis; a++) {
        int from = (o * axis + a) * inner;
        for (int i = 0; i < inner; i++) {
          double v = x[from + i];
          boolean isNan = Double.isNaN(v) && !Double.isNaN(most[i]);
          if (isNan || (op == ArgReduceOp.ARGMAX ? v > most[i] : v < most[i])) {
            most[i] = v;
            best[o * inner + i] = a;
          }
        }
      }
    }
    return best;
  }
}
