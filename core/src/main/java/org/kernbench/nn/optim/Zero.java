package org.kernbench.nn.optim;

/**
 * What data- and context-parallel ranks divide instead of each keeping all of it (ZeRO, Rajbhandari
 * et al. 2020): each stage what the one before does, and more.
 */
public enum Zero {
  /** Nothing. */
  NONE,
  /** Master copies and states of the optimizer. */
  OPTIMIZER,
  /** Gradients, too: their sums are scattered as they come, and the whole ones freed. */
  GRADIENTS,
  /** Parameters, too: gathered before they are used and freed afterwards (FSDP). */
  PARAMETERS;

  /** Whether what this stage adds is divided in another. */
  boolean isPartOf(Zero other) {
    return other.compareTo(this) >= 0;
  }
}
