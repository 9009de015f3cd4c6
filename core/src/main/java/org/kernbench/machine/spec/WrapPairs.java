package org.kernbench.machine.spec;

/** What closes an axis of size 2 in a ring or torus. */
public enum WrapPairs {
  /** Nothing: the two packages share one link, E of the lower to W of the higher (S to N). */
  SINGLE,
  /** A second link beside it: messages use both as one of twice the rate (ADR 0046). */
  DOUBLE
}
