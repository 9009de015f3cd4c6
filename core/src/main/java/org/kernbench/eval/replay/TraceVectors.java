package org.kernbench.eval.replay;

import org.kernbench.chakra.CollectiveType;
import org.kernbench.chakra.NodeType;
import org.kernbench.chakra.TraceStep;
import org.kernbench.config.UsageException;
import org.kernbench.tensor.DType;

/**
 * The vectors of collectives and messages, from the bytes that a trace says.
 *
 * @param dtype of the elements
 * @param sizeIsOutput whether the bytes of an all-gather, a scatter or a reduce-scatter are those
 *     that a rank gets, not those that it gives
 */
record TraceVectors(DType dtype, boolean sizeIsOutput) {
  int elementBytes() {
    return dtype.sizeBytes();
  }

  /** Whether ranks only wait for each other. */
  static boolean isEmpty(TraceStep step) {
    return step.type() == NodeType.COMM_COLL
        && (step.node().comm().collective() == CollectiveType.BARRIER || step.bytes() == 0);
  }

  /** Whether all vectors have as many elements as the trace says bytes. */
  boolean isExact(TraceStep step) {
    return isEmpty(step) || wholeElements(step) * elementBytes() == wholeBytes(step);
  }

  /** Elements of the whole vector, for which parts of all ranks are alike; at least one. */
  long wholeElements(TraceStep step) {
    long n = step.ranks().size();
    long elements = Math.max(1, Math.ceilDiv(wholeBytes(step), elementBytes()));
    boolean hasParts =
        step.type() == NodeType.COMM_COLL && hasParts(step.node().comm().collective());
    long whole = hasParts ? Math.ceilDiv(elements, n) * n : elements;
    if (whole > Integer.MAX_VALUE) {
      throw new UsageException(
          "%s: %s elements of %s; expected at most %s"
              .formatted(step, whole, dtype, Integer.MAX_VALUE));
    }
    return whole;
  }

  private static boolean hasParts(CollectiveType type) {
    return switch (type) {
      case ALL_GATHER, GATHER, SCATTER, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, ALL_TO_ALL -> true;
      case ALL_REDUCE, REDUCE, BROADCAST, BARRIER -> false;
    };
  }

  private long wholeBytes(TraceStep step) {
    if (step.type() != NodeType.COMM_COLL) {
      return step.bytes();
    }
    boolean isPart =
        switch (step.node().comm().collective()) {
          case ALL_GATHER, GATHER -> !sizeIsOutput;
          case SCATTER, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK -> sizeIsOutput;
          case ALL_REDUCE, REDUCE, BROADCAST, BARRIER, ALL_TO_ALL -> false;
        };
    return isPart ? Math.multiplyExact(step.bytes(), (long) step.ranks().size()) : step.bytes();
  }
}
