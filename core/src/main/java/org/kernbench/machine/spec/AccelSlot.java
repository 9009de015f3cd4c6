package org.kernbench.machine.spec;

/** Whether the GEMM and the MATH engine of a PE can work at the same time. */
public enum AccelSlot {
  /** They exclude each other. */
  SHARED,
  /** They are independent. */
  SEPARATE
}
