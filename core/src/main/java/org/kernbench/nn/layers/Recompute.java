package org.kernbench.nn.layers;

import java.util.Locale;

/** Which activations of a block are not kept for the backward pass, but made again in it. */
public enum Recompute {
  /** All are kept. */
  NONE,
  /** Those of the attention part: norm, projections, attention. Only its input is kept. */
  ATTENTION,
  /** All but the block's input. */
  FULL;

  /** As users write it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
