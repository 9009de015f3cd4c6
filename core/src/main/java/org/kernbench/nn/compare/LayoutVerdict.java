package org.kernbench.nn.compare;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * What comparing a layout with one rank gave.
 *
 * @param tensors gradients that were compared, each rank's counted
 * @param worstError the largest relative error of one of them
 * @param worstTensor which
 * @param ratios by module, the norm of its gradients over that on one rank
 * @param unequal gradients that differ in a bit between ranks that should have the same
 * @param stepsError the largest relative distance of a parameter after the last step, both from one
 *     rank; empty if there were no steps
 * @param first where it goes wrong first; empty if nothing is wrong
 */
public record LayoutVerdict(
    int tensors,
    double worstError,
    String worstTensor,
    Map<String, Double> ratios,
    List<String> unequal,
    OptionalDouble stepsError,
    Optional<FirstDifference> first) {
  /** Relative error of a tensor up to which it is equal. */
  public static final double TOLERANCE = 1e-10;

  /** How far a ratio of norms may be from 1. */
  public static final double RATIO_TOLERANCE = 1e-9;

  /**
   * Relative distance of a parameter after training up to which it is equal. AdamW divides by the
   * size of a gradient and 1e-8, so it magnifies the rounding of gradients that are nearly zero.
   */
  public static final double STEPS_TOLERANCE = 1e-9;

  /** Whether the layout computes what one rank does. */
  public boolean isEqual() {
    return first.isEmpty();
  }
}
