package org.kernbench.machine.spec;

/** The kinds of memory a buffer can live in. */
public enum BufferKind {
  /** Scratch memory of one PE. */
  TCM,
  /** Memory shared by a cube. */
  SRAM,
  /** The slice of a cube's HBM that belongs to one PE. */
  HBM
}
