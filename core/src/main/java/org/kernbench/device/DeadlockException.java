package org.kernbench.device;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.SimulationException;

/**
 * No event is queued and something still waits. The message says who waits where, and the cycle.
 */
public final class DeadlockException extends SimulationException {
  private static final long serialVersionUID = 1L;

  private final transient @Nullable Shortage shortage;

  /**
   * A kernel that finds no room in a TCM, and waits for it.
   *
   * @param kernel its name
   * @param bytes that it asks for beside what it holds
   */
  public record Shortage(String kernel, long bytes) {}

  /** A deadlock with its report. */
  public DeadlockException(String report) {
    this(report, Optional.empty());
  }

  /** A deadlock with its report, and what of TCM it is about, if that is it. */
  public DeadlockException(String report, Optional<Shortage> shortage) {
    super(report);
    this.shortage = shortage.orElse(null);
  }

  /** What finds no room in a TCM; empty if nothing waits for that. */
  public Optional<Shortage> shortage() {
    return Optional.ofNullable(shortage);
  }
}
