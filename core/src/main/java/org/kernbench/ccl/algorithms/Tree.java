package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.kernbench.ccl.Wiring;

/**
 * Ranks as a forest: each has a parent, or is a root. Edges carry the direction names that their
 * ends know them by, and children have an order in which contributions are taken.
 */
final class Tree {
  private static final int NONE = -1;

  /** Whose contribution a node takes first. */
  enum Order {
    /** As the edges were added: phase by phase. */
    PHASES,
    /**
     * Those with the least below them first, so that little is left to add when the last one comes.
     */
    EARLIEST_FIRST,
    /** Those with the most below them first: all additions wait for the last contribution. */
    LATEST_FIRST
  }

  /**
   * An edge, at the parent's end.
   *
   * @param child rank at the other end
   * @param direction the parent's name for it
   */
  record Edge(int child, String direction) {}

  private final int[] parent;
  private final String[] toParent;
  private final List<List<Edge>> children = new ArrayList<>();

  Tree(int ranks) {
    parent = new int[ranks];
    toParent = new String[ranks];
    for (int i = 0; i < ranks; i++) {
      parent[i] = NONE;
      toParent[i] = "";
      children.add(new ArrayList<>());
    }
  }

  /** Puts {@code child} below {@code above}; each end has its own name for the edge. */
  void add(int child, String towardParent, int above, String towardChild) {
    parent[child] = above;
    toParent[child] = towardParent;
    children.get(above).add(new Edge(child, towardChild));
  }

  int size() {
    return parent.length;
  }

  boolean isRoot(int rank) {
    return parent[rank] == NONE;
  }

  int parent(int rank) {
    return parent[rank];
  }

  /** A rank's name for the edge to its parent. */
  String toParent(int rank) {
    return toParent[rank];
  }

  List<Edge> children(int rank, Order order) {
    List<Edge> result = new ArrayList<>(children.get(rank));
    Comparator<Edge> byHeight = Comparator.comparingInt(e -> height(e.child));
    switch (order) {
      case PHASES -> {}
      case EARLIEST_FIRST -> result.sort(byHeight);
      case LATEST_FIRST -> result.sort(byHeight.reversed());
    }
    return result;
  }

  /** Edges from a rank down to the farthest below it. */
  int height(int rank) {
    int height = 0;
    for (Edge e : children.get(rank)) {
      height = Math.max(height, 1 + height(e.child));
    }
    return height;
  }

  void wire(Wiring wiring) {
    for (int rank = 0; rank < parent.length; rank++) {
      for (Edge e : children.get(rank)) {
        wiring.join(rank, e.direction, e.child, toParent[e.child]);
      }
    }
  }
}
