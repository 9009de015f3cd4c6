package org.kernbench.machine.spec;

/** How closely HBM is modelled. */
public enum HbmFidelity {
  /** A rate, which an efficiency lowers, and a latency. */
  FLAT,
  /** Pseudo-channels of banks with rows, turn-around and refresh; see {@link DramSpec}. */
  BANKED
}
