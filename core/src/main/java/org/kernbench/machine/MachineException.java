package org.kernbench.machine;

/** A question about the machine that has no answer: no such place, no route, no such address. */
public final class MachineException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** An exception with a message that says what was asked and what exists. */
  public MachineException(String message) {
    super(message);
  }
}
