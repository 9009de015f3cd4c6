package org.kernbench.device.log;

import java.util.Optional;
import java.util.function.Supplier;

/**
 * The source line of a program that is not Java: whoever performs such a program says which line it
 * is at, and messages and records name that line instead of the performer's.
 */
public final class SourceLine {
  private static final ScopedValue<Supplier<String>> CURRENT = ScopedValue.newInstance();

  private SourceLine() {}

  /**
   * Runs a body whose lines are those of another language.
   *
   * @param line is asked for the current line, for example {@code train.py:12}, when one is needed
   */
  public static void during(Supplier<String> line, Runnable body) {
    ScopedValue.where(CURRENT, line).run(body);
  }

  /** The line that the current thread's program is at; empty if the program is Java. */
  public static Optional<String> current() {
    return CURRENT.isBound() ? Optional.of(CURRENT.get().get()) : Optional.empty();
  }
}
