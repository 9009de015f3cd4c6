package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.RingOrder;
import org.kernbench.ccl.flow.Dataflow;
import org.kernbench.ccl.flow.Dataflow.Part;
import org.kernbench.ccl.flow.DrawnAlgorithm;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * Reduce up trees and broadcast down them, chunk after chunk; gather and scatter along them.
 * Several trees share the vector evenly and work at the same time.
 *
 * <p>Bytes sent: {@code 2 (p-1) S} for an all-reduce, {@code (p-1) S} for a broadcast or a reduce,
 * whatever the trees. Time with depth d, m chunks of s bytes and a link of its own for each edge
 * ({@code docs/spec/collectives.md} O11 to O13): {@code 2 d (o + L + s/B) + (m-1) max(o, s/B)} for
 * an all-reduce, half the first term for a broadcast or a reduce, and {@code gamma s} for each
 * child on the way up.
 *
 * <p>No deadlock: see {@code FlowProof}; what goes up never waits for what comes down.
 *
 * @param shape the trees, each as the parent of every rank, -1 for the root
 */
public record TreeAlgorithm(
    String name, String description, RankLevel defaultRankLevel, Shape shape)
    implements DrawnAlgorithm {

  /** Chooses trees. */
  interface Shape {
    /**
     * The trees, at least one.
     *
     * @param root their root; -1 to choose the best
     */
    List<int[]> trees(Group group, int root);
  }

  public static List<Supplier<CollectiveAlgorithm>> all() {
    return List.of(
        () ->
            new TreeAlgorithm(
                "chain",
                "in chunks along a line of all ranks; one root for broadcast, reduce and the like",
                RankLevel.SIP,
                TreeAlgorithm::chain),
        () ->
            new TreeAlgorithm(
                "grid_tree",
                "in chunks along shortest ways to the centre of a grid, or to the root, and back",
                RankLevel.SIP,
                TreeAlgorithm::grid),
        () ->
            new TreeAlgorithm(
                "binary_tree",
                "in chunks up a binary tree of depth log2 p and down again",
                RankLevel.SIP,
                (group, root) -> List.of(binary(group.size(), Math.max(0, root), 1))),
        () ->
            new TreeAlgorithm(
                "double_binary_tree",
                "two binary trees, each with half of the vector; leaves of one are inside the other",
                RankLevel.SIP,
                (group, root) ->
                    group.size() < 3 || root >= 0
                        ? List.of(binary(group.size(), Math.max(0, root), 1))
                        : List.of(
                            inOrder(group.size(), 0), inOrder(group.size(), group.size() - 1))));
  }

  @Override
  public Set<CollectiveOp> operations() {
    return Collections.unmodifiableSet(
        EnumSet.of(
            CollectiveOp.ALL_REDUCE,
            CollectiveOp.BROADCAST,
            CollectiveOp.REDUCE,
            CollectiveOp.GATHER,
            CollectiveOp.SCATTER));
  }

  @Override
  public Artist artist(Group group, AlgorithmConfig config) {
    return (op, root) -> {
      List<int[]> trees = shape.trees(group, root);
      return List.of(new Drawing(op, group.size()).of(trees));
    };
  }

  // ---- shapes ----

  /** From an end, or from the root, on along a ring order; the middle if there is a choice. */
  private static List<int[]> chain(Group group, int root) {
    RingOrder order = RingOrder.of(group);
    int n = group.size();
    int[] parent = new int[n];
    if (root < 0) {
      for (int i = 0; i < n; i++) {
        int middle = n / 2;
        int next = i < middle ? i + 1 : i - 1;
        parent[order.rankAt(i)] = i == middle ? -1 : order.rankAt(next);
      }
    } else {
      for (int i = 0; i < n; i++) {
        int rank = order.rankAt((order.positionOf(root) + i) % n);
        parent[rank] = i == 0 ? -1 : order.rankAt((order.positionOf(root) + i - 1) % n);
      }
    }
    return List.of(parent);
  }

  /** Along the last axis to the root's place on it, then along the one before, and so on. */
  private static List<int[]> grid(Group group, int root) {
    Axes axes = Axes.of(group);
    int centre = root < 0 ? centre(axes) : root;
    int[] parent = new int[group.size()];
    for (int rank = 0; rank < parent.length; rank++) {
      parent[rank] = -1;
      for (int a = 0; a < axes.count() && parent[rank] < 0; a++) {
        int to = axes.place(centre, a);
        if (axes.place(rank, a) != to) {
          parent[rank] = axes.line(rank, a)[next(axes, a, axes.place(rank, a), to)];
        }
      }
    }
    return List.of(parent);
  }

  private static int centre(Axes axes) {
    int centre = 0;
    for (int a = 0; a < axes.count(); a++) {
      centre = axes.line(centre, a)[axes.axis(a).size() / 2];
    }
    return centre;
  }

  /** The place after {@code at} on the way to another. */
  private static int next(Axes axes, int a, int at, int to) {
    int n = axes.axis(a).size();
    if (axes.isCrossbar(a)) {
      return to;
    }
    int ahead = Math.floorMod(to - at, n);
    boolean up = axes.axis(a).closed() ? 2 * ahead <= n : to > at;
    return Math.floorMod(up ? at + 1 : at - 1, n);
  }

  /** Rank {@code root + i} below {@code root + (i - 1) / 2}. */
  private static int[] binary(int n, int root, int step) {
    int[] parent = new int[n];
    for (int i = 0; i < n; i++) {
      parent[(root + i * step) % n] = i == 0 ? -1 : (root + (i - 1) / 2 * step) % n;
    }
    return parent;
  }

  /**
   * A tree of the ranks in order, every other one a leaf; with the ranks shifted by one, leaves and
   * others change places.
   */
  private static int[] inOrder(int n, int shift) {
    int[] parent = new int[n];
    place(parent, 0, n, -1, shift);
    return parent;
  }

  private static void place(int[] parent, int from, int to, int above, int shift) {
    if (from == to) {
      return;
    }
    int half = Integer.highestOneBit(to - from);
    int middle = from + half - 1; // ranks of odd number are never leaves
    parent[(middle + shift) % parent.length] = above < 0 ? -1 : (above + shift) % parent.length;
    place(parent, from, middle, middle, shift);
    place(parent, middle + 1, to, middle, shift);
  }

  // ---- drawing ----

  /** One drawing under way. */
  private static final class Drawing {
    private final CollectiveOp op;
    private final int ranks;
    private final Dataflow flow;
    private int[] parent = {};
    private int[] height = {};
    private int unit;

    Drawing(CollectiveOp op, int ranks) {
      this.op = op;
      this.ranks = ranks;
      this.flow = new Dataflow(ranks);
    }

    Dataflow of(List<int[]> trees) {
      for (int[] tree : op.hasParts() ? trees.subList(0, 1) : trees) {
        parent = tree;
        height = heights(tree);
        unit = flow.addUnits(op.hasParts() ? ranks : 1, 1);
        draw(root());
      }
      return flow;
    }

    private void draw(int root) {
      switch (op) {
        case ALL_REDUCE -> down(root, flow.finish(up(root)));
        case REDUCE -> flow.store(flow.finish(up(root)));
        case BROADCAST -> down(root, flow.own(root, unit, 1));
        case GATHER -> {
          for (int rank = 0; rank < ranks; rank++) {
            Part part = flow.own(rank, unit + rank, 1);
            for (int at = rank; at != root; at = parent[at]) {
              part = flow.move(part, parent[at]);
            }
            flow.store(part);
          }
        }
        case SCATTER -> {
          for (int rank : farthestFirst()) {
            Part part = flow.own(root, unit + rank, 1);
            for (int next : way(rank)) {
              part = flow.move(part, next);
            }
            flow.store(part);
          }
        }
        case REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL, POINT_TO_POINT, BARRIER ->
            throw new IllegalArgumentException("no " + op.word() + " along trees");
      }
    }

    private int root() {
      for (int rank = 0; rank < ranks; rank++) {
        if (parent[rank] < 0) {
          return rank;
        }
      }
      throw new IllegalStateException("a tree without a root");
    }

    /** The sum of all below a rank, and of its own; those that come first are added first. */
    private Part up(int rank) {
      Part sum = flow.own(rank, unit, 1);
      List<Integer> children = children(rank);
      Collections.reverse(children);
      for (int child : children) {
        sum = flow.combine(sum, flow.move(up(child), rank));
      }
      return sum;
    }

    /** Stores a result and hands it down, first to those with the most below them. */
    private void down(int rank, Part result) {
      List<Part> sent = new ArrayList<>();
      for (int child : children(rank)) {
        sent.add(flow.move(result, child));
      }
      flow.store(result);
      for (Part part : sent) {
        down(part.rank, part);
      }
    }

    private List<Integer> children(int rank) {
      List<Integer> children = new ArrayList<>();
      for (int child = 0; child < ranks; child++) {
        if (parent[child] == rank) {
          children.add(child);
        }
      }
      children.sort(Comparator.comparingInt((Integer c) -> height[c]).reversed());
      return children;
    }

    private List<Integer> farthestFirst() {
      List<Integer> order = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        order.add(rank);
      }
      order.sort(Comparator.comparingInt((Integer r) -> way(r).size()).reversed());
      return order;
    }

    /** From the root, without it, to a rank. */
    private List<Integer> way(int rank) {
      List<Integer> way = new ArrayList<>();
      for (int at = rank; parent[at] >= 0; at = parent[at]) {
        way.add(0, at);
      }
      return way;
    }

    private static int[] heights(int[] parent) {
      int[] height = new int[parent.length];
      for (int rank = 0; rank < parent.length; rank++) {
        int h = 0;
        for (int at = rank; at >= 0; at = parent[at]) {
          height[at] = Math.max(height[at], h++);
        }
      }
      return height;
    }
  }
}
