package org.kernbench.torch;

import org.kernbench.device.SimulationException;

/** An HBM slice has no room for a tensor. The message says what fills it. */
public final class OutOfHbmException extends SimulationException {
  private static final long serialVersionUID = 1L;

  OutOfHbmException(String message) {
    super(message);
  }
}
