package org.kernbench.tensor;

/** Shapes that do not fit what was asked; the message names them and what was expected. */
public final class ShapeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** An error with this text. */
  public ShapeException(String message) {
    super(message);
  }
}
