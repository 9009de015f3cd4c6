package org.kernbench.device;

import org.kernbench.machine.SimulationException;

/** A kernel makes a value that would not fit its TCM if nothing else were there. */
public final class ValueTooLargeException extends SimulationException {
  private static final long serialVersionUID = 1L;

  private final long bytes;
  private final long room;

  /**
   * A value that is too large.
   *
   * @param problem which one of whom, what there is, and what to do
   * @param bytes of the value
   * @param room bytes of TCM that are no message slots
   */
  public ValueTooLargeException(String problem, long bytes, long room) {
    super(problem);
    this.bytes = bytes;
    this.room = room;
  }

  /** Bytes of the value. */
  public long bytes() {
    return bytes;
  }

  /** Bytes of TCM beside message slots. */
  public long room() {
    return room;
  }
}
