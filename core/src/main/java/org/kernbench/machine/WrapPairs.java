package org.kernbench.machine;

/** What closes an axis of size 2 in a ring or torus. */
public enum WrapPairs {
  /** Nothing: the two packages share one link, E of the lower to W of the higher (S to N). */
  SINGLE,
  /** A second link, E of the higher to W of the lower (S to N). */
  DOUBLE
}
