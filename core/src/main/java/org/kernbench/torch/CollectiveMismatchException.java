package org.kernbench.torch;

import org.kernbench.machine.SimulationException;

/** Ranks that should have made the same collective call made different ones. */
public final class CollectiveMismatchException extends SimulationException {
  private static final long serialVersionUID = 1L;

  CollectiveMismatchException(String message) {
    super(message);
  }
}
