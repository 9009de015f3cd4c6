package org.kernbench.config;

/**
 * The user asked for something that does not exist or cannot be: an unknown bench, a value out of
 * range. Exit code 2, no stack trace.
 */
public final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** An error that says what was wrong, what was expected and how to fix it. */
  public UsageException(String message) {
    super(message);
  }
}
