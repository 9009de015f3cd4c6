package org.kernbench.ccl;

import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import org.kernbench.machine.Link;
import org.kernbench.machine.LinkKind;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Node;
import org.kernbench.machine.Pe;
import org.kernbench.torch.RankLevel;

/**
 * Lower bounds of collectives, from the machine alone: no algorithm can be faster.
 *
 * <ul>
 *   <li><b>latency</b>: every result depends on every contribution, so a message must have gone
 *       from each rank to each other one; and S bytes that depend on the farthest rank must come in
 *       through a PE's own port, the first of them no sooner than that: {@code T >= o + distance +
 *       S/B}, with the distance of the farthest two over the fastest links and B of that port.
 *   <li><b>traffic</b>: cut the machine into k parts with ranks in each. To combine the parts'
 *       contributions and to hand the results back takes {@code 2 (k - 1)} messages across the cut
 *       for each element, combining on the way included: {@code T >= 2 (k-1) S / C}, where C is the
 *       bandwidth of all directed links between parts. With two parts each direction carries S. The
 *       best such cut is the graph's strength (Tutte, Nash-Williams); up to 10 ranks all cuts are
 *       tried, beyond that the obvious ones, which on rings, meshes and tori are the best.
 * </ul>
 *
 * <p>Only links that some route between two ranks uses count, since no message takes another.
 */
public final class Bounds {
  /** Ranks up to which all partitions are tried: there are 115 975 of 10. */
  private static final int ALL_PARTITIONS = 10;

  /** Ranks up to which the links of all routes are collected; beyond, all but the host's count. */
  private static final int ALL_ROUTES = 128;

  /** Ranks up to which the distances of all pairs are computed. */
  private static final int ALL_DISTANCES = 16;

  private static final double PS_PER_SECOND = 1e12;

  /** So that rounding never lifts a bound above the truth. */
  private static final double ROUNDING = 1 - 1e-12;

  private final Machine machine;
  private final List<Pe> leads;
  private final long latencyPs;

  /** Seconds that a byte of each rank's vector needs at least. */
  private final double secondsPerByte;

  /**
   * A lower bound.
   *
   * @param ps no run takes less, in picoseconds
   * @param kind {@code latency} or {@code traffic}
   */
  public record Bound(long ps, String kind) {}

  /** Analyses a group once; {@link #allReduce(long)} is then cheap for any size. */
  public Bounds(Machine machine, List<Pe> leads) {
    this.machine = machine;
    this.leads = List.copyOf(leads);
    if (leads.size() < 2) {
      latencyPs = 0;
      secondsPerByte = 0;
      return;
    }
    LinkGraph graph = new LinkGraph(machine, usedLinks());
    latencyPs = machine.pe().dma().messageOverheadPs() + diameterPs(graph);
    secondsPerByte = 1 / strength(graph);
  }

  /**
   * The bound of an all-reduce.
   *
   * @param leads by rank, the PEs that take part
   * @param bytes of each rank's vector
   */
  public static Bound allReduce(Machine machine, List<Pe> leads, long bytes) {
    return new Bounds(machine, leads).allReduce(bytes);
  }

  /**
   * The bound of an all-reduce.
   *
   * @param bytes of each rank's vector
   */
  public Bound allReduce(long bytes) {
    if (bytes == 0 || leads.size() < 2) {
      return new Bound(0, "latency");
    }
    long traffic = trafficPs(bytes);
    long latency = latencyPs(bytes);
    return traffic > latency ? new Bound(traffic, "traffic") : new Bound(latency, "latency");
  }

  /** The latency bound alone, in picoseconds. */
  public long latencyPs(long bytes) {
    return latencyPs + machine.spec(LinkKind.ROUTER_TO_PE).rate().durationPs(bytes);
  }

  /** The traffic bound alone, in whole picoseconds like every simulated time, so rounded up. */
  public long trafficPs(long bytes) {
    return (long) Math.ceil(bytes * secondsPerByte * PS_PER_SECOND * ROUNDING);
  }

  private BitSet usedLinks() {
    BitSet used = new BitSet(machine.linkCount());
    if (leads.size() > ALL_ROUTES) {
      for (int link = 0; link < machine.linkCount(); link++) {
        used.set(link, machine.linkKind(link) != LinkKind.HOST_LINK);
      }
      return used;
    }
    for (Pe from : leads) {
      for (Pe to : leads) {
        if (!from.equals(to)) {
          for (int link : machine.route(machine.peNode(from), machine.peNode(to))) {
            used.set(link);
          }
        }
      }
    }
    return used;
  }

  // ---- latency ----

  private long diameterPs(LinkGraph graph) {
    int[] nodes = leads.stream().mapToInt(machine::peNode).toArray();
    if (nodes.length <= ALL_DISTANCES) {
      long diameter = 0;
      for (int node : nodes) {
        diameter = Math.max(diameter, farthest(graph.distances(node), nodes)[1]);
      }
      return diameter;
    }
    // From one end to the other and back: exact on lines, rings, meshes and tori, never too much.
    long diameter = 0;
    int at = 0;
    for (int sweep = 0; sweep < 6; sweep++) {
      long[] farthest = farthest(graph.distances(nodes[at]), nodes);
      diameter = Math.max(diameter, farthest[1]);
      at = (int) farthest[0];
    }
    return diameter;
  }

  /** Rank and distance of the farthest of some nodes. */
  private static long[] farthest(long[] distances, int[] nodes) {
    long[] best = {0, 0};
    for (int rank = 0; rank < nodes.length; rank++) {
      if (distances[nodes[rank]] > best[1]) {
        best[0] = rank;
        best[1] = distances[nodes[rank]];
      }
    }
    return best;
  }

  // ---- traffic ----

  /** The least over all cuts of C / (2 (k - 1)), in bytes per second. */
  private double strength(LinkGraph graph) {
    int n = leads.size();
    Territories territories = new Territories(machine, leads, graph);
    double best = territories.portRate();
    if (n <= ALL_PARTITIONS) {
      double[][] capacity = new double[n][n];
      territories.capacities(capacity);
      return Math.min(best, new Partitions(capacity).least());
    }
    int[] singletons = new int[n];
    Arrays.setAll(singletons, i -> i);
    best = Math.min(best, territories.rate(singletons, n));
    int[] sips = sips();
    int sipCount = Arrays.stream(sips).max().orElse(0) + 1;
    if (sipCount > 1) {
      best = Math.min(best, bySip(territories, sips, sipCount));
    }
    return best;
  }

  /** By rank the number of its package, counted among those that take part. */
  private int[] sips() {
    Map<Integer, Integer> numbers = new HashMap<>();
    int[] sips = new int[leads.size()];
    for (int rank = 0; rank < sips.length; rank++) {
      sips[rank] = numbers.computeIfAbsent(leads.get(rank).sip(), s -> numbers.size());
    }
    return sips;
  }

  private static double bySip(Territories territories, int[] sips, int count) {
    double best = territories.rate(sips, count);
    if (count <= ALL_PARTITIONS) {
      double[][] capacity = new double[count][count];
      territories.capacities(sips, capacity);
      best = Math.min(best, new Partitions(capacity).least());
    }
    for (int sip = 0; sip < count && count <= ALL_ROUTES; sip++) {
      // The ranks of one package each for itself, all others together.
      int[] part = new int[sips.length];
      int parts = 1;
      for (int rank = 0; rank < sips.length; rank++) {
        part[rank] = sips[rank] == sip ? parts++ : 0;
      }
      best = Math.min(best, territories.rate(part, parts));
    }
    return best;
  }

  /** All partitions of a small weighted graph. */
  private static final class Partitions {
    private final double[][] capacity;
    private final int n;
    private final int[] part;
    private double least = Double.POSITIVE_INFINITY;

    Partitions(double[][] capacity) {
      this.capacity = capacity;
      this.n = capacity.length;
      this.part = new int[n];
    }

    /** The least C / (2 (k - 1)), or for two parts the narrower direction. */
    double least() {
      extend(0, 0, 0);
      return least;
    }

    /** Puts vertex {@code v} into each of the parts so far, or into a new one. */
    private void extend(int v, int parts, double crossing) {
      if (v == n) {
        if (parts == 2) {
          least = Math.min(least, narrower());
        } else if (parts > 2) {
          least = Math.min(least, crossing / (2.0 * (parts - 1)));
        }
        return;
      }
      for (int p = 0; p <= parts; p++) {
        part[v] = p;
        double more = crossing;
        for (int u = 0; u < v; u++) {
          if (part[u] != p) {
            more += capacity[u][v] + capacity[v][u];
          }
        }
        extend(v + 1, Math.max(parts, p + 1), more);
      }
    }

    private double narrower() {
      double forth = 0;
      double back = 0;
      for (int u = 0; u < n; u++) {
        for (int v = 0; v < n; v++) {
          if (part[u] < part[v]) {
            forth += capacity[u][v];
          } else if (part[u] > part[v]) {
            back += capacity[u][v];
          }
        }
      }
      return Math.min(forth, back);
    }
  }

  /** Every node of the machine given to a rank, so that links lie inside or between ranks. */
  private static final class Territories {
    private final Machine machine;
    private final List<Pe> leads;
    private final LinkGraph graph;
    private final int[] rankOf;

    Territories(Machine machine, List<Pe> leads, LinkGraph graph) {
      this.machine = machine;
      this.leads = leads;
      this.graph = graph;
      this.rankOf = new int[machine.nodeCount()];
      Arrays.fill(rankOf, -1);
      settle();
      graph.spread(rankOf);
    }

    /** Gives each rank the nodes of its device: package, cube, or the PE alone. */
    private void settle() {
      RankLevel level = level();
      Map<Pe, Integer> ranks = new HashMap<>();
      for (int rank = 0; rank < leads.size(); rank++) {
        rankOf[machine.peNode(leads.get(rank))] = rank;
        ranks.put(device(level, leads.get(rank).sip(), leads.get(rank).cube()), rank);
      }
      if (level == RankLevel.PE) {
        return;
      }
      for (int id = 0; id < rankOf.length; id++) {
        Node node = machine.node(id);
        if (node.sip() >= 0 && (level == RankLevel.SIP || node.cube() >= 0)) {
          rankOf[id] = ranks.getOrDefault(device(level, node.sip(), node.cube()), -1);
        }
      }
    }

    private static Pe device(RankLevel level, int sip, int cube) {
      return new Pe(sip, level == RankLevel.SIP ? 0 : cube, 0);
    }

    /** The largest devices that no two ranks share. */
    private RankLevel level() {
      long sips = leads.stream().mapToInt(Pe::sip).distinct().count();
      long cubes =
          leads.stream().map(p -> device(RankLevel.CUBE, p.sip(), p.cube())).distinct().count();
      return sips == leads.size()
          ? RankLevel.SIP
          : cubes == leads.size() ? RankLevel.CUBE : RankLevel.PE;
    }

    /** The least that a lead PE can send or receive, in bytes per second. */
    double portRate() {
      double[] rates = graph.portRates();
      return leads.stream().mapToDouble(lead -> rates[machine.peNode(lead)]).min().orElseThrow();
    }

    /** C / (2 (k - 1)) of a partition of the ranks into {@code parts} parts. */
    double rate(int[] partOfRank, int parts) {
      double crossing = 0;
      for (int i = 0; i < graph.size(); i++) {
        if (partOfRank[rankOf[graph.from(i)]] != partOfRank[rankOf[graph.to(i)]]) {
          crossing += graph.rate(i);
        }
      }
      return crossing / (2.0 * (parts - 1));
    }

    /** Bandwidths between ranks. */
    void capacities(double[][] capacity) {
      int[] part = new int[leads.size()];
      Arrays.setAll(part, i -> i);
      capacities(part, capacity);
    }

    /** Bandwidths between parts. */
    void capacities(int[] partOfRank, double[][] capacity) {
      for (int i = 0; i < graph.size(); i++) {
        int from = partOfRank[rankOf[graph.from(i)]];
        int to = partOfRank[rankOf[graph.to(i)]];
        if (from != to) {
          capacity[from][to] += graph.rate(i);
        }
      }
    }
  }

  /** The links that messages may use, as arrays. */
  private static final class LinkGraph {
    private final int nodes;
    private final int[] from;
    private final int[] to;
    private final long[] latency;
    private final double[] rate;

    /**
     * Links by the node they leave: those of node v are order[first[v]] to order[first[v + 1] - 1].
     */
    private final int[] first;

    private final int[] order;

    LinkGraph(Machine machine, BitSet used) {
      int n = used.cardinality();
      nodes = machine.nodeCount();
      from = new int[n];
      to = new int[n];
      latency = new long[n];
      rate = new double[n];
      int i = 0;
      for (int id = used.nextSetBit(0); id >= 0; id = used.nextSetBit(id + 1)) {
        Link link = machine.link(id);
        from[i] = link.fromNode();
        to[i] = link.toNode();
        latency[i] = link.latencyPs();
        rate[i++] = link.rate().bytesPerSecond();
      }
      first = new int[nodes + 1];
      for (int v : from) {
        first[v + 1]++;
      }
      for (int v = 0; v < nodes; v++) {
        first[v + 1] += first[v];
      }
      order = new int[n];
      int[] next = first.clone();
      for (int link = 0; link < n; link++) {
        order[next[from[link]]++] = link;
      }
    }

    int size() {
      return from.length;
    }

    int from(int link) {
      return from[link];
    }

    int to(int link) {
      return to[link];
    }

    double rate(int link) {
      return rate[link];
    }

    /** By node, the narrower of what leaves and what enters it. */
    double[] portRates() {
      double[] out = new double[nodes];
      double[] in = new double[nodes];
      for (int i = 0; i < from.length; i++) {
        out[from[i]] += rate[i];
        in[to[i]] += rate[i];
      }
      Arrays.setAll(out, v -> Math.min(out[v], in[v]));
      return out;
    }

    /** Least latency from a node to each other one; {@link Long#MAX_VALUE} without a way. */
    long[] distances(int source) {
      long[] distance = new long[nodes];
      Arrays.fill(distance, Long.MAX_VALUE);
      distance[source] = 0;
      PriorityQueue<long[]> queue = new PriorityQueue<>((a, b) -> Long.compare(a[0], b[0]));
      queue.add(new long[] {0, source});
      while (!queue.isEmpty()) {
        long[] head = queue.remove();
        int v = (int) head[1];
        if (head[0] > distance[v]) {
          continue;
        }
        for (int i = first[v]; i < first[v + 1]; i++) {
          int link = order[i];
          long through = head[0] + latency[link];
          if (through < distance[to[link]]) {
            distance[to[link]] = through;
            queue.add(new long[] {through, to[link]});
          }
        }
      }
      return distance;
    }

    /**
     * Gives each unsettled node that a link leaves or enters to the neighbour that reaches it
     * first.
     */
    void spread(int[] rankOf) {
      boolean again = true;
      while (again) {
        again = false;
        int[] before = rankOf.clone();
        for (int i = 0; i < from.length; i++) {
          if (before[from[i]] < 0 && before[to[i]] >= 0 && rankOf[from[i]] < 0) {
            rankOf[from[i]] = before[to[i]];
            again = true;
          } else if (before[to[i]] < 0 && before[from[i]] >= 0 && rankOf[to[i]] < 0) {
            rankOf[to[i]] = before[from[i]];
            again = true;
          }
        }
      }
    }
  }
}
