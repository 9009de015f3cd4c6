package org.kernbench.machine.spec;

/** How a sender without a free slot waits. */
public enum Backpressure {
  /** It is woken by the credit. */
  SLEEP,
  /** It looks every poll interval. */
  POLL
}
