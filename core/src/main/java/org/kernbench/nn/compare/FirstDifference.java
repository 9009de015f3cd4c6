package org.kernbench.nn.compare;

import org.kernbench.nn.autograd.Mistake;

/**
 * Where a layout first computes something else than one rank, in the order of computation, and why.
 *
 * @param tensor the value or parameter, for example {@code gradient of bridge.output}
 * @param where rank, coordinates, microbatch, sample and position
 * @param rank global number
 * @param got one element that differs most
 * @param expected the same on one rank
 * @param error distance over size, of the whole tensor on this rank
 * @param cause the mistake that explains it
 * @param evidence what was tried and agreed
 */
public record FirstDifference(
    String tensor,
    String where,
    int rank,
    double got,
    double expected,
    double error,
    Mistake cause,
    String evidence) {
  /**
   * Of ranks that should have the same bits and have not, where all are near enough to one rank.
   */
  static FirstDifference ofReplicas(String unequal) {
    return new FirstDifference(
        "final gradient of " + unequal,
        unequal,
        0,
        Double.NaN,
        Double.NaN,
        0,
        Mistake.UNKNOWN,
        "equal within the tolerance, but not to the bit; groups may have added in other orders");
  }
}
