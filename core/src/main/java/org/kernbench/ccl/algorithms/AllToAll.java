package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.flow.Dataflow;
import org.kernbench.ccl.flow.Dataflow.Part;
import org.kernbench.ccl.flow.DrawnAlgorithm;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * All-to-all: the block from each rank to each, on one way or another.
 *
 * <p>Bytes sent: every block once for each message it is in: {@code (p-1) S/p} a rank if blocks go
 * directly, times the mean number of hops if ranks pass them on. Time is bounded by the load of the
 * busiest link ({@code docs/spec/collectives.md} O16): blocks on it times {@code b/B}.
 *
 * @param way how blocks go
 */
public record AllToAll(String name, String description, Way way) implements DrawnAlgorithm {
  /** How a block goes. */
  enum Way {
    /** In one message, in round i to the rank i further on. */
    DIRECT,
    /** From neighbour to neighbour round a ring, the shorter way. */
    RING,
    /** Along one dimension after the other, a message for each. */
    AXES
  }

  public static List<Supplier<CollectiveAlgorithm>> all() {
    return List.of(
        () ->
            new AllToAll(
                "direct",
                "all_to_all: a message for each block, in round i to the rank i further on",
                Way.DIRECT),
        () ->
            new AllToAll(
                "ring_rotation",
                "all_to_all: blocks from neighbour to neighbour round a ring, the shorter way",
                Way.RING),
        () ->
            new AllToAll(
                "axes",
                "all_to_all: blocks along one dimension after the other, with fewer peers",
                Way.AXES));
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Set<CollectiveOp> operations() {
    return Set.of(CollectiveOp.ALL_TO_ALL);
  }

  @Override
  public Artist artist(Group group, AlgorithmConfig config) {
    Axes axes = way == Way.RING ? Axes.ring(group) : Axes.of(group);
    return (op, root) -> List.of(draw(group.size(), axes));
  }

  private Dataflow draw(int ranks, Axes axes) {
    Dataflow flow = new Dataflow(ranks);
    flow.addUnits(ranks * ranks, 1);
    for (int round = 0; round < ranks; round++) {
      for (int from = 0; from < ranks; from++) {
        int to = (from + round) % ranks;
        Part block = flow.own(from, from * ranks + to, 1);
        int earliest = way == Way.DIRECT ? Math.max(0, round - 1) : 0;
        for (int next : stops(axes, from, to)) {
          block = flow.move(block, next, earliest);
        }
        flow.store(block);
      }
    }
    return flow;
  }

  /** The ranks that a block is sent to, one after the other. */
  private List<Integer> stops(Axes axes, int from, int to) {
    List<Integer> stops = new ArrayList<>();
    if (from == to) {
      return stops;
    }
    switch (way) {
      case DIRECT -> stops.add(to);
      case RING -> {
        int[] line = axes.line(from, 0);
        int n = line.length;
        int at = axes.place(from, 0);
        int ahead = Math.floorMod(axes.place(to, 0) - at, n);
        boolean wrap = axes.axis(0).closed();
        // of two ways of the same length, every other block takes each
        boolean up = wrap ? 2 * ahead < n || (2 * ahead == n && at % 2 == 0) : at + ahead < n;
        while (line[at] != to) {
          at = Math.floorMod(up ? at + 1 : at - 1, n);
          stops.add(line[at]);
        }
      }
      case AXES -> {
        int at = from;
        for (int a = 0; a < axes.count(); a++) {
          if (axes.place(at, a) != axes.place(to, a)) {
            at = axes.line(at, a)[axes.place(to, a)];
            stops.add(at);
          }
        }
      }
    }
    return stops;
  }
}
