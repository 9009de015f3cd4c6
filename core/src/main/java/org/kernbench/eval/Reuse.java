package org.kernbench.eval;

import org.kernbench.device.LaunchReuse;

/** Whether what came of a launch may stand for others that do the same (ADR 0112). */
public enum Reuse {
  /** In mode {@code time}, where nothing is checked: launches on the same PEs. */
  AUTO(LaunchReuse.SAME_PES, false),
  /** As {@link #AUTO}, and launches of other packages. */
  PACKAGES(LaunchReuse.ALL_PACKAGES, false),
  /** Every launch is simulated. */
  OFF(LaunchReuse.OFF, false),
  /** One run like {@link #OFF} and one like {@link #AUTO}, and all their rows are compared. */
  VERIFY_AUTO(LaunchReuse.SAME_PES, true),
  /** One run like {@link #OFF} and one like {@link #PACKAGES}, and all their rows are compared. */
  VERIFY_PACKAGES(LaunchReuse.ALL_PACKAGES, true);

  private final LaunchReuse launches;
  private final boolean isCompared;

  Reuse(LaunchReuse launches, boolean isCompared) {
    this.launches = launches;
    this.isCompared = isCompared;
  }

  /** For which launches what came of one is used again. */
  LaunchReuse launches() {
    return launches;
  }

  /** Whether a run in which every launch is simulated is compared. */
  boolean isCompared() {
    return isCompared;
  }

  /** As this, and compared with {@link #OFF}. */
  public Reuse compared() {
    return switch (this) {
      case AUTO, OFF, VERIFY_AUTO -> VERIFY_AUTO;
      case PACKAGES, VERIFY_PACKAGES -> VERIFY_PACKAGES;
    };
  }

  /** As this, not compared. */
  Reuse alone() {
    return switch (this) {
      case AUTO, VERIFY_AUTO -> AUTO;
      case PACKAGES, VERIFY_PACKAGES -> PACKAGES;
      case OFF -> OFF;
    };
  }
}
