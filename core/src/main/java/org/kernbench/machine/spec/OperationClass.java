package org.kernbench.machine.spec;

import java.util.Locale;

/** Kinds of operations that the libraries of a machine start in ways of their own. */
public enum OperationClass {
  /** Products of matrices. */
  MATMUL,
  /** Softmax of rows. */
  SOFTMAX,
  /** Normalisation of rows. */
  LAYERNORM,
  /** Functions of one element at a time. */
  ELEMENTWISE,
  /** Exchanges among ranks. */
  COLLECTIVE,
  /** All others. */
  OTHER;

  /** As machines write it. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
