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
 * @param splits parts of the vector, its chunks
 * @param activeChunks chunks under way along one dimension at a time, in the order in which they
 *     come to it; 0 if each goes through all dimensions before the next begins
 * @param endpointDelayPs what a rank waits before its first message of a dimension, and after each
 *     one that it gets
 * @param memoryRate at which a rank reads both operands of a reduction and writes the result,
 *     beside the machine's own addition; empty for no such cost
 * @param wholeNs whether each of these three accesses takes whole nanoseconds, the rest dropped
 * @param ends how ends of messages are counted where there is a choice
 */
public record DimensionSteps(
    List<Step> along,
    boolean whole,
    int splits,
    int activeChunks,
    long endpointDelayPs,
    Optional<Rate> memoryRate,
    boolean wholeNs,
    Ends ends) {
  /** Round each dimension, whole vectors at once, nothing to pay. */
  public static final DimensionSteps PLAIN =
      new DimensionSteps(List.of(Step.RING), false, 1, 0, 0, Optional.empty(), false, Ends.USUAL);

  private static final long PS_PER_NS = 1000;

  /** How messages go along a dimension. */
  public enum Step {
    /** To the next, one segment of the vector at a time. */
    RING,
    /** To all others at once. */
    DIRECT,
    /** Halves to the one whose place differs in one bit, bit by bit. */
    HALVING_DOUBLING,
    /** Whole vectors up a binary tree and down, chunks by turns in one of two trees. */
    DOUBLE_BINARY_TREE
  }

  /** How ends of messages are counted. */
  public enum Ends {
    /**
     * A reduction is charged with the bytes that have come; what comes together ends together, when
     * the last is there.
     */
    USUAL,
    /**
     * As ASTRA-sim does: a reduction in halves is charged with the bytes of the message that
     * follows, the last with nothing; in a direct all-reduce each message has its own end, and when
     * all are there each end lets one message out.
     */
    ASTRA
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
