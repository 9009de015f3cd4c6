package org.kernbench.tensor;

import org.jspecify.annotations.Nullable;

/**
 * The obvious twin of {@link Numerics}: one element at a time through {@link DType#getDouble} and
 * {@link DType#putDouble}, no blocks, no buffers. Tests compare the two bit for bit, and benchmarks
 * use it as the baseline; nothing else calls it. Arguments are those of the twin, unchecked.
 */
final class ScalarNumerics {
  private ScalarNumerics() {}

  static void binary(
      BinaryOp op, DType t, byte[] a, int aOff, byte[] b, int bOff, byte[] out, int outOff, int n) {
    int size = t.sizeBytes();
    for (int i = 0; i < n; i++) {
      if (t.isFloatingPoint()) {
        double x = t.getDouble(a, aOff + i * size);
        double y = t.getDouble(b, bOff + i * size);
        t.putDouble(out, outOff + i * size, real(op, t, x, y));
      } else {
        long x = t.getLong(a, aOff + i * size);
        long y = t.getLong(b, bOff + i * size);
        t.putLong(out, outOff + i * size, integer(op, x, y));
      }
    }
  }

  /** In the precision in which the type computes: f64 in double, the others in f32. */
  private static double real(BinaryOp op, DType t, double x, double y) {
    return t == DType.F64 ? real(op, x, y) : real(op, (float) x, (float) y);
  }

  private static double real(BinaryOp op, double x, double y) {
    return switch (op) {
      case ADD -> x + y;
      case SUB -> x - y;
      case MUL -> x * y;
      case DIV -> x / y;
      case REM -> x % y;
      case POW -> RealFunctions.pow(x, y);
      case MAXIMUM -> Math.max(x, y);
      case MINIMUM -> Math.min(x, y);
      case AND, OR, XOR, SHL, SHR -> throw new AssertionError(op);
    };
  }

  private static float real(BinaryOp op, float x, float y) {
    return switch (op) {
      case ADD -> x + y;
      case SUB -> x - y;
      case MUL -> x * y;
      case DIV -> x / y;
      case REM -> x % y;
      case POW -> RealFunctions.pow(x, y);
      case MAXIMUM -> Math.max(x, y);
      case MINIMUM -> Math.min(x, y);
      case AND, OR, XOR, SHL, SHR -> throw new AssertionError(op);
    };
  }

  private static long integer(BinaryOp op, long x, long y) {
    return switch (op) {
      case ADD -> x + y;
      case SUB -> x - y;
      case MUL -> x * y;
      case MAXIMUM -> Math.max(x, y);
      case MINIMUM -> Math.min(x, y);
      case AND -> x & y;
      case OR -> x | y;
      case XOR -> x ^ y;
      case DIV, REM, POW, SHL, SHR -> IntegerFunctions.apply(op, x, y);
    };
  }

  static void add(DType t, byte[] a, int aOff, byte[] b, int bOff, byte[] out, int outOff, int n) {
    binary(BinaryOp.ADD, t, a, aOff, b, bOff, out, outOff, n);
  }

  static void combine(
      ReduceOp op, DType t, byte[] into, int intoOff, byte[] more, int moreOff, int n) {
    binary(op.combine(), t, into, intoOff, more, moreOff, into, intoOff, n);
  }

  static void binaryScalar(
      BinaryOp op, DType t, byte[] a, int aOff, double scalar, byte[] out, int outOff, int n) {
    int size = t.sizeBytes();
    for (int i = 0; i < n; i++) {
      int at = outOff + i * size;
      if (t.isFloatingPoint()) {
        t.putDouble(out, at, real(op, t, t.getDouble(a, aOff + i * size), scalar));
      } else {
        t.putLong(out, at, integer(op, t.getLong(a, aOff + i * size), (long) scalar));
      }
    }
  }

  static void scalarBinary(
      BinaryOp op, DType t, double scalar, byte[] b, int bOff, byte[] out, int outOff, int n) {
    int size = t.sizeBytes();
    for (int i = 0; i < n; i++) {
      int at = outOff + i * size;
      if (t.isFloatingPoint()) {
        t.putDouble(out, at, real(op, t, scalar, t.getDouble(b, bOff + i * size)));
      } else {
        t.putLong(out, at, integer(op, (long) scalar, t.getLong(b, bOff + i * size)));
      }
    }
  }

  static void fma(
      DType t,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte[] c,
      int cOff,
      byte[] out,
      int outOff,
      int n) {
    int size = t.sizeBytes();
    for (int i = 0; i < n; i++) {
      double x = t.getDouble(a, aOff + i * size);
      double y = t.getDouble(b, bOff + i * size);
      double z = t.getDouble(c, cOff + i * size);
      double sum = t == DType.F64 ? Math.fma(x, y, z) : Math.fma((float) x, (float) y, (float) z);
      t.putDouble(out, outOff + i * size, sum);
    }
  }

  static void where(
      DType t,
      byte[] condition,
      int conditionOff,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte[] out,
      int outOff,
      int n) {
    int size = t.sizeBytes();
    for (int i = 0; i < n; i++) {
      boolean first = condition[conditionOff + i] != 0;
      System.arraycopy(
          first ? a : b, (first ? aOff : bOff) + i * size, out, outOff + i * size, size);
    }
  }

  static void fromDoubles(DType t, double[] values, byte[] out, int outOff) {
    for (int i = 0; i < values.length; i++) {
      t.putDouble(out, outOff + i * t.sizeBytes(), values[i]);
    }
  }

  static void toDoubles(DType t, byte[] in, int inOff, double[] values) {
    for (int i = 0; i < values.length; i++) {
      values[i] = t.getDouble(in, inOff + i * t.sizeBytes());
    }
  }

  static void fill(DType t, double value, byte[] out, int outOff, int n) {
    for (int i = 0; i < n; i++) {
      t.putDouble(out, outOff + i * t.sizeBytes(), value);
    }
  }

  static void arange(DType t, double start, double step, byte[] out, int outOff, int n) {
    int size = t.sizeBytes();
    for (int i = 0; i < n; i++) {
      t.putDouble(out, outOff + i * size, start + i * step);
    }
  }

  /** Every index by itself, counted up like the hands of a clock. */
  static void copyStrided(
      int elementBytes,
      Shape extents,
      byte[] src,
      int srcOff,
      long[] srcStrides,
      byte[] dst,
      int dstOff,
      long[] dstStrides) {
    for (long element = 0; element < extents.elements(); element++) {
      long rest = element;
      long from = 0;
      long to = 0;
      for (int axis = extents.rank() - 1; axis >= 0; axis--) {
        from += rest % extents.dim(axis) * srcStrides[axis];
        to += rest % extents.dim(axis) * dstStrides[axis];
        rest /= extents.dim(axis);
      }
      System.arraycopy(
          src,
          srcOff + (int) from * elementBytes,
          dst,
          dstOff + (int) to * elementBytes,
          elementBytes);
    }
  }

  static void unary(UnaryOp op, DType t, byte[] a, int aOff, byte[] out, int outOff, int n) {
    int size = t.sizeBytes();
    for (int i = 0; i < n; i++) {
      if (t.isFloatingPoint()) {
        double x = t.getDouble(a, aOff + i * size);
        t.putDouble(out, outOff + i * size, real(op, t, x));
      } else {
        long x = t.getLong(a, aOff + i * size);
        t.putLong(out, outOff + i * size, integer(op, t, x));
      }
    }
  }

  private static double real(UnaryOp op, DType t, double x) {
    return t == DType.F64 ? RealFunctions.apply(op, x) : RealFunctions.apply(op, (float) x);
  }

  private static long integer(UnaryOp op, DType t, long x) {
    return switch (op) {
      case NEG -> -x;
      case ABS -> Math.abs(x);
      case RELU -> Math.max(x, 0);
      case NOT -> t == DType.BOOL ? 1 - x : ~x;
      default -> throw new AssertionError(op);
    };
  }

  static void compare(
      CompareOp op,
      DType t,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte[] out,
      int outOff,
      int n) {
    int size = t.sizeBytes();
    for (int i = 0; i < n; i++) {
      boolean is;
      if (t.isFloatingPoint()) {
        double x = t.getDouble(a, aOff + i * size);
        double y = t.getDouble(b, bOff + i * size);
        is =
            switch (op) {
              case LT -> x < y;
              case LE -> x <= y;
              case GT -> x > y;
              case GE -> x >= y;
              case EQ -> x == y;
              case NE -> x != y;
            };
      } else {
        int order = Long.compare(t.getLong(a, aOff + i * size), t.getLong(b, bOff + i * size));
        is =
            switch (op) {
              case LT -> order < 0;
              case LE -> order <= 0;
              case GT -> order > 0;
              case GE -> order >= 0;
              case EQ -> order == 0;
              case NE -> order != 0;
            };
      }
      out[outOff + i] = (byte) (is ? 1 : 0);
    }
  }

  static void compareScalar(
      CompareOp op, DType t, byte[] a, int aOff, double scalar, byte[] out, int outOff, int n) {
    byte[] one = new byte[t.sizeBytes()];
    for (int i = 0; i < n; i++) {
      if (t.isFloatingPoint()) {
        // the scalar has the precision that the type computes in, not that of the type
        double x = t.getDouble(a, aOff + i * t.sizeBytes());
        double y = t == DType.F64 ? scalar : (float) scalar;
        DType wide = DType.F64;
        compare(op, wide, wide(x), 0, wide(y), 0, out, outOff + i, 1);
      } else {
        t.putLong(one, 0, (long) scalar);
        compare(op, t, a, aOff + i * t.sizeBytes(), one, 0, out, outOff + i, 1);
      }
    }
  }

  private static byte[] wide(double value) {
    byte[] bytes = new byte[DType.F64.sizeBytes()];
    DType.F64.putDouble(bytes, 0, value);
    return bytes;
  }

  static void cast(DType from, byte[] in, int inOff, DType to, byte[] out, int outOff, int n) {
    for (int i = 0; i < n; i++) {
      int at = inOff + i * from.sizeBytes();
      int toAt = outOff + i * to.sizeBytes();
      if (from.isFloatingPoint()) {
        to.putDouble(out, toAt, from.getDouble(in, at));
      } else {
        to.putLong(out, toAt, from.getLong(in, at));
      }
    }
  }

  static void reduce(
      ReduceOp op,
      DType t,
      int outer,
      int axisLen,
      int inner,
      byte[] in,
      int inOff,
      byte[] out,
      int outOff) {
    int size = t.sizeBytes();
    if (axisLen == 0) {
      fill(t, op == ReduceOp.SUM ? 0 : 1, out, outOff, outer * inner);
      return;
    }
    if (!t.isFloatingPoint()) {
      reduceIntegers(op, t, outer, axisLen, inner, in, inOff, out, outOff);
      return;
    }
    for (int o = 0; o < outer; o++) {
      for (int i = 0; i < inner; i++) {
        int at = inOff + (o * axisLen * inner + i) * size;
        double acc = t.getDouble(in, at);
        for (int x = 1; x < axisLen; x++) {
          acc = real(op.combine(), t, acc, t.getDouble(in, at + x * inner * size));
        }
        t.putDouble(out, outOff + (o * inner + i) * size, acc);
      }
    }
  }

  private static void reduceIntegers(
      ReduceOp op,
      DType t,
      int outer,
      int axisLen,
      int inner,
      byte[] in,
      int inOff,
      byte[] out,
      int outOff) {
    int size = t.sizeBytes();
    for (int o = 0; o < outer; o++) {
      for (int i = 0; i < inner; i++) {
        int at = inOff + (o * axisLen * inner + i) * size;
        long acc = t.getLong(in, at);
        for (int x = 1; x < axisLen; x++) {
          acc = integer(op.combine(), acc, t.getLong(in, at + x * inner * size));
        }
        t.putLong(out, outOff + (o * inner + i) * size, acc);
      }
    }
  }

  static void argReduce(
      ArgReduceOp op,
      DType t,
      int outer,
      int axisLen,
      int inner,
      byte[] in,
      int inOff,
      byte[] out,
      int outOff) {
    int size = t.sizeBytes();
    for (int o = 0; o < outer; o++) {
      for (int i = 0; i < inner; i++) {
        int at = inOff + (o * axisLen * inner + i) * size;
        int best = 0;
        for (int x = 1; x < axisLen; x++) {
          if (isBetter(op, t, in, at + x * inner * size, at + best * inner * size)) {
            best = x;
          }
        }
        LittleEndian.putInt(out, outOff + (o * inner + i) * 4, best);
      }
    }
  }

  private static boolean isBetter(ArgReduceOp op, DType t, byte[] in, int challenger, int best) {
    if (!t.isFloatingPoint()) {
      int order = Long.compare(t.getLong(in, challenger), t.getLong(in, best));
      return op == ArgReduceOp.ARGMAX ? order > 0 : order < 0;
    }
    double x = t.getDouble(in, challenger);
    double y = t.getDouble(in, best);
    if (Double.isNaN(x) || Double.isNaN(y)) {
      return !Double.isNaN(y);
    }
    return op == ArgReduceOp.ARGMAX ? x > y : x < y;
  }

  static void cumulativeSum(
      DType t, int outer, int axisLen, int inner, byte[] in, int inOff, byte[] out, int outOff) {
    int size = t.sizeBytes();
    for (int o = 0; o < outer; o++) {
      for (int i = 0; i < inner; i++) {
        double sum = 0;
        long whole = 0;
        for (int x = 0; x < axisLen; x++) {
          int at = ((o * axisLen + x) * inner + i) * size;
          if (t.isFloatingPoint()) {
            double value = t.getDouble(in, inOff + at);
            sum = x == 0 ? value : real(BinaryOp.ADD, t, sum, value);
            t.putDouble(out, outOff + at, sum);
          } else {
            whole += t.getLong(in, inOff + at);
            t.putLong(out, outOff + at, whole);
          }
        }
      }
    }
  }

  static void softmax(
      DType t, int outer, int axisLen, int inner, byte[] in, int inOff, byte[] out, int outOff) {
    int size = t.sizeBytes();
    double[] row = new double[axisLen];
    for (int o = 0; o < outer; o++) {
      for (int i = 0; i < inner; i++) {
        int at = (o * axisLen * inner + i) * size;
        double largest = Double.NEGATIVE_INFINITY;
        for (int x = 0; x < axisLen; x++) {
          row[x] = t.getDouble(in, inOff + at + x * inner * size);
          largest = Math.max(largest, row[x]);
        }
        double sum = 0;
        for (int x = 0; x < axisLen; x++) {
          row[x] = real(UnaryOp.EXP, t, real(BinaryOp.SUB, t, row[x], largest));
          sum = real(BinaryOp.ADD, t, sum, row[x]);
        }
        for (int x = 0; x < axisLen; x++) {
          double share = real(BinaryOp.DIV, t, row[x], sum);
          t.putDouble(out, outOff + at + x * inner * size, share);
        }
      }
    }
  }

  static void gemm(
      DType in,
      DType right,
      DType out,
      int m,
      int n,
      int k,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte @Nullable [] acc,
      int accOff,
      byte[] c,
      int cOff) {
    if (in == DType.I8) {
      gemmOfIntegers(m, n, k, a, aOff, b, bOff, acc, accOff, c, cOff);
      return;
    }
    if (in == DType.F64) {
      gemmOfDoubles(out, m, n, k, a, aOff, b, bOff, acc, accOff, c, cOff);
      return;
    }
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        float sum = acc == null ? 0 : (float) DType.F32.getDouble(acc, accOff + (i * n + j) * 4);
        for (int p = 0; p < k; p++) {
          float x = (float) in.getDouble(a, aOff + (i * k + p) * in.sizeBytes());
          float y = (float) right.getDouble(b, bOff + (p * n + j) * right.sizeBytes());
          sum = Math.fma(x, y, sum);
        }
        out.putDouble(c, cOff + (i * n + j) * out.sizeBytes(), sum);
      }
    }
  }

  private static void gemmOfIntegers(
      int m,
      int n,
      int k,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte @Nullable [] acc,
      int accOff,
      byte[] c,
      int cOff) {
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        long sum = acc == null ? 0 : DType.I32.getLong(acc, accOff + (i * n + j) * 4);
        for (int p = 0; p < k; p++) {
          sum += a[aOff + i * k + p] * b[bOff + p * n + j];
        }
        DType.I32.putLong(c, cOff + (i * n + j) * 4, sum);
      }
    }
  }

  private static void gemmOfDoubles(
      DType out,
      int m,
      int n,
      int k,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte @Nullable [] acc,
      int accOff,
      byte[] c,
      int cOff) {
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        double sum = acc == null ? 0 : DType.F64.getDouble(acc, accOff + (i * n + j) * 8);
        for (int p = 0; p < k; p++) {
          double x = DType.F64.getDouble(a, aOff + (i * k + p) * 8);
          double y = DType.F64.getDouble(b, bOff + (p * n + j) * 8);
          sum = Math.fma(x, y, sum);
        }
        out.putDouble(c, cOff + (i * n + j) * out.sizeBytes(), sum);
      }
    }
  }
}
