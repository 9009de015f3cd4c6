package org.kernbench.nn.kernels;

import org.kernbench.machine.SimulationException;

/** A kernel cannot be cut so small that what it has at once fits the TCM of a PE. */
public final class TcmException extends SimulationException {
  private static final long serialVersionUID = 1L;

  private final String problem;

  TcmException(String problem, String remedy) {
    super(problem + "; " + remedy);
    this.problem = problem;
  }

  /** What needs how much and what there is, without a remedy. */
  public String problem() {
    return problem;
  }
}
