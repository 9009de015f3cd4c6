package org.kernbench.chakra;

/** A trace that cannot be read or cannot be run: what, where, what was expected. */
public final class TraceException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TraceException(String message) {
    super(message);
  }
}
