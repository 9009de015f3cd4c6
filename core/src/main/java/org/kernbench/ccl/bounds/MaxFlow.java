package org.kernbench.ccl.bounds;

import java.util.Arrays;

/** Largest flow and least cut of a small network with real capacities (Dinic 1970). */
final class MaxFlow {
  private final int nodes;
  private final int[] first;
  private final int[] level;
  private final int[] queue;
  private int[] next;
  private int[] head;
  private double[] left;
  private int count;
  private int source;
  private double zero;

  /**
   * A network without edges.
   *
   * @param edges for how many there is room at first
   */
  MaxFlow(int nodes, int edges) {
    this.nodes = nodes;
    this.first = new int[nodes];
    this.level = new int[nodes];
    this.queue = new int[nodes];
    this.next = new int[2 * edges];
    this.head = new int[2 * edges];
    this.left = new double[2 * edges];
    Arrays.fill(first, -1);
  }

  void edge(int from, int to, double capacity) {
    edge(from, to, capacity, 0);
  }

  void edge(int from, int to, double capacity, double back) {
    if (count + 2 > head.length) {
      int length = Math.max(count + 2, 2 * count);
      next = Arrays.copyOf(next, length);
      head = Arrays.copyOf(head, length);
      left = Arrays.copyOf(left, length);
    }
    half(from, to, capacity);
    half(to, from, back);
  }

  private void half(int from, int to, double capacity) {
    head[count] = to;
    left[count] = capacity;
    next[count] = first[from];
    first[from] = count++;
  }

  /** The largest flow; capacities that remain below {@code zero} count as used up. */
  double run(int from, int to, double nothing) {
    source = from;
    zero = nothing;
    double flow = 0;
    while (reaches(to)) {
      int[] at = first.clone();
      double more = push(from, to, Double.POSITIVE_INFINITY, at);
      while (more > zero) {
        flow += more;
        more = push(from, to, Double.POSITIVE_INFINITY, at);
      }
    }
    return flow;
  }

  /** Numbers the nodes by their distance, as far as the sink: what is beyond leads nowhere. */
  private boolean reaches(int to) {
    Arrays.fill(level, -1);
    int end = 0;
    queue[end++] = source;
    level[source] = 0;
    for (int i = 0; i < end && level[to] < 0; i++) {
      for (int e = first[queue[i]]; e >= 0; e = next[e]) {
        if (left[e] > zero && level[head[e]] < 0) {
          level[head[e]] = level[queue[i]] + 1;
          queue[end++] = head[e];
        }
      }
    }
    return level[to] >= 0;
  }

  private double push(int v, int to, double most, int[] at) {
    if (v == to) {
      return most;
    }
    for (; at[v] >= 0; at[v] = next[at[v]]) {
      int e = at[v];
      if (left[e] > zero && level[head[e]] == level[v] + 1) {
        double pushed = push(head[e], to, Math.min(most, left[e]), at);
        if (pushed > zero) {
          left[e] -= pushed;
          left[e ^ 1] += pushed;
          return pushed;
        }
      }
    }
    return 0;
  }

  /** After {@link #run}: the nodes on the source's side of a least cut. */
  boolean[] side() {
    boolean[] side = new boolean[nodes];
    for (int v = 0; v < nodes; v++) {
      side[v] = level[v] >= 0;
    }
    return side;
  }
}
