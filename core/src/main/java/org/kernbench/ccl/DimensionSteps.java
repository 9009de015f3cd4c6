package org.kernbench.ccl;

import java.util.List;
import java.util.Optional;
import org.kernbench.sim.Rate;

/**
 * How an algorithm goes that takes one dimension after the other, and what its ranks pay at their
 * ends of messages beside what the machine charges.
 *
 * @param along how it goes along each dimension, innermost first; one for all if it is alone
 * @param whole whether an all-reduce reduces and gathers the whole vector along each dimension; if
 *     not it scatters along all but the last, and gathers back
 * @param splits parts of the vector, each through all dimensions before the next begins
 * @param endpointDelayPs what a rank waits before its first message of a dimension, and after each
 *     one that it gets
 * @param memoryRate at which a rank reads both operands of a reduction and writes the result,
 *     beside the machine's own addition; empty for no such cost
 * @param wholeNs whether each of these three accesses takes whole nanoseconds, the rest dropped
 */
public record DimensionSteps(
    List<Step> along,
    boolean whole,
    int splits,
    long endpointDelayPs,
    Optional<Rate> memoryRate,
    boolean wholeNs) {
  /** Round each dimension, whole vectors at once, nothing to pay. */
  public static final DimensionSteps PLAIN =
      new DimensionSteps(List.of(Step.RING), false, 1, 0, Optional.empty(), false);

  private static final long PS_PER_NS = 1000;

  /** How messages go along a dimension. */
  public enum Step {
    /** To the next, one segment of the vector at a time. */
    RING,
    /** To all others at once. */
    DIRECT,
    /** Halves to the one whose place differs in one bit, bit by bit. */
    HALVING_DOUBLING
  }

  /** Copies the list. */
  public DimensionSteps {
    along = List.copyOf(along);
  }

  /** What a rank waits after a message that it adds to its own, ps. */
  public long reductionPs(long bytes) {
    if (memoryRate.isEmpty()) {
      return 0;
    }
    long access = memoryRate.get().durationPs(bytes);
    return 3 * (wholeNs ? access - access % PS_PER_NS : access);
  }
}
