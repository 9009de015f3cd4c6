package org.kernbench.tensor;

/** An operation on integers that has no result, such as a division by zero. */
public final class IntegerException extends ArithmeticException {
  private static final long serialVersionUID = 1L;

  IntegerException(String message) {
    super(message);
  }
}
