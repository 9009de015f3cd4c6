package org.kernbench.torch.placement;

import org.kernbench.machine.SimulationException;

/** An HBM slice has no room for a tensor. The message says what fills it. */
public final class OutOfHbmException extends SimulationException {
  private static final long serialVersionUID = 1L;

  OutOfHbmException(String message) {
    super(message);
  }
}
