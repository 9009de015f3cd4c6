package org.kernbench.nn.parallel;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
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
 * @param contextExchange how context-parallel ranks get at each other's keys and values
 * @param experts the groups of layers of experts; empty if there are none
 * @param keys ranks of {@code tp} that have a head of keys and values in common; empty if each has
 *     heads of its own
 */
public record ParallelLayout(
    ProcessGroup tp,
    ProcessGroup cp,
    ProcessGroup dp,
    ProcessGroup dpCp,
    boolean sequenceParallel,
    ContextExchange contextExchange,
    Optional<ExpertGroups> experts,
    Optional<ProcessGroup> keys) {
  /** How context-parallel ranks get at each other's keys and values. */
  public enum ContextExchange {
    /** All of them are gathered, then attended to; gradients are reduced and scattered. */
    ALL_GATHER,
    /**
     * Parts go round a ring, and each is attended to while the next one is under way; in the
     * backward pass they go round again with their gradients. Needs room for two parts only.
     */
    RING,
    /**
     * Ranks exchange positions for heads: each attends with some heads over the whole sequence, and
     * what comes of it goes back (Ulysses). As many heads of keys as ranks are needed, or more.
     */
    ALL_TO_ALL
  }

  /** With sequence parallelism, which a group of one does not have. */
  public ParallelLayout {
    sequenceParallel = sequenceParallel && tp.size() > 1;
  }

  /** A layout whose context-parallel ranks gather keys and values. */
  public ParallelLayout(
      ProcessGroup tp,
      ProcessGroup cp,
      ProcessGroup dp,
      ProcessGroup dpCp,
      boolean sequenceParallel) {
    this(
        tp,
        cp,
        dp,
        dpCp,
        sequenceParallel,
        ContextExchange.ALL_GATHER,
        Optional.empty(),
        Optional.empty());
  }

  /** A copy whose context-parallel ranks exchange keys and values in another way. */
  public ParallelLayout with(ContextExchange exchange) {
    return new ParallelLayout(tp, cp, dp, dpCp, sequenceParallel, exchange, experts, keys);
  }

  /** A copy whose experts are divided over groups of their own. */
  public ParallelLayout with(ExpertGroups groups) {
    return new ParallelLayout(
        tp, cp, dp, dpCp, sequenceParallel, contextExchange, Optional.of(groups), keys);
  }

  /** Whether heads can be had by all ranks alike: some each, or as many ranks for each. */
  public static boolean divides(int heads, int ranks) {
    return heads % ranks == 0 || ranks % heads == 0;
  }

  /**
   * A copy whose tensor-parallel ranks share heads of keys where there are fewer than ranks; this
   * layout if there are enough. All ranks of the world call it alike; tensor-parallel ranks must be
   * neighbours in it.
   *
   * @param heads of keys and values, which divide the ranks
   */
  public ParallelLayout sharingKeys(Distributed distributed, int heads) {
    int ranks = tp.size();
    if (ranks <= heads) {
      return this;
    }
    if (ranks % heads != 0 || tp.globalRank(ranks - 1) - tp.globalRank(0) != ranks - 1) {
      throw LayoutException.argument(
          "%s heads of keys over the ranks %s to %s; expected neighbours, as many for each head"
              .formatted(heads, tp.globalRank(0), tp.globalRank(ranks - 1)));
    }
    int each = ranks / heads;
    List<List<Integer>> groups =
        IntStream.range(0, distributed.getWorldSize() / each)
            .mapToObj(g -> IntStream.range(g * each, (g + 1) * each).boxed().toList())
            .toList();
    ProcessGroup own = distributed.newSubgroupsByEnumeration(groups, "keys").own();
    return new ParallelLayout(
        tp, cp, dp, dpCp, sequenceParallel, contextExchange, experts, Optional.of(own));
  }

  /**
   * Makes the groups of a layout over all ranks, in order {@code tp-cp-dp}: tensor-parallel ranks
   * are neighbours. All ranks call it alike.
   *
   * @throws IllegalStateException if the sizes do not multiply to the number of ranks
   */
  public static ParallelLayout create(
      Distributed distributed, int tp, int cp, int dp, boolean sequenceParallel) {
    return of(grid(distributed, tp, cp, dp), sequenceParallel);
  }

  /** Makes the groups of a layout of a model with experts. */
  public static ParallelLayout create(
      Distributed distributed,
      int tp,
      int cp,
      int dp,
      boolean sequenceParallel,
      ExpertGroups.Sizes experts) {
    experts.check(tp, cp, dp);
    HyperCommGrid grid = grid(distributed, tp, cp, dp);
    return of(grid, sequenceParallel).with(ExpertGroups.of(grid, experts));
  }

  private static HyperCommGrid grid(Distributed distributed, int tp, int cp, int dp) {
    RankGenerator ranks = new RankGenerator(List.of(Dim.TP, Dim.CP, Dim.DP), tp, cp, dp);
    if (ranks.worldSize() != distributed.getWorldSize()) {
      throw new IllegalStateException(
          "layout tp %s x cp %s x dp %s needs %s ranks, there are %s"
              .formatted(tp, cp, dp, ranks.worldSize(), distributed.getWorldSize()));
    }
    return new HyperCommGrid(distributed, ranks.grid());
  }

  /**
   * Makes the groups of a grid with dimensions {@code tp} and {@code dp}, and perhaps {@code cp},
   * which it must not have made before. All ranks of the world call it alike; those outside of the
   * grid get groups that they are no members of.
   */
  public static ParallelLayout of(HyperCommGrid grid, boolean sequenceParallel) {
    boolean hasCp = grid.ranks().has(Dim.CP);
    ProcessGroup dp = grid.create(Dim.DP);
    return new ParallelLayout(
        grid.create(Dim.TP),
        hasCp ? grid.create(Dim.CP) : alone(grid),
        dp,
        hasCp ? grid.create(Dim.DP, Dim.CP) : dp,
        sequenceParallel);
  }

  private static ProcessGroup alone(HyperCommGrid grid) {
    RankGrid ranks = grid.ranks();
    List<List<Integer>> each =
        IntStream.range(ranks.offset(), ranks.offset() + ranks.size()).mapToObj(List::of).toList();
    return grid.distributed().newSubgroupsByEnumeration(each, Dim.CP.token()).own();
  }
}
