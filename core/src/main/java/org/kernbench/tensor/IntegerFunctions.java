package org.kernbench.tensor;

/**
 * Integer functions of one element that need care; the result is cut to the width by the caller.
 */
final class IntegerFunctions {
  private IntegerFunctions() {}

  static long apply(BinaryOp op, long a, long b) {
    return switch (op) {
      case DIV -> a / nonZero(b);
      case REM -> a % nonZero(b);
      case POW -> pow(a, b);
      case SHL -> b < 0 || b > 63 ? 0 : a << b;
      case SHR -> a >> (b < 0 || b > 63 ? 63 : b);
      case ADD, SUB, MUL, MAXIMUM, MINIMUM, AND, OR, XOR -> throw new AssertionError(op);
    };
  }

  private static long nonZero(long divisor) {
    if (divisor == 0) {
      throw new ShapeException("integer division by zero; mask the lanes or use floats");
    }
    return divisor;
  }

  private static long pow(long base, long exponent) {
    if (exponent < 0) {
      throw new ShapeException(
          "integer power with exponent " + exponent + "; expected 0 or more, or use floats");
    }
    long result = 1;
    long square = base;
    for (long left = exponent; left > 0; left >>= 1) {
      if ((left & 1) != 0) {
        result *= square;
      }
      square *= square;
    }
    return result;
  }
}
