package org.kernbench.nn.pipeline;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.RankGenerator;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.ProcessGroup;

/**
 * The groups of one rank in a model that is cut into stages: those within a stage, and those along
 * the pipeline. Ranks are numbered {@code tp-cp-dp-pp}, so the ranks of a stage are neighbours.
 */
public final class PipelineLayout {
  private final ParallelLayout stage;
  private final ProcessGroup pp;
  private final List<Optional<ProcessGroup>> hops;
  private final Optional<ProcessGroup> embedding;
  private final Optional<ProcessGroup> mirror;

  private PipelineLayout(
      ParallelLayout stage,
      ProcessGroup pp,
      List<Optional<ProcessGroup>> hops,
      Optional<ProcessGroup> embedding,
      Optional<ProcessGroup> mirror) {
    this.stage = stage;
    this.pp = pp;
    this.hops = List.copyOf(hops);
    this.embedding = embedding;
    this.mirror = mirror;
  }

  /**
   * Makes the groups over all ranks. All ranks call it alike.
   *
   * @param schedule whose ranks are those of the pipeline
   * @param sequenceParallel as in {@link ParallelLayout}
   * @throws LayoutException if the sizes do not multiply to the number of ranks
   */
  public static PipelineLayout create(
      Distributed distributed,
      int tp,
      int cp,
      int dp,
      PipelineSchedule schedule,
      boolean sequenceParallel) {
    return create(distributed, tp, cp, dp, schedule, sequenceParallel, Optional.empty());
  }

  /** Makes the groups of a model with experts, if it has some. */
  public static PipelineLayout create(
      Distributed distributed,
      int tp,
      int cp,
      int dp,
      PipelineSchedule schedule,
      boolean sequenceParallel,
      Optional<ExpertGroups.Sizes> experts) {
    experts.ifPresent(sizes -> sizes.check(tp, cp, dp));
    int p = schedule.ranks();
    RankGenerator ranks = new RankGenerator(List.of(Dim.TP, Dim.CP, Dim.DP, Dim.PP), tp, cp, dp, p);
    if (ranks.worldSize() != distributed.getWorldSize()) {
      throw LayoutException.state(
          "layout tp %s x cp %s x dp %s x pp %s needs %s ranks, there are %s"
              .formatted(tp, cp, dp, p, ranks.worldSize(), distributed.getWorldSize()));
    }
    HyperCommGrid grid = new HyperCommGrid(distributed, ranks.grid());
    ParallelLayout dense = ParallelLayout.of(grid, sequenceParallel);
    ParallelLayout stage =
        experts.map(sizes -> dense.with(ExpertGroups.of(grid, sizes))).orElse(dense);
    ProcessGroup pp = grid.create(Dim.PP);
    List<List<Integer>> pipelines = ranks.groups(Dim.PP);
    List<Optional<ProcessGroup>> hops = new ArrayList<>();
    for (int s = 0; s + 1 < schedule.stages(); s++) {
      int from = schedule.rankOf(s);
      int to = schedule.rankOf(s + 1);
      boolean moves = !schedule.isLast(s) && from != to;
      Optional<ProcessGroup> pair =
          moves ? pairs(distributed, pipelines, from, to) : Optional.empty();
      hops.add(pair.map(ProcessGroup::withMessagesApart));
    }
    int first = schedule.rankOf(0);
    int last = schedule.rankOf(schedule.depth() - 1);
    Optional<ProcessGroup> embedding =
        schedule.chains() == 1 && first != last
            ? pairs(distributed, pipelines, first, last)
            : Optional.empty();
    Optional<ProcessGroup> mirror =
        schedule.chains() == 1 ? Optional.empty() : mirrors(distributed, pipelines, p);
    return new PipelineLayout(stage, pp, hops, embedding, mirror);
  }

  /** Two ranks of each pipeline; empty for a rank that is neither of them. */
  private static Optional<ProcessGroup> pairs(
      Distributed distributed, List<List<Integer>> pipelines, int a, int b) {
    List<List<Integer>> pairs =
        pipelines.stream().map(line -> List.of(line.get(a), line.get(b))).toList();
    ProcessGroup own = distributed.newSubgroupsByEnumeration(pairs, "stages").own();
    return own.isMember() ? Optional.of(own) : Optional.empty();
  }

  /** Ranks that have the same parts of the model in the two directions. */
  private static Optional<ProcessGroup> mirrors(
      Distributed distributed, List<List<Integer>> pipelines, int p) {
    List<List<Integer>> pairs = new ArrayList<>();
    for (List<Integer> line : pipelines) {
      for (int r = 0; r < p / 2; r++) {
        pairs.add(List.of(line.get(r), line.get(p - 1 - r)));
      }
    }
    return Optional.of(distributed.newSubgroupsByEnumeration(pairs, "mirror").own());
  }

  /** The groups within a stage. */
  public ParallelLayout stage() {
    return stage;
  }

  /** A copy with other groups within a stage, for example another exchange of keys and values. */
  public PipelineLayout with(ParallelLayout other) {
    return new PipelineLayout(other, pp, hops, embedding, mirror);
  }

  /** The ranks of this rank's pipeline, in order. */
  public ProcessGroup pp() {
    return pp;
  }

  /** The two ranks between which a stage's output and its gradient go; empty if not this rank. */
  Optional<ProcessGroup> hop(int stage) {
    return stage < 0 || stage >= hops.size() ? Optional.empty() : hops.get(stage);
  }

  /** The ranks with the first and the last stage, for one of them; else empty. */
  public Optional<ProcessGroup> embedding() {
    return embedding;
  }

  /** The two ranks that have the same parts of the model, where it is there twice. */
  public Optional<ProcessGroup> mirror() {
    return mirror;
  }
}
