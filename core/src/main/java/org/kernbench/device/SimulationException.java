package org.kernbench.device;

/**
 * The simulated program did something that the machine cannot do: a user's error, reported without
 * a stack trace.
 */
public class SimulationException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** An error with what happened, where, what was expected, and a remedy. */
  public SimulationException(String message) {
    super(message);
  }
}
