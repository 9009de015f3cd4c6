package org.kernbench.nn.bridge;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.kernbench.nn.bridge.BridgePlan.Direction;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.RankGrid;

/**
 * Who does what in a {@link BridgeCommunicator}: two modules lie on ranks of their own, each with
 * its own layout, and replicas of the one feed replicas of the other. A replica is a <em>lane</em>:
 * the ranks of its boundary stage, the last pipeline stage of the source and the first of the
 * destination, and one of them, the leader, that sends and receives for all.
 *
 * <p>The leader of a source lane is the last rank of its replica, that of a destination lane the
 * first. With {@code n} lanes on one side for each of the other, lanes are matched in blocks of
 * {@code n} that follow each other. Source: {@code docs/spec/megatron.md} 15.
 */
public final class BridgeLanes {
  private static final Set<String> KNOWN =
      Stream.of(Dim.TP, Dim.CP, Dim.PP, Dim.DP).map(Dim::token).collect(Collectors.toSet());

  private final RankGrid src;
  private final RankGrid dest;
  private final BridgeOptions options;
  private final Direction direction;
  private final int scale;
  private final List<Lane> sources;
  private final List<Lane> dests;

  /**
   * A replica's side of the bridge.
   *
   * @param leader who sends and receives
   * @param boundary the ranks that have the value, ascending; the leader is one of them
   */
  public record Lane(int leader, List<Integer> boundary) {
    /** Copies the list. */
    public Lane {
      boundary = List.copyOf(boundary);
    }
  }

  /**
   * Plans a bridge.
   *
   * @throws LayoutException if there can be no bridge: a side lacks {@code tp} or {@code dp}, the
   *     sides share ranks, the source is context parallel, a dimension that is not known is larger
   *     than 1, or neither number of replicas divides the other
   */
  public BridgeLanes(RankGrid src, RankGrid dest, BridgeOptions options) {
    this.src = src;
    this.dest = dest;
    this.options = options;
    check();
    int from = src.size(Dim.DP);
    int to = dest.size(Dim.DP);
    this.direction = from > to ? Direction.FAN_IN : to > from ? Direction.FAN_OUT : Direction.EQUAL;
    this.scale = Math.max(from, to) / Math.min(from, to);
    this.sources = lanes(src, src.size(Dim.PP) - 1, true);
    this.dests = lanes(dest, 0, false);
  }

  private LayoutException wrong(String problem) {
    return LayoutException.argument(
        "bridge " + options.source() + " -> " + options.dest() + ": " + problem);
  }

  private void check() {
    checkDimensions("source " + options.source(), src);
    checkDimensions("destination " + options.dest(), dest);
    if (!src.isApartFrom(dest)) {
      throw wrong(
          """
          source %s has ranks %s, destination %s has %s; expected none in both: modules \
          on the same ranks take the colocated bridge\
          """
              .formatted(options.source(), src.span(), options.dest(), dest.span()));
    }
    if (src.size(Dim.CP) > 1) {
      throw wrong(
          """
          source %s (%s) has cp %s; expected 1: its leader must have the whole sequence\
          """
              .formatted(options.source(), src, src.size(Dim.CP)));
    }
    int a = src.size(Dim.DP);
    int b = dest.size(Dim.DP);
    if (a % b != 0 && b % a != 0) {
      throw wrong("dp is " + a + " and " + b + "; expected that one divides the other");
    }
  }

  private void checkDimensions(String side, RankGrid grid) {
    for (Dim dim : List.of(Dim.TP, Dim.DP)) {
      if (!grid.has(dim)) {
        throw wrong(
            """
            %s (%s) has no dimension %s; its dimensions are %s; list it, with size 1 if it \
            divides nothing\
            """
                .formatted(side, grid, dim, grid.names()));
      }
    }
    for (String dim : grid.names()) {
      if (!KNOWN.contains(dim) && grid.size(dim) > 1) {
        throw wrong(side + " (" + grid + ") has " + dim + " " + grid.size(dim) + "; expected 1");
      }
    }
  }

  private static List<Lane> lanes(RankGrid grid, int stage, boolean isSource) {
    List<Lane> lanes = new ArrayList<>();
    for (int d = 0; d < grid.size(Dim.DP); d++) {
      List<Integer> boundary = new ArrayList<>();
      for (int rank = grid.offset(); rank < grid.offset() + grid.size(); rank++) {
        if (grid.coordinate(rank, Dim.DP) == d && grid.coordinate(rank, Dim.PP) == stage) {
          boundary.add(rank);
        }
      }
      lanes.add(new Lane(isSource ? boundary.getLast() : boundary.getFirst(), boundary));
    }
    return List.copyOf(lanes);
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

  /** By replica, the source's lanes. */
  public List<Lane> sourceLanes() {
    return sources;
  }

  /** By replica, the destination's lanes. */
  public List<Lane> destLanes() {
    return dests;
  }

  /** The lane that a rank of a boundary stage is in; -1 if it is in none of that side. */
  static int laneOf(List<Lane> lanes, int rank) {
    for (int i = 0; i < lanes.size(); i++) {
      if (lanes.get(i).boundary.contains(rank)) {
        return i;
      }
    }
    return -1;
  }

  /** The leaders on the other side that a lane exchanges with, in the order of their samples. */
  List<Integer> peers(boolean isSource, int lane) {
    List<Lane> others = isSource ? dests : sources;
    boolean hasMore = direction == (isSource ? Direction.FAN_OUT : Direction.FAN_IN);
    int first = hasMore ? lane * scale : direction == Direction.EQUAL ? lane : lane / scale;
    return others.subList(first, first + (hasMore ? scale : 1)).stream().map(Lane::leader).toList();
  }

  /** For example {@code fan-in 2: encoder tp=1,dp=4 -> language tp=2,dp=2,offset=4}. */
  @Override
  public String toString() {
    return "%s %s: %s %s -> %s %s"
        .formatted(direction, scale, options.source(), src, options.dest(), dest);
  }
}
