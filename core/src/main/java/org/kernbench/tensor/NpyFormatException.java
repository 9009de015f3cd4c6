package org.kernbench.tensor;

import java.io.IOException;

/** A file that is not a NumPy array, or holds one that has no counterpart here. */
public final class NpyFormatException extends IOException {
  private static final long serialVersionUID = 1L;

  /** An error with this text. */
  public NpyFormatException(String message) {
    super(message);
  }
}
