package org.kernbench.device;

/** What a run computes. The program is the same in each. */
public enum Mode {
  /** Values and time. */
  FULL,
  /** Time only: shapes move, bytes do not; a kernel that looks at data cannot run. */
  TIME,
  /** Values only: no timing model, as fast as possible. */
  VALUES
}
