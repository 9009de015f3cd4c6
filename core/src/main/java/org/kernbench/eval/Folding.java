package org.kernbench.eval;

/** Whether one package may be simulated for all where that is exact. */
public enum Folding {
  /** Where it is exact, in mode {@code time}; else every package. */
  AUTO,
  /** As {@link #AUTO}, but what cannot be folded is an error. */
  ON,
  /** Every package. */
  OFF
}
