package org.kernbench.eval.output;

/** A result that cannot be written, for example because the disk is full. Exit code 1. */
public final class OutputException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** An error that names the file and the reason. */
  public OutputException(String message, Throwable cause) {
    super(message, cause);
  }

  /** An error about something that went wrong without an exception. */
  public OutputException(String message) {
    super(message);
  }
}
