package org.kernbench.nn.parallel;

import org.kernbench.machine.SimulationException;

/**
 * A parallel layout that cannot be, or a question that it has no answer to: a user's error. The
 * message names the layout, the value, and what was expected.
 */
public final class LayoutException extends SimulationException {
  private static final long serialVersionUID = 1L;

  /** What sort of mistake it is; in brackets, what the same mistake is in Python's frameworks. */
  public enum Kind {
    /** A value that no layout allows ({@code ValueError}). */
    ARGUMENT,
    /** A value that does not fit the world as it is ({@code RuntimeError}). */
    STATE,
    /** A name that is not there, or there already ({@code KeyError}). */
    KEY
  }

  private final Kind kind;

  LayoutException(Kind kind, String message) {
    super(message);
    this.kind = kind;
  }

  public static LayoutException argument(String message) {
    return new LayoutException(Kind.ARGUMENT, message);
  }

  public static LayoutException state(String message) {
    return new LayoutException(Kind.STATE, message);
  }

  static LayoutException key(String message) {
    return new LayoutException(Kind.KEY, message);
  }

  /** What sort of mistake it is. */
  public Kind kind() {
    return kind;
  }
}
