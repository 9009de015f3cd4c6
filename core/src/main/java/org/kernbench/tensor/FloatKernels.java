package org.kernbench.tensor;

/**
 * Element-wise loops over blocks of f32, in place on the first operand: {@code x[i] = op(x[i],
 * y[i])}. One plain loop per function, so that C2 can vectorise it; {@link ScalarNumerics} is the
 * obvious twin.
 */
final class FloatKernels {
  private FloatKernels() {}

  static void binary(BinaryOp op, float[] x, float[] y, int n) {
    switch (op) {
      case ADD -> add(x, y, n);
      case SUB -> sub(x, y, n);
      case MUL -> mul(x, y, n);
      case DIV -> div(x, y, n);
      case MAXIMUM -> maximum(x, y, n);
      case MINIMUM -> minimum(x, y, n);
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
      case AND, OR, XOR, SHL, SHR -> throw new AssertionError(op);
    }
  }

  /** {@code out[i] = x[i] op y[i]} on f16 codes in one pass, not in place: C2 likes it so. */
  static void binaryHalf(BinaryOp op, short[] x, short[] y, short[] out, int n) {
    switch (op) {
      case ADD -> addHalf(x, y, out, n);
      case MUL -> mulHalf(x, y, out, n);
      case MAXIMUM -> maximumHalf(x, y, out, n);
      case MINIMUM -> minimumHalf(x, y, out, n);
      default -> throw new AssertionError(op);
    }
  }

  /** Whether {@link #binaryHalf} has the function. */
  static boolean hasHalf(BinaryOp op) {
    return op == BinaryOp.ADD
        || op == BinaryOp.MUL
        || op == BinaryOp.MAXIMUM
        || op == BinaryOp.MINIMUM;
  }

  static void unary(UnaryOp op, float[] x, int n) {
    switch (op) {
      case NEG -> neg(x, n);
      case ABS -> abs(x, n);
      case SQRT -> sqrt(x, n);
      case RECIPROCAL -> reciprocal(x, n);
      case RELU -> relu(x, n);
      case EXP, EXP2, SIGMOID, SILU, TANH, GELU, GELU_TANH, ERF -> QuickFunctions.apply(op, x, n);
      default -> {
        for (int i = 0; i < n; i++) {
          x[i] = RealFunctions.apply(op, x[i]);
        }
      }
    }
  }

  /**
   * {@code y[i]} = the f32 from which every type of at most 16 bits rounds as from {@code x[from +
   * i]} itself: cut off toward zero, and the last bit set if anything was (rounding to odd; the 24
   * bits are more than two over the 11 of f16, so the second rounding sees on which side of a tie
   * the number lies).
   */
  static void roundToOdd(double[] x, int from, float[] y, int n) {
    for (int i = 0; i < n; i++) {
      double value = x[from + i];
      float near = (float) value;
      double error = Math.abs(value) - Math.abs((double) near);
      int bits = Float.floatToRawIntBits(near);
      int odd = (error < 0 ? bits - 1 : bits) | 1;
      y[i] = error < 0 || error > 0 ? Float.intBitsToFloat(odd) : near;
    }
  }

  static void compare(CompareOp op, float[] x, float[] y, byte[] out, int outOff, int n) {
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

  static void fma(float[] x, float[] y, float[] z, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = Math.fma(x[i], y[i], z[i]);
    }
  }

  private static void add(float[] x, float[] y, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = x[i] + y[i];
    }
  }

  private static void sub(float[] x, float[] y, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = x[i] - y[i];
    }
  }

  private static void mul(float[] x, float[] y, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = x[i] * y[i];
    }
  }

  private static void div(float[] x, float[] y, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = x[i] / y[i];
    }
  }

  private static void maximum(float[] x, float[] y, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = Math.max(x[i], y[i]);
    }
  }

  private static void minimum(float[] x, float[] y, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = Math.min(x[i], y[i]);
    }
  }

  private static void addHalf(short[] x, short[] y, short[] out, int n) {
    for (int i = 0; i < n; i++) {
      out[i] = Float.floatToFloat16(Float.float16ToFloat(x[i]) + Float.float16ToFloat(y[i]));
    }
  }

  private static void mulHalf(short[] x, short[] y, short[] out, int n) {
    for (int i = 0; i < n; i++) {
      out[i] = Float.floatToFloat16(Float.float16ToFloat(x[i]) * Float.float16ToFloat(y[i]));
    }
  }

  private static void maximumHalf(short[] x, short[] y, short[] out, int n) {
    for (int i = 0; i < n; i++) {
      out[i] =
          Float.floatToFloat16(Math.max(Float.float16ToFloat(x[i]), Float.float16ToFloat(y[i])));
    }
  }

  private static void minimumHalf(short[] x, short[] y, short[] out, int n) {
    for (int i = 0; i < n; i++) {
      out[i] =
          Float.floatToFloat16(Math.min(Float.float16ToFloat(x[i]), Float.float16ToFloat(y[i])));
    }
  }

  private static void neg(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = -x[i];
    }
  }

  private static void abs(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = Math.abs(x[i]);
    }
  }

  private static void sqrt(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = (float) Math.sqrt(x[i]);
    }
  }

  private static void reciprocal(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = 1f / x[i];
    }
  }

  private static void relu(float[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = Math.max(x[i], 0f);
    }
  }
}
