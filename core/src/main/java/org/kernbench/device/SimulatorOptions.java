package org.kernbench.device;

/**
 * How much a run records about itself; never changes times or values.
 *
 * @param opLogLimit operations kept in the op log; beyond it only the hash and the counts go on (0
 *     keeps none)
 * @param captureLines whether each command remembers the kernel's source line (about a microsecond
 *     each)
 */
public record SimulatorOptions(int opLogLimit, boolean captureLines) {
  /** Keeps the first million operations and no source lines. */
  public static final SimulatorOptions DEFAULT = new SimulatorOptions(1 << 20, false);

  /** Checks the ranges. */
  public SimulatorOptions {
    if (opLogLimit < 0) {
      throw new IllegalArgumentException("opLogLimit: got " + opLogLimit + "; expected 0 or more");
    }
  }

  /** A copy that captures source lines. */
  public SimulatorOptions withLines() {
    return new SimulatorOptions(opLogLimit, true);
  }

  /** A copy with another limit of the op log. */
  public SimulatorOptions withOpLogLimit(int limit) {
    return new SimulatorOptions(limit, captureLines);
  }
}
