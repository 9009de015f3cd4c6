package org.kernbench.device;

/** For which launches what came of one is used again, in mode {@code time}. */
public enum LaunchReuse {
  /** None: each is simulated. */
  OFF,
  /** Those on the same PEs that do the same: every row is that of a simulated one. */
  SAME_PES,
  /**
   * Also those that do the same in another package, at the same time or later. Rows are those of
   * simulated launches but where launches of several packages end in one picosecond: what starts
   * then may start in another order (ADR 0228).
   */
  ALL_PACKAGES
}
