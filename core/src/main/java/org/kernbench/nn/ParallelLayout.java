package org.kernbench.nn;

import java.util.Map;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.ProcessGroup;

/**
 * The groups of one rank in a parallel model: each rank of a group has another part of what the
 * group divides. Groups of one divide nothing.
 *
 * @param tp tensor parallel: divides weights, and with sequence parallelism rows of activations
 * @param cp context parallel: divides the sequence
 * @param dp data parallel: divides samples
 * @param dpCp both together: the ranks over which gradients of weights are summed
 * @param sequenceParallel whether activations between tensor-parallel regions are divided by rows
 *     over {@code tp}
 */
public record ParallelLayout(
    ProcessGroup tp,
    ProcessGroup cp,
    ProcessGroup dp,
    ProcessGroup dpCp,
    boolean sequenceParallel) {
  /** With sequence parallelism, which a group of one does not have. */
  public ParallelLayout {
    sequenceParallel = sequenceParallel && tp.size() > 1;
  }

  /**
   * Makes the groups of a layout over all ranks, in order {@code tp-cp-dp}: tensor-parallel ranks
   * are neighbours. All ranks call it alike.
   *
   * @throws IllegalStateException if the sizes do not multiply to the number of ranks
   */
  public static ParallelLayout create(
      Distributed distributed, int tp, int cp, int dp, boolean sequenceParallel) {
    RankGenerator ranks = new RankGenerator("tp-cp-dp", Map.of("tp", tp, "cp", cp, "dp", dp));
    if (ranks.worldSize() != distributed.getWorldSize()) {
      throw new IllegalStateException(
          "layout tp "
              + tp
              + " x cp "
              + cp
              + " x dp "
              + dp
              + " needs "
              + ranks.worldSize()
              + " ranks, there are "
              + distributed.getWorldSize());
    }
    return new ParallelLayout(
        group(distributed, ranks, "tp"),
        group(distributed, ranks, "cp"),
        group(distributed, ranks, "dp"),
        group(distributed, ranks, "dp-cp"),
        sequenceParallel);
  }

  private static ProcessGroup group(Distributed distributed, RankGenerator ranks, String token) {
    return distributed.newSubgroupsByEnumeration(ranks.groups(token)).own();
  }
}
