package org.kernbench.nn.autograd;

import org.kernbench.machine.SimulationException;

/** A value or a gradient is infinite or NaN; the message says which, where, and of what. */
public final class NotFiniteException extends SimulationException {
  private static final long serialVersionUID = 1L;

  NotFiniteException(String message) {
    super(message);
  }
}
