package org.kernbench.device;

import org.kernbench.machine.SimulationException;

/**
 * No event is queued and something still waits. The message says who waits where, and the cycle.
 */
public final class DeadlockException extends SimulationException {
  private static final long serialVersionUID = 1L;

  /** A deadlock with its report. */
  public DeadlockException(String report) {
    super(report);
  }
}
