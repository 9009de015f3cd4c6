package org.kernbench.device;

import java.util.Optional;

/**
 * How much a run records about itself; never changes times or values.
 *
 * @param opLogLimit operations kept in the op log; beyond it only the hash and the counts go on (0
 *     keeps none)
 * @param captureLines whether each command remembers the kernel's source line (about a microsecond
 *     each)
 * @param findings takes what checked execution finds; empty: nothing is checked
 */
public record SimulatorOptions(int opLogLimit, boolean captureLines, Optional<Findings> findings) {
  /** Keeps the first million operations and no source lines, and checks nothing. */
  public static final SimulatorOptions DEFAULT = new SimulatorOptions(1 << 20, false);

  /** Checks the ranges. */
  public SimulatorOptions {
    if (opLogLimit < 0) {
      throw new IllegalArgumentException("opLogLimit: got " + opLogLimit + "; expected 0 or more");
    }
  }

  /** Options that check nothing. */
  public SimulatorOptions(int opLogLimit, boolean captureLines) {
    this(opLogLimit, captureLines, Optional.empty());
  }

  /** A copy that captures source lines. */
  public SimulatorOptions withLines() {
    return new SimulatorOptions(opLogLimit, true, findings);
  }

  /** A copy with another limit of the op log. */
  public SimulatorOptions withOpLogLimit(int limit) {
    return new SimulatorOptions(limit, captureLines, findings);
  }

  /**
   * A copy that checks the execution: races, reads of memory that nobody has written, messages left
   * over. Captures lines; times and values stay the same, the run takes up to twice the processor
   * time.
   *
   * @param takes what is found; one may serve several simulators
   */
  public SimulatorOptions checkedBy(Findings takes) {
    return new SimulatorOptions(opLogLimit, true, Optional.of(takes));
  }
}
