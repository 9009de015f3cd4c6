package org.kernbench.machine.spec;

/** How consecutive tiles pass through the MAC array. */
public enum GemmMode {
  /** Each tile pays for filling and draining the array. */
  FILLED,
  /** Tiles follow each other closely; fill and drain are paid once. */
  CHAINED,
  /** The peak rate whatever the shape, without fill and drain: how the predecessor counts. */
  FLAT,
  /** Multiprocessors that each make a tile of outputs at once, wave after wave. */
  WAVES
}
