package org.kernbench.machine;

/** Packages are not all alike, or do not all do alike: the message says what differs. */
public final class CannotFoldException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** An exception with what is in the way, and what would remove it. */
  public CannotFoldException(String message) {
    super(message);
  }
}
