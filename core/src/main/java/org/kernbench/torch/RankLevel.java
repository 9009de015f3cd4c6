package org.kernbench.torch;

/** What one rank owns, its device: chosen by {@code rank_level} of the collective configuration. */
public enum RankLevel {
  /** A processing element. */
  PE,
  /** A cube with its processing elements. */
  CUBE,
  /** A package with its cubes. */
  SIP
}
