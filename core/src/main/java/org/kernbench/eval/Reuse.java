package org.kernbench.eval;

/** Whether what came of a launch may stand for others that do the same (ADR 0112). */
public enum Reuse {
  /** In mode {@code time}, where nothing is checked. */
  AUTO,
  /** Every launch is simulated. */
  OFF,
  /** One run like {@link #OFF} and one like {@link #AUTO}, and all their rows are compared. */
  VERIFY
}
