package org.kernbench.tl;

/** A kernel names elements that a tensor, or a value, does not have. */
public final class RangeException extends IndexOutOfBoundsException {
  private static final long serialVersionUID = 1L;

  /** An error whose message names tensor, index and extent. */
  public RangeException(String message) {
    super(message);
  }
}
