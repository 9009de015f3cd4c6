package org.kernbench.nn.bridge;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.kernbench.nn.autograd.BridgeFault;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * Who does what in a {@link ColocatedBridgeCommunicator}: two modules lie on the same ranks,
 * divided differently, and what the source computes for its replicas' samples is dealt out to the
 * replicas of the destination. Known before anything runs.
 *
 * <ul>
 *   <li><b>fan-in</b>: the source has more replicas, {@code scale} for each of the destination.
 *       Their outputs are gathered; the gradient is cut.
 *   <li><b>fan-out</b>: the destination has more. The output is cut, gradients are gathered.
 *   <li><b>equal</b>: nothing moves.
 * </ul>
 *
 * <p>A rank's <em>slot</em> is which of the {@code scale} slices of the larger batch is its own.
 * Source: {@code docs/spec/megatron.md} 4.
 */
public final class BridgePlan {
  private static final Set<String> KNOWN =
      Stream.of(Dim.TP, Dim.CP, Dim.PP, Dim.DP).map(Dim::token).collect(Collectors.toSet());

  private final RankGrid src;
  private final RankGrid dest;
  private final BridgeOptions options;
  private final BridgeFault fault;
  private final Direction direction;
  private final int scale;
  private final List<List<Integer>> gatherGroups;
  private final int[] groupOf;

  /** Which side has more replicas. */
  public enum Direction {
    /** The source. */
    FAN_IN,
    /** The destination. */
    FAN_OUT,
    /** None. */
    EQUAL;

    /** For example {@code fan-in}. */
    @Override
    public String toString() {
      return switch (this) {
        case FAN_IN -> "fan-in";
        case FAN_OUT -> "fan-out";
        case EQUAL -> "equal";
      };
    }
  }

  /** Where a rank is in a module's layout. */
  public record Position(int dp, int tp, int cp) {}

  /**
   * The part of a batch that is a rank's own.
   *
   * @param start its first sample
   * @param size number of samples
   */
  public record SliceInfo(int start, int size) {}

  /** In which pass something moves. */
  public enum Pass {
    /** Activations. */
    FORWARD,
    /** Gradients. */
    BACKWARD
  }

  /**
   * A collective that every rank of the span takes part in, each in its group.
   *
   * @param groups who with whom
   * @param bytes of each rank's tensor before it
   */
  public record Move(Pass pass, CollectiveOp op, List<List<Integer>> groups, long bytes) {
    /** Members of each group. */
    public int ranks() {
      return groups.getFirst().size();
    }

    /**
     * What all ranks send together at least, by the ring count: an all-gather sends each rank's
     * bytes to all others, an all-reduce twice that share of one tensor.
     */
    public long sentBytes() {
      long g = ranks();
      long perGroup = op == CollectiveOp.ALL_REDUCE ? 2 * (g - 1) * bytes : (g - 1) * g * bytes;
      return groups.size() * perGroup;
    }
  }

  /**
   * Plans a bridge.
   *
   * @throws LayoutException if there can be no bridge between these layouts; the first rule that
   *     fails is told, in the order of {@code docs/spec/megatron.md} 4.2
   */
  public BridgePlan(RankGrid src, RankGrid dest, BridgeOptions options) {
    this(src, dest, options, BridgeFault.NONE);
  }

  BridgePlan(RankGrid src, RankGrid dest, BridgeOptions options, BridgeFault fault) {
    this.src = src;
    this.dest = dest;
    this.options = options;
    this.fault = fault;
    checkLayouts();
    int srcDp = src.size(Dim.DP);
    int destDp = dest.size(Dim.DP);
    this.direction =
        srcDp > destDp ? Direction.FAN_IN : destDp > srcDp ? Direction.FAN_OUT : Direction.EQUAL;
    this.scale = Math.max(srcDp, destDp) / Math.min(srcDp, destDp);
    checkNesting();
    this.gatherGroups = groups();
    this.groupOf = partition();
  }

  // ---- rules ----

  private LayoutException wrong(String problem) {
    return LayoutException.argument(
        "bridge " + options.source() + " -> " + options.dest() + ": " + problem);
  }

  private String side(boolean isSource) {
    return isSource
        ? "source " + options.source() + " (" + src + ")"
        : "destination " + options.dest() + " (" + dest + ")";
  }

  private void checkLayouts() {
    checkHas(true, src);
    checkHas(false, dest);
    if (src.size() != dest.size()) {
      throw wrong(
          """
          %s has %s ranks, %s has %s; expected as many: both modules lie on the same ranks\
          """
              .formatted(side(true), src.size(), side(false), dest.size()));
    }
    if (src.offset() != dest.offset()) {
      throw wrong(
          """
          %s starts at rank %s, %s at rank %s; expected the same: both modules lie on the \
          same ranks\
          """
              .formatted(side(true), src.offset(), side(false), dest.offset()));
    }
    checkNoPipeline(true, src);
    checkNoPipeline(false, dest);
    if (src.size(Dim.CP) > 1 && !options.sourceContextParallel()) {
      throw wrong(
          """
          %s has cp %s; expected 1, or the option sourceContextParallel (--source-cp) if \
          its ranks hold parts of the sequence\
          """
              .formatted(side(true), src.size(Dim.CP)));
    }
    checkContextBeforeData(true, src);
    checkContextBeforeData(false, dest);
    int a = src.size(Dim.DP);
    int b = dest.size(Dim.DP);
    if (a % b != 0 && b % a != 0) {
      throw wrong(
          "dp is %s in %s and %s in %s; expected that one divides the other"
              .formatted(a, side(true), b, side(false)));
    }
    checkNoOthers(true, src);
    checkNoOthers(false, dest);
  }

  private void checkHas(boolean isSource, RankGrid grid) {
    for (Dim dim : List.of(Dim.TP, Dim.DP)) {
      if (!grid.has(dim)) {
        throw wrong(
            """
            %s has no dimension %s; its dimensions are %s; list it, with size 1 if it \
            divides nothing\
            """
                .formatted(side(isSource), dim, grid.names()));
      }
    }
  }

  private void checkNoPipeline(boolean isSource, RankGrid grid) {
    if (grid.size(Dim.PP) > 1) {
      throw wrong(
          """
          %s has pp %s; expected 1: colocated modules have no pipeline, modules on ranks of \
          their own (another offset) may have one\
          """
              .formatted(side(isSource), grid.size(Dim.PP)));
    }
  }

  private void checkContextBeforeData(boolean isSource, RankGrid grid) {
    boolean applies = !isSource || options.sourceContextParallel();
    if (applies
        && grid.has(Dim.CP)
        && grid.names().indexOf(Dim.CP.token()) > grid.names().indexOf(Dim.DP.token())) {
      throw wrong(
          """
          %s lists cp after dp; expected cp before dp in %s, so that ranks of one replica \
          are neighbours\
          """
              .formatted(side(isSource), grid.names()));
    }
  }

  private void checkNoOthers(boolean isSource, RankGrid grid) {
    for (String dim : grid.names()) {
      if (!KNOWN.contains(dim) && grid.size(dim) > 1) {
        throw wrong(
            "%s has %s %s; expected 1: ranks are told apart by tp, cp and dp only"
                .formatted(side(isSource), dim, grid.size(dim)));
      }
    }
  }

  private void checkNesting() {
    for (int rank = src.offset(); rank < src.offset() + src.size(); rank++) {
      int s = src.coordinate(rank, Dim.DP);
      int d = dest.coordinate(rank, Dim.DP);
      int coarse = direction == Direction.FAN_OUT ? s : d;
      int fine = direction == Direction.FAN_OUT ? d : s;
      if (fine / scale != coarse) {
        throw wrong(
            """
            rank %s is in replica %s of %s and in replica %s of %s, which do not share \
            samples; list dp last on both sides\
            """
                .formatted(rank, s, side(true), d, side(false)));
      }
    }
  }

  // ---- groups ----

  private List<List<Integer>> groups() {
    if (direction == Direction.EQUAL) {
      return List.of();
    }
    RankGrid grid = direction == Direction.FAN_IN ? src : dest;
    Map<Position, Integer> ranks = new LinkedHashMap<>();
    for (int rank = grid.offset(); rank < grid.offset() + grid.size(); rank++) {
      ranks.put(position(grid, rank), rank);
    }
    int context = fault == BridgeFault.POOLED_GROUPS ? 1 : grid.size(Dim.CP);
    List<List<Integer>> groups = new ArrayList<>();
    for (int coarse = 0; coarse < grid.size(Dim.DP) / scale; coarse++) {
      for (int t = 0; t < grid.size(Dim.TP); t++) {
        for (int c = 0; c < context; c++) {
          List<Integer> group = new ArrayList<>();
          for (int slot = 0; slot < scale; slot++) {
            group.add(ranks.get(new Position(coarse * scale + slot, t, c)));
          }
          groups.add(List.copyOf(group));
        }
      }
    }
    return List.copyOf(groups);
  }

  /** Members ascend, for a process group sorts them; and every rank of the span is in one group. */
  private int[] partition() {
    int[] found = new int[src.size()];
    java.util.Arrays.fill(found, -1);
    for (int i = 0; i < gatherGroups.size(); i++) {
      int before = -1;
      for (int rank : gatherGroups.get(i)) {
        if (rank <= before || found[rank - src.offset()] >= 0) {
          throw wrong("gather group " + gatherGroups.get(i) + " does not ascend, or shares a rank");
        }
        before = rank;
        found[rank - src.offset()] = i;
      }
    }
    for (int i = 0; i < found.length && direction != Direction.EQUAL; i++) {
      if (found[i] < 0) {
        throw wrong(
            "rank %s is in none of the gather groups %s; expected every rank in one"
                .formatted(src.offset() + i, gatherGroups));
      }
    }
    return found;
  }

  private static Position position(RankGrid grid, int rank) {
    return new Position(
        grid.coordinate(rank, Dim.DP),
        grid.coordinate(rank, Dim.TP),
        grid.coordinate(rank, Dim.CP));
  }

  // ---- what it is ----

  /** The layout of the module that gives. */
  public RankGrid source() {
    return src;
  }

  /** The layout of the module that takes. */
  public RankGrid dest() {
    return dest;
  }

  /** How it is to be understood. */
  public BridgeOptions options() {
    return options;
  }

  /** Which side has more replicas. */
  public Direction direction() {
    return direction;
  }

  /** How many times as many. */
  public int scale() {
    return scale;
  }

  /** Where a rank is in the source ({@code rank_to_src_pos}). */
  public Position sourcePosition(int rank) {
    return position(src, rank);
  }

  /** Where a rank is in the destination ({@code rank_to_dest_coords}). */
  public Position destPosition(int rank) {
    return position(dest, rank);
  }

  /**
   * The ranks with context-parallel number 0 in the destination, one for each replica and
   * tensor-parallel number ({@code rank_to_dest_pos}). For display: whatever is computed for a rank
   * needs {@link #destPosition}.
   */
  public Map<Integer, Position> canonicalDestPositions() {
    Map<Integer, Position> canonical = new LinkedHashMap<>();
    for (int rank = dest.offset(); rank < dest.offset() + dest.size(); rank++) {
      Position p = destPosition(rank);
      if (p.cp() == 0) {
        canonical.put(rank, p);
      }
    }
    return canonical;
  }

  /**
   * Who gathers with whom: in a fan-in in the forward pass, in a fan-out in the backward pass. By
   * replica of the coarser side, then tensor-parallel, then context-parallel number; members
   * ascend. Empty where nothing is gathered.
   */
  public List<List<Integer>> gatherGroups() {
    return gatherGroups;
  }

  /**
   * The gather group of a rank; empty where nothing is gathered.
   *
   * @throws LayoutException if the rank is in neither layout
   */
  public Optional<List<Integer>> gatherGroup(int rank) {
    src.checkContains(rank);
    int group = groupOf[rank - src.offset()];
    return group < 0 ? Optional.empty() : Optional.of(gatherGroups.get(group));
  }

  /** Who sums gradients over the destination's context; empty if that is not divided. */
  public List<List<Integer>> contextGroups() {
    return dest.size(Dim.CP) > 1 ? dest.enumerate(Dim.CP) : List.of();
  }

  /** Who puts the source's sequence together; empty if that is not divided. */
  public List<List<Integer>> sourceContextGroups() {
    return src.size(Dim.CP) > 1 ? src.enumerate(Dim.CP) : List.of();
  }

  /** Which slice of the larger batch is the rank's own, 0 to {@link #scale} less one. */
  public int slot(int rank) {
    int slot =
        switch (direction) {
          case EQUAL -> 0;
          case FAN_IN -> sourcePosition(rank).dp() % scale;
          case FAN_OUT -> destPosition(rank).dp() % scale;
        };
    return fault == BridgeFault.SWAP_SLOTS ? scale - 1 - slot : slot;
  }

  /**
   * The samples of the larger batch that are the rank's own ({@code get_slice_info}): in a fan-out
   * those that its part of the destination takes, in a fan-in those that its part of the source has
   * computed.
   *
   * @param batch samples of the larger batch
   * @throws LayoutException if it cannot be divided by {@link #scale}
   */
  public SliceInfo slice(int rank, int batch) {
    if (batch % scale != 0) {
      throw wrong(
          """
          %s with scale %s: a batch of %s cannot be divided; expected a multiple of %s\
          """
              .formatted(direction, scale, batch, scale));
    }
    boolean isMissing =
        fault == BridgeFault.CANONICAL_SLICES
            && direction == Direction.FAN_OUT
            && destPosition(rank).cp() > 0;
    if (isMissing) {
      return new SliceInfo(0, batch);
    }
    int size = batch / scale;
    return new SliceInfo(slot(rank) * size, size);
  }

  // ---- what moves ----

  /**
   * The collectives of both passes, in their order. What else happens is copies on the own device.
   *
   * @param sourceBytes of each rank's tensor when it comes from the source; all have as many
   */
  public List<Move> moves(long sourceBytes) {
    List<Move> moves = new ArrayList<>();
    long whole = sourceBytes * src.size(Dim.CP);
    if (src.size(Dim.CP) > 1) {
      moves.add(
          new Move(Pass.FORWARD, CollectiveOp.ALL_GATHER, sourceContextGroups(), sourceBytes));
    }
    if (direction == Direction.FAN_IN) {
      moves.add(new Move(Pass.FORWARD, CollectiveOp.ALL_GATHER, gatherGroups, whole));
    }
    long taken = destBytes(sourceBytes);
    if (dest.size(Dim.CP) > 1) {
      moves.add(new Move(Pass.BACKWARD, CollectiveOp.ALL_REDUCE, contextGroups(), taken));
    }
    if (direction == Direction.FAN_OUT) {
      moves.add(new Move(Pass.BACKWARD, CollectiveOp.ALL_GATHER, gatherGroups, taken));
    }
    return moves;
  }

  /** Bytes of each rank's tensor when it reaches the destination. */
  public long destBytes(long sourceBytes) {
    long whole = sourceBytes * src.size(Dim.CP);
    return switch (direction) {
      case EQUAL -> whole;
      case FAN_IN -> whole * scale;
      case FAN_OUT -> whole / scale;
    };
  }

  /** For example {@code fan-in 4: encoder tp=1,dp=8 -> language tp=2,cp=2,dp=2}. */
  @Override
  public String toString() {
    return "%s %s: %s %s -> %s %s"
        .formatted(direction, scale, options.source(), src, options.dest(), dest);
  }
}
