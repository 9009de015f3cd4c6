package org.kernbench.device;

/** For which launches what came of one is used again, in mode {@code time}. */
public enum LaunchReuse {
  /** None: each is simulated. */
  OFF,
  /**
   * Those on the same PEs that do the same. Rows are those of simulated launches but where two ends
   * in one picosecond let launches start on two streams of a PE: these may start in the other order
   * (ADR 0228). Of some three hundred random programs with such streams one differs.
   */
  SAME_PES,
  /**
   * Also those that do the same in another package, at the same time or later. Rows are those of
   * simulated launches but where launches end in one picosecond, which those of several packages
   * often do: what starts then may start in another order (ADR 0228).
   */
  ALL_PACKAGES
}
