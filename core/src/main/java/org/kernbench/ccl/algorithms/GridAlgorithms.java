package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.flow.GridFlow.Colour;
import org.kernbench.ccl.flow.GridFlow.Phase;
import org.kernbench.ccl.flow.Phases.Reach;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/** The algorithms that differ only in the phases they go through on a grid. */
public final class GridAlgorithms {
  private static final Set<CollectiveOp> ALL_REDUCE = Set.of(CollectiveOp.ALL_REDUCE);

  /** What an all-reduce consists of that scatters and gathers. */
  private static final Set<CollectiveOp> SCATTERING =
      Collections.unmodifiableSet(
          EnumSet.of(
              CollectiveOp.ALL_REDUCE, CollectiveOp.REDUCE_SCATTER, CollectiveOp.ALL_GATHER));

  private GridAlgorithms() {}

  public static List<Supplier<CollectiveAlgorithm>> all() {
    return List.of(
        GridAlgorithms::ringTwoWay,
        GridAlgorithms::torus,
        GridAlgorithms::torusTwoWay,
        GridAlgorithms::torusBothOrders,
        GridAlgorithms::hierarchical,
        GridAlgorithms::halvingDoubling,
        GridAlgorithms::exchange,
        GridAlgorithms::oneShot,
        GridAlgorithms::twoShot);
  }

  /**
   * {@code docs/spec/collectives.md} O3: half the latency of a ring in one direction, and both
   * directions of each link.
   */
  static CollectiveAlgorithm ringTwoWay() {
    return new GridAlgorithm(
        "ring_bidirectional",
        "reduce-scatter, then all-gather, both ways round a cycle, half the way each",
        RankLevel.SIP,
        SCATTERING,
        Axes::ring,
        axes -> twoWay(axes, List.of(0)));
  }

  /** {@code docs/spec/collectives.md} O6, on meshes O9. */
  static CollectiveAlgorithm torus() {
    return new GridAlgorithm(
        "torus",
        "reduce-scatter along one dimension after the other, all-gather back; rings go one way",
        RankLevel.SIP,
        SCATTERING,
        Axes::of,
        axes -> {
          List<Phase> phases = new ArrayList<>();
          for (int a : order(axes)) {
            phases.add(new Phase(a, oneWay(axes, a), false));
          }
          return List.of(List.of(new Colour(1, phases)));
        });
  }

  /** {@code docs/spec/collectives.md} O7. */
  static CollectiveAlgorithm torusTwoWay() {
    return new GridAlgorithm(
        "torus_bidirectional",
        "one dimension after the other, both ways round each ring",
        RankLevel.SIP,
        SCATTERING,
        Axes::of,
        axes -> twoWay(axes, order(axes)));
  }

  /** {@code docs/spec/collectives.md} O8. */
  static CollectiveAlgorithm torusBothOrders() {
    return new GridAlgorithm(
        "torus_both_orders",
        "one part of the vector along x, then y, the other along y, then x, at the same time",
        RankLevel.SIP,
        SCATTERING,
        Axes::of,
        axes -> {
          List<Integer> there = order(axes);
          List<Integer> back = new ArrayList<>(there);
          Collections.reverse(back);
          List<List<Colour>> result = new ArrayList<>();
          if (axes.count() == 1) {
            return twoWay(axes, there);
          }
          for (int share : new int[] {8, 10, 12, 14}) {
            List<Colour> colours = new ArrayList<>();
            for (Colour c : twoWay(axes, there).get(0)) {
              colours.add(new Colour(c.weight() * share, c.phases()));
            }
            for (Colour c : twoWay(axes, back).get(0)) {
              colours.add(new Colour(c.weight() * (16 - share), c.phases()));
            }
            result.add(colours);
          }
          return result;
        });
  }

  /**
   * {@code docs/spec/collectives.md} O18, O19: inner levels first, so that the slow links between
   * packages carry the least.
   */
  static CollectiveAlgorithm hierarchical() {
    return new GridAlgorithm(
        "hierarchical",
        "over PEs, cubes, then packages, all taking part, in both orders of dimensions; and back",
        RankLevel.CUBE,
        SCATTERING,
        Axes::of,
        axes -> {
          List<Integer> innerFirst = new ArrayList<>();
          for (int a = 0; a < axes.count(); a++) {
            innerFirst.add(a);
          }
          List<Integer> turned = turnedByLevel(axes, innerFirst);
          List<List<Colour>> ways = new ArrayList<>(twoWay(axes, innerFirst));
          if (!turned.equals(innerFirst)) {
            List<Colour> both = new ArrayList<>(twoWay(axes, innerFirst).getLast());
            both.addAll(twoWay(axes, turned).getLast());
            ways.add(both);
          }
          return ways;
        });
  }

  /** Levels one after the other as they are, each with its dimensions in the other order. */
  private static List<Integer> turnedByLevel(Axes axes, List<Integer> order) {
    List<Integer> turned = new ArrayList<>();
    int from = 0;
    for (int i = 1; i <= order.size(); i++) {
      if (i == order.size()
          || axes.axis(order.get(i)).level() != axes.axis(order.get(from)).level()) {
        turned.addAll(order.subList(from, i).reversed());
        from = i;
      }
    }
    return turned;
  }

  /** {@code docs/spec/collectives.md} O14. */
  static CollectiveAlgorithm halvingDoubling() {
    return new GridAlgorithm(
        "halving_doubling",
        "halves with the rank whose number differs in one bit, bit by bit, and back: 2 log2 p steps",
        RankLevel.SIP,
        ALL_REDUCE,
        Axes::hypercube,
        axes -> {
          List<Phase> phases = new ArrayList<>();
          for (int a = 0; a < axes.count(); a++) {
            phases.add(new Phase(a, Reach.LINE, false));
          }
          return List.of(List.of(new Colour(1, phases)));
        });
  }

  /** The fewest steps. */
  static CollectiveAlgorithm exchange() {
    return new GridAlgorithm(
        "exchange",
        "whole vectors to all along one dimension after the other: the fewest steps",
        RankLevel.SIP,
        ALL_REDUCE,
        Axes::of,
        axes -> {
          List<Phase> phases = new ArrayList<>();
          for (int a : order(axes)) {
            phases.add(new Phase(a, bothWays(axes, a, false), true));
          }
          return List.of(List.of(new Colour(1, phases)));
        });
  }

  /** {@code docs/spec/collectives.md} O15. */
  static CollectiveAlgorithm oneShot() {
    return new GridAlgorithm(
        "one_shot",
        "whole vectors from each to each, added by all: one message's latency",
        RankLevel.SIP,
        ALL_REDUCE,
        Axes::line,
        axes -> List.of(List.of(new Colour(1, List.of(new Phase(0, Reach.DIRECT, true))))));
  }

  /** {@code docs/spec/collectives.md} O15. */
  static CollectiveAlgorithm twoShot() {
    return new GridAlgorithm(
        "two_shot",
        "reduce-scatter, then all-gather, with messages from each to each",
        RankLevel.SIP,
        SCATTERING,
        Axes::line,
        axes -> List.of(List.of(new Colour(1, List.of(new Phase(0, Reach.DIRECT, false))))));
  }

  /** Longer dimensions first; of the same length the inner first. */
  private static List<Integer> order(Axes axes) {
    List<Integer> order = new ArrayList<>();
    for (int a = 0; a < axes.count(); a++) {
      order.add(a);
    }
    order.sort((a, b) -> Integer.compare(axes.axis(b).size(), axes.axis(a).size()));
    return order;
  }

  private static Reach oneWay(Axes axes, int a) {
    return axes.isCrossbar(a) ? Reach.DIRECT : axes.axis(a).closed() ? Reach.ONE_WAY : Reach.LINE;
  }

  private static Reach bothWays(Axes axes, int a, boolean mirrored) {
    return axes.isCrossbar(a)
        ? Reach.DIRECT
        : !axes.axis(a).closed() ? Reach.LINE : mirrored ? Reach.TWO_WAY_MIRRORED : Reach.TWO_WAY;
  }

  /**
   * Both ways along each axis. Even rings need two colours to be balanced; for short vectors one is
   * better, which has half the messages.
   */
  private static List<List<Colour>> twoWay(Axes axes, List<Integer> order) {
    List<Phase> phases = new ArrayList<>();
    List<Phase> mirrored = new ArrayList<>();
    boolean even = false;
    for (int a : order) {
      phases.add(new Phase(a, bothWays(axes, a, false), false));
      mirrored.add(new Phase(a, bothWays(axes, a, true), false));
      even |=
          phases.getLast().reach() != mirrored.getLast().reach() && axes.axis(a).size() % 2 == 0;
    }
    Colour one = new Colour(1, phases);
    return even
        ? List.of(List.of(one, new Colour(1, mirrored)), List.of(one))
        : List.of(List.of(one));
  }
}
