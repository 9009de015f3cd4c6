package org.kernbench.tensor;

/**
 * Element-wise loops over blocks of {@code int}, in place on the first operand, wrapping. Also
 * serves i8 and bool, widened: their result is the low bits of this one.
 */
final class IntKernels {
  private IntKernels() {}

  static void binary(BinaryOp op, int[] x, int[] y, int n) {
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
      case AND -> {
        for (int i = 0; i < n; i++) {
          x[i] = x[i] & y[i];
        }
      }
      case OR -> {
        for (int i = 0; i < n; i++) {
          x[i] = x[i] | y[i];
        }
      }
      case XOR -> {
        for (int i = 0; i < n; i++) {
          x[i] = x[i] ^ y[i];
        }
      }
      case DIV, REM, POW, SHL, SHR -> {
        for (int i = 0; i < n; i++) {
          x[i] = (int) IntegerFunctions.apply(op, x[i], y[i]);
        }
      }
    }
  }

  static void unary(UnaryOp op, int[] x, int n) {
    switch (op) {
      case NEG -> {
        for (int i = 0; i < n; i++) {
          x[i] = -x[i];
        }
      }
      case ABS -> {
        for (int i = 0; i < n; i++) {
          x[i] = Math.abs(x[i]);
        }
      }
      case RELU -> {
        for (int i = 0; i < n; i++) {
          x[i] = Math.max(x[i], 0);
        }
      }
      case NOT -> {
        for (int i = 0; i < n; i++) {
          x[i] = ~x[i];
        }
      }
      default -> throw new AssertionError(op);
    }
  }

  /** {@code x = 1 - x}: NOT of truth values. */
  static void complement(int[] x, int n) {
    for (int i = 0; i < n; i++) {
      x[i] = 1 - x[i];
    }
  }

  static void compare(CompareOp op, int[] x, int[] y, byte[] out, int outOff, int n) {
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
}
