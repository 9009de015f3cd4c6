package org.kernbench.machine.spec;

/** Classes of element-wise functions that run slower than one vector per cycle. */
public enum MathRate {
  /** Division and remainder. */
  DIVIDE,
  /** Square root and its reciprocal. */
  SQUARE_ROOT,
  /** exp, log, tanh, erf and what is built on them. */
  TRANSCENDENTAL
}
