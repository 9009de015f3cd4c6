package org.kernbench.machine.spec;

/** How a router decides, once per cycle, which input goes to which output. */
public enum RouterAllocator {
  /** Outputs choose one after the other: none stays idle that an input waits for that is free. */
  IDEAL,
  /**
   * Separable, outputs first: each chooses an input in turn without knowing of the others, and each
   * input takes one of those that chose it in turn; turns move on only for what was taken. One
   * iteration of iSLIP (McKeown, 1999).
   */
  SEPARABLE
}
