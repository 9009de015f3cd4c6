package org.kernbench.machine;

import org.kernbench.device.Steps;

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

  /** A step of a {@link Steps} program does what only a program with a thread can. */
  public static SimulationException ofStepThatWaits(Pe pe, String line) {
    return new SimulationException(
        """
        %s: a kernel in steps waits at %s, which it has no thread for; one that looks \
        at data, at the clock or for any message must be written in one piece\
        """
            .formatted(pe, line));
  }
}
