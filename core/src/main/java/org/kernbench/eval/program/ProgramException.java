package org.kernbench.eval.program;

/** The author's own code has failed, with an error of its own language. Exit code 1. */
public final class ProgramException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What the author said of it. */
  public ProgramException(String message) {
    super(message);
  }
}
