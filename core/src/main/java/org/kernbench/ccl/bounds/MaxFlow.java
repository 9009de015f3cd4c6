package org.kernbench.ccl.bounds;

import java.util.Arrays;

/** Largest flow and least cut of a small network with real capacities (Dinic 1970). */
final class MaxFlow {
  private final int nodes;
  private final int[] first;
  private int[] next = new int[64];
  private int[] head = new int[64];
  private double[] left = new double[64];
  private int count;
  private int[] level = new int[0];
  private int source;
  private double zero;

  MaxFlow(int nodes) {
    this.nodes = nodes;
    this.first = new int[nodes];
    Arrays.fill(first, -1);
  }

  void edge(int from, int to, double capacity) {
    edge(from, to, capacity, 0);
  }

  void edge(int from, int to, double capacity, double back) {
    if (count + 2 > head.length) {
      next = Arrays.copyOf(next, 2 * count);
      head = Arrays.copyOf(head, 2 * count);
      left = Arrays.copyOf(left, 2 * count);
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

  private boolean reaches(int to) {
    level = new int[nodes];
    Arrays.fill(level, -1);
    int[] queue = new int[nodes];
    int end = 0;
    queue[end++] = source;
    level[source] = 0;
    for (int i = 0; i < end; i++) {
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
