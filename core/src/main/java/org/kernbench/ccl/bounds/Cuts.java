package org.kernbench.ccl.bounds;

import java.util.Arrays;
import java.util.function.IntPredicate;

/**
 * Cuts of a {@link RankGraph} that bind: each search finds a set or a partition by minimum cuts and
 * returns what that very set or partition implies, so that a search that stops early, or rounds,
 * gives a weaker bound and never a wrong one.
 *
 * <p>All results are in seconds for the bytes asked.
 */
public final class Cuts {
  private static final double CLOSE = 1 + 1e-9;

  private final RankGraph graph;
  private final int n;
  private final int nodes;
  private final double largest;

  public Cuts(RankGraph graph) {
    this.graph = graph;
    this.n = graph.ranks();
    this.nodes = graph.nodes();
    double most = 0;
    for (int e = 0; e < graph.edges(); e++) {
      most = Math.max(most, graph.rate(e));
    }
    this.largest = most;
  }

  // ---- strength ----

  /**
   * The least over all partitions of the ranks into k parts of C / (k - 1), where C is what can
   * enter each part, all parts together; relays are nobody's, and each part may hold those that let
   * the least in. Without relays it is the strength of the graph (Tutte, Nash-Williams). Newton's
   * method; each step minimises {@code C - lambda (k - 1)} over all partitions (Cunningham 1985, by
   * the greedy of Dilworth's truncation, which asks only that what enters a set is submodular: it
   * is, also as the least over relays).
   */
  public double strength() {
    int[] part = new int[n];
    Arrays.setAll(part, i -> i);
    double lambda = crossing(part) / (n - 1.0);
    for (int step = 0; step < 64; step++) {
      int[] better = leastPartition(lambda);
      int parts = Arrays.stream(better).max().orElse(0) + 1;
      if (parts < 2) {
        return lambda;
      }
      double rate = crossing(better) / (parts - 1.0);
      if (rate * CLOSE >= lambda) {
        return Math.min(rate, lambda);
      }
      lambda = rate;
    }
    return lambda;
  }

  /** What can enter each part from the ranks of others, all parts together. */
  double crossing(int[] part) {
    int parts = Arrays.stream(part).max().orElse(0) + 1;
    double sum = 0;
    for (int p = 0; p < parts; p++) {
      int inside = p;
      sum += entering(part, inside);
    }
    return sum;
  }

  /** The least cut before the ranks of a part. */
  private double entering(int[] part, int inside) {
    if (nodes == n) {
      return entering(u -> part[u] == inside);
    }
    MaxFlow flow = new MaxFlow(nodes + 2, n + graph.edges());
    for (int u = 0; u < n; u++) {
      if (part[u] == inside) {
        flow.edge(u, nodes + 1, Double.POSITIVE_INFINITY);
      } else {
        flow.edge(nodes, u, Double.POSITIVE_INFINITY);
      }
    }
    for (int e = 0; e < graph.edges(); e++) {
      flow.edge(graph.from(e), graph.to(e), graph.rate(e));
    }
    flow.run(nodes, nodes + 1, largest * 1e-11);
    boolean[] outside = flow.side();
    return entering(u -> !outside[u]);
  }

  /**
   * As {@link #crossing(int[])}, but not the least: relays are tried in no part, and in that of the
   * nearest rank, for each part. In time that grows with the edges, for very many ranks.
   */
  double quickCrossing(int[] part) {
    int parts = Arrays.stream(part).max().orElse(0) + 1;
    double[] without = new double[parts];
    double[] with = new double[parts];
    for (int e = 0; e < graph.edges(); e++) {
      int v = graph.to(e);
      int near = nearest(part, v);
      if (v < n && (graph.from(e) >= n || part[graph.from(e)] != part[v])) {
        without[part[v]] += graph.rate(e);
      }
      if (near >= 0 && near != nearest(part, graph.from(e))) {
        with[near] += graph.rate(e);
      }
    }
    double sum = 0;
    for (int p = 0; p < parts; p++) {
      sum += Math.min(without[p], with[p]);
    }
    return sum;
  }

  private int nearest(int[] part, int node) {
    int rank = graph.nearest(node);
    return rank < 0 ? -1 : part[rank];
  }

  /** By rank the number of its part, in a partition with the least C - lambda k. */
  private int[] leastPartition(double lambda) {
    double[] y = new double[n];
    int[] part = new int[n];
    for (int v = 0; v < n; v++) {
      // The least in(X) - lambda - y(X - v) over sets X of the first ranks with v among them.
      MaxFlow flow = new MaxFlow(nodes + 2, n + graph.edges());
      int source = nodes;
      int sink = nodes + 1;
      flow.edge(source, v, Double.POSITIVE_INFINITY);
      double base = -lambda;
      for (int u = 0; u < v; u++) {
        if (y[u] > 0) {
          flow.edge(source, u, y[u]);
          base -= y[u];
        } else {
          flow.edge(u, sink, -y[u]);
        }
      }
      for (int u = v + 1; u < n; u++) {
        flow.edge(u, sink, Double.POSITIVE_INFINITY);
      }
      for (int e = 0; e < graph.edges(); e++) {
        flow.edge(graph.to(e), graph.from(e), graph.rate(e));
      }
      y[v] = base + flow.run(source, sink, largest * 1e-11);
      boolean[] inside = flow.side();
      part[v] = v;
      for (int u = 0; u < v; u++) {
        if (inside[u]) {
          join(part, u, v);
        }
      }
    }
    return numbered(part);
  }

  private static void join(int[] part, int u, int v) {
    int a = part[u];
    int b = part[v];
    for (int i = 0; i <= v; i++) {
      if (part[i] == a) {
        part[i] = b;
      }
    }
  }

  private static int[] numbered(int[] part) {
    int[] number = new int[part.length];
    Arrays.fill(number, -1);
    int next = 0;
    int[] result = new int[part.length];
    for (int i = 0; i < part.length; i++) {
      if (number[part[i]] < 0) {
        number[part[i]] = next++;
      }
      result[i] = number[part[i]];
    }
    return result;
  }

  // ---- one side of a cut ----

  /** Seconds per byte that must reach every rank from {@code root}: 1 / the least cut. */
  double fromRoot(int root) {
    double least = Double.POSITIVE_INFINITY;
    for (int v = 0; v < n; v++) {
      if (v != root) {
        MaxFlow flow = flowOf(1, nodes);
        flow.run(root, v, largest * 1e-11);
        boolean[] side = flow.side();
        least = Math.min(least, leaving(u -> side[u]));
      }
    }
    return 1 / least;
  }

  /** Seconds per byte that must enter and leave every set of ranks: 1 / the least directed cut. */
  double everywhere() {
    return Math.max(fromRoot(0), new Cuts(graph.reversed()).fromRoot(0));
  }

  /**
   * Seconds until every rank has the parts of all others: the largest {@code (S - p(X)) / in(X)}
   * over sets X of ranks.
   *
   * @param part bytes of each rank's own part
   */
  double gatheredByAll(double[] part) {
    double total = Arrays.stream(part).sum();
    double best = 0;
    for (int v = 0; v < n; v++) {
      int only = v;
      best = Math.max(best, ratio(total - part[v], entering(u -> u == only)));
    }
    for (int step = 0; step < 32; step++) {
      double found = best;
      for (int v = 0; v < n; v++) {
        // X on the sink's side with v in it: least T in(X) + p(X).
        MaxFlow flow = flowOf(best, nodes + 1);
        for (int u = 0; u < n; u++) {
          flow.edge(nodes, u, part[u]);
        }
        flow.run(nodes, v, total * 1e-12);
        boolean[] outside = flow.side();
        double rest = total;
        for (int u = 0; u < n; u++) {
          rest -= outside[u] ? 0 : part[u];
        }
        if (rest > 0) {
          found = Math.max(found, ratio(rest, entering(u -> !outside[u])));
        }
      }
      if (found <= best * CLOSE) {
        return best;
      }
      best = found;
    }
    return best;
  }

  /** Seconds until {@code root} has all parts: the largest {@code p(X) / out(X)} without it. */
  double gatheredBy(int root, double[] part) {
    double total = Arrays.stream(part).sum() - part[root];
    double best = ratio(total, entering(u -> u == root));
    for (int step = 0; step < 32; step++) {
      MaxFlow flow = flowOf(best, nodes + 1);
      for (int u = 0; u < n; u++) {
        if (u != root) {
          flow.edge(nodes, u, part[u]);
        }
      }
      flow.run(nodes, root, total * 1e-12);
      boolean[] inside = flow.side();
      double sum = 0;
      for (int u = 0; u < n; u++) {
        sum += inside[u] ? part[u] : 0;
      }
      double found = sum > 0 ? ratio(sum, leaving(u -> inside[u])) : 0;
      if (found <= best * CLOSE) {
        return best;
      }
      best = found;
    }
    return best;
  }

  /**
   * Seconds for what must cross from the ranks inside to those outside; relays are tried on either
   * side, and with the nearest rank.
   */
  double crossing(double bytes, IntPredicate inside) {
    double least = leaving(u -> u < n && inside.test(u));
    if (nodes > n) {
      least = Math.min(least, leaving(u -> u >= n || inside.test(u)));
      least = Math.min(least, leaving(u -> graph.nearest(u) >= 0 && inside.test(graph.nearest(u))));
    }
    return ratio(bytes, least);
  }

  private static double ratio(double bytes, double rate) {
    return bytes <= 0 ? 0 : bytes / rate;
  }

  private double leaving(IntPredicate inside) {
    double sum = 0;
    for (int e = 0; e < graph.edges(); e++) {
      if (inside.test(graph.from(e)) && !inside.test(graph.to(e))) {
        sum += graph.rate(e);
      }
    }
    return sum;
  }

  private double entering(IntPredicate inside) {
    return leaving(inside.negate());
  }

  private MaxFlow flowOf(double times, int nodes) {
    MaxFlow flow = new MaxFlow(nodes, graph.edges() + n);
    for (int e = 0; e < graph.edges(); e++) {
      flow.edge(graph.from(e), graph.to(e), graph.rate(e) * times);
    }
    return flow;
  }
}
