package org.kernbench.nn.pipeline;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.RankGenerator;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Torch;

/**
 * The groups of one rank in a model that is cut into stages: those within a stage, and those along
 * the pipeline. Ranks are numbered {@code tp-cp-dp-pp}, so the ranks of a stage are neighbours.
 */
public final class PipelineLayout {
  private final ParallelLayout stage;
  private final ProcessGroup pp;
  private final int first;
  private final List<Optional<ProcessGroup>> pairs;
  private final Map<Integer, Hop> ways;
  private final Optional<ProcessGroup> embedding;
  private final Optional<ProcessGroup> mirror;

  private PipelineLayout(
      ParallelLayout stage,
      ProcessGroup pp,
      int first,
      List<Optional<ProcessGroup>> pairs,
      Map<Integer, Hop> ways,
      Optional<ProcessGroup> embedding,
      Optional<ProcessGroup> mirror) {
    this.stage = stage;
    this.pp = pp;
    this.first = first;
    this.pairs = List.copyOf(pairs);
    this.ways = Map.copyOf(ways);
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
    List<Optional<ProcessGroup>> pairs = pairs(distributed, pipelines, schedule, 0);
    int first = schedule.rankOf(0);
    int last = schedule.rankOf(schedule.depth() - 1);
    Optional<ProcessGroup> embedding =
        schedule.chains() == 1 && first != last
            ? pairs(distributed, pipelines, first, last)
            : Optional.empty();
    Optional<ProcessGroup> mirror =
        schedule.chains() == 1 ? Optional.empty() : mirrors(distributed, pipelines, p);
    return new PipelineLayout(stage, pp, 0, pairs, Map.of(), embedding, mirror);
  }

  /**
   * Makes the groups of a module that has some neighbouring ranks of a longer pipeline, each place
   * of which is several ranks. All ranks of the world call it alike; those outside of the grid get
   * groups that they are no members of.
   *
   * @param grid dimensions {@code tp} and {@code dp}, and perhaps {@code cp} and {@code pp}
   * @param schedule of the whole pipeline
   * @param first the schedule's rank that the first stage of the module is on
   */
  public static PipelineLayout of(
      HyperCommGrid grid, PipelineSchedule schedule, int first, boolean sequenceParallel) {
    ParallelLayout stage = ParallelLayout.of(grid, sequenceParallel);
    RankGrid ranks = grid.ranks();
    List<List<Integer>> pipelines =
        ranks.has(Dim.PP)
            ? ranks.enumerate(Dim.PP)
            : IntStream.range(ranks.offset(), ranks.offset() + ranks.size())
                .mapToObj(List::of)
                .toList();
    ProcessGroup pp = grid.distributed().newSubgroupsByEnumeration(pipelines, Dim.PP.token()).own();
    List<Optional<ProcessGroup>> pairs = pairs(grid.distributed(), pipelines, schedule, first);
    return new PipelineLayout(
        stage, pp, first, pairs, Map.of(), Optional.empty(), Optional.empty());
  }

  /** By the stage before, the ranks of a stage and of the next, where both are among these. */
  private static List<Optional<ProcessGroup>> pairs(
      Distributed distributed,
      List<List<Integer>> pipelines,
      PipelineSchedule schedule,
      int first) {
    int places = pipelines.getFirst().size();
    List<Optional<ProcessGroup>> pairs = new ArrayList<>();
    for (int s = 0; s + 1 < schedule.stages(); s++) {
      int from = schedule.rankOf(s) - first;
      int to = schedule.rankOf(s + 1) - first;
      boolean isHere = Math.min(from, to) >= 0 && Math.max(from, to) < places;
      boolean moves = isHere && !schedule.isLast(s) && from != to;
      Optional<ProcessGroup> pair =
          moves ? pairs(distributed, pipelines, from, to) : Optional.empty();
      pairs.add(pair.map(ProcessGroup::withMessagesApart));
    }
    return pairs;
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
    return new PipelineLayout(other, pp, first, pairs, ways, embedding, mirror);
  }

  /** A copy with another way between a stage and the next than messages between two ranks. */
  public PipelineLayout with(int stageBefore, Hop way) {
    Map<Integer, Hop> more = new LinkedHashMap<>(ways);
    more.put(stageBefore, way);
    return new PipelineLayout(stage, pp, first, pairs, more, embedding, mirror);
  }

  /** The recipe of the rank's gradients, given that within a stage. */
  public Recipe recipe(Recipe within) {
    return new PipelineRecipe(within, pp, List.of());
  }

  /** The ranks of this rank's pipeline, in order. */
  public ProcessGroup pp() {
    return pp;
  }

  /** Which rank of the schedule this one is. */
  public int place() {
    return first + pp.rank();
  }

  /** The way from a stage to the next, one of which this rank has. */
  Hop hop(Torch torch, int stage) {
    Hop way = ways.get(stage);
    return way != null
        ? way
        : new StageMessages(
            torch,
            pairs
                .get(stage)
                .orElseThrow(
                    () -> new IllegalStateException("bug: no group after stage " + stage)));
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
