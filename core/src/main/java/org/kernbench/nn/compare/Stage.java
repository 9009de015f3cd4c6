package org.kernbench.nn.compare;

import org.jspecify.annotations.Nullable;
import org.kernbench.nn.multimodal.NamedValues;
import org.kernbench.nn.parallel.ModuleRole;

/**
 * One tensor of a step on all ranks, beside what one rank computes for it.
 *
 * @param kind when it is computed
 * @param name of the place or parameter
 * @param module whose grid numbers the ranks
 * @param microbatch it belongs to; -1 for gradients of parameters
 * @param got by rank
 * @param expected by rank, as many elements unless something is wrong
 * @param floor what sizes are measured by at least
 * @param rows by rank, samples and positions of the rows; null for gradients of parameters
 */
record Stage(
    Kind kind,
    String name,
    ModuleRole module,
    int microbatch,
    double[][] got,
    double[][] expected,
    double floor,
    NamedValues.Rows @Nullable [] rows) {
  /** In the order of computation. */
  enum Kind {
    /** Values of the forward pass. */
    FORWARD(""),
    /** Their gradients. */
    BACKWARD("gradient of "),
    /** Gradients of parameters, added up over all ranks by the comparison itself. */
    OWN("sum of the ranks' own gradients of "),
    /** Gradients of parameters as the optimizer gets them. */
    FINISHED("final gradient of ");

    private final String prefix;

    Kind(String prefix) {
      this.prefix = prefix;
    }
  }

  String tensor() {
    return kind.prefix + name;
  }

  int ranks() {
    return got.length;
  }

  /** Relative error on a rank; infinite if there are not as many elements. */
  double error(int rank) {
    return got[rank].length != expected[rank].length
        ? Double.POSITIVE_INFINITY
        : Vectors.error(got[rank], expected[rank], floor);
  }

  boolean isWrong(int rank) {
    return !(error(rank) <= LayoutVerdict.TOLERANCE);
  }

  /** Elements of a row. */
  int columns(int rank) {
    return rows == null || rows[rank].count() == 0 ? 1 : expected[rank].length / rows[rank].count();
  }
}
