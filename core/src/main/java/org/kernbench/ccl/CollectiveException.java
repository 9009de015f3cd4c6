package org.kernbench.ccl;

/** A collective that cannot be done as asked: a user's error, with the reason and a remedy. */
public final class CollectiveException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** An exception with what was wrong, what was expected and what to do. */
  public CollectiveException(String message) {
    super(message);
  }
}
