package org.kernbench.device;

import org.kernbench.machine.SimulationException;

/** A kernel makes a value that would not fit its TCM if nothing else were there. */
public final class ValueTooLargeException extends SimulationException {
  private static final long serialVersionUID = 1L;

  private final long bytes;

  /**
   * A value that is too large.
   *
   * @param problem which one of whom, what there is, and what to do
   * @param bytes of the value
   */
  public ValueTooLargeException(String problem, long bytes) {
    super(problem);
    this.bytes = bytes;
  }

  /** Bytes of the value. */
  public long bytes() {
    return bytes;
  }
}
