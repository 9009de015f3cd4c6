package org.kernbench.eval;

/**
 * Whether what came of a launch may stand for others that do the same, on the same PEs or in
 * another package (ADRs 0112, 0228, 0306).
 */
public enum Reuse {
  /** In mode {@code time}, where nothing is checked. */
  AUTO,
  /** Every launch is simulated. */
  OFF,
  /** One run like {@link #OFF} and one like {@link #AUTO}, and all their rows are compared. */
  VERIFY
}
