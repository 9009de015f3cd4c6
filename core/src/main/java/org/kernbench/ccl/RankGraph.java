package org.kernbench.ccl;

import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import org.kernbench.machine.LinkKind;
import org.kernbench.machine.LinkSpec;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.torch.RankLevel;

/**
 * The machine as its ranks see it: each node given to a rank, so that every link lies inside a rank
 * or between two. What holds for cuts of this graph holds for the machine, for a set of ranks with
 * all that was given to them is a set of nodes.
 *
 * <p>A rank has the nodes of its device (package, cube, or the PE alone); nodes of nobody go to the
 * rank that reaches them first. Only links that some route between two ranks uses count, since no
 * message takes another.
 */
final class RankGraph {
  /** Ranks up to which the links of all routes are collected; beyond, all but the host's count. */
  private static final int ALL_ROUTES = 128;

  /** Ranks up to which the distances of all pairs are computed. */
  private static final int ALL_DISTANCES = 32;

  private final int ranks;
  private final int[] leadNodes;
  private final int[] sips;
  private final Directed links;
  private final int[] rankOf;
  private final int[] from;
  private final int[] to;
  private final double[] rate;

  /** By rank: what its PE can send, and receive, in bytes per second. */
  private final double[] portOut;

  private final double[] portIn;

  RankGraph(Machine machine, List<Pe> leads) {
    ranks = leads.size();
    leadNodes = leads.stream().mapToInt(machine::peNode).toArray();
    sips = sips(leads);
    links = new Directed(machine, usedLinks(machine, leads));
    rankOf = new int[machine.nodeCount()];
    Arrays.fill(rankOf, -1);
    settle(machine, leads);
    spread();
    Map<Long, Integer> between = new HashMap<>();
    double[] sum = new double[links.size()];
    int[] a = new int[links.size()];
    int[] b = new int[links.size()];
    portOut = new double[ranks];
    portIn = new double[ranks];
    for (int i = 0; i < links.size(); i++) {
      int u = rankOf[links.from[i]];
      int v = rankOf[links.to[i]];
      if (u != v && u >= 0 && v >= 0) {
        int at = between.computeIfAbsent(((long) u << 32) | v, k -> between.size());
        a[at] = u;
        b[at] = v;
        sum[at] += links.rate[i];
      }
    }
    from = Arrays.copyOf(a, between.size());
    to = Arrays.copyOf(b, between.size());
    rate = Arrays.copyOf(sum, between.size());
    ports();
  }

  private void ports() {
    Map<Integer, Integer> rankAt = new HashMap<>();
    for (int rank = 0; rank < ranks; rank++) {
      rankAt.put(leadNodes[rank], rank);
    }
    for (int i = 0; i < links.size(); i++) {
      Integer sender = rankAt.get(links.from[i]);
      Integer receiver = rankAt.get(links.to[i]);
      if (sender != null) {
        portOut[sender] += links.rate[i];
      }
      if (receiver != null) {
        portIn[receiver] += links.rate[i];
      }
    }
  }

  /** A graph of its own, without a machine, whose ports never bind: for questions about cuts. */
  RankGraph(int ranks, int[] from, int[] to, double[] rate) {
    this.ranks = ranks;
    this.leadNodes = new int[0];
    this.sips = new int[ranks];
    this.links = new Directed(0);
    this.rankOf = new int[0];
    this.from = from.clone();
    this.to = to.clone();
    this.rate = rate.clone();
    this.portOut = new double[ranks];
    this.portIn = new double[ranks];
    Arrays.fill(portOut, Double.POSITIVE_INFINITY);
    Arrays.fill(portIn, Double.POSITIVE_INFINITY);
  }

  private static BitSet usedLinks(Machine machine, List<Pe> leads) {
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

  // ---- whose a node is ----

  private void settle(Machine machine, List<Pe> leads) {
    RankLevel level = level(leads);
    Map<Pe, Integer> owners = new HashMap<>();
    for (int rank = 0; rank < ranks; rank++) {
      rankOf[leadNodes[rank]] = rank;
      owners.put(device(level, leads.get(rank).sip(), leads.get(rank).cube()), rank);
    }
    if (level == RankLevel.PE) {
      return;
    }
    for (int id = 0; id < rankOf.length; id++) {
      int sip = machine.packageOf(id);
      int cube = level == RankLevel.SIP ? 0 : machine.node(id).cube();
      if (sip < machine.sips() && cube >= 0) {
        rankOf[id] = owners.getOrDefault(device(level, sip, cube), -1);
      }
    }
  }

  private static Pe device(RankLevel level, int sip, int cube) {
    return new Pe(sip, level == RankLevel.SIP ? 0 : cube, 0);
  }

  /** The largest devices that no two ranks share. */
  private static RankLevel level(List<Pe> leads) {
    long sips = leads.stream().mapToInt(Pe::sip).distinct().count();
    long cubes =
        leads.stream().map(p -> device(RankLevel.CUBE, p.sip(), p.cube())).distinct().count();
    return sips == leads.size()
        ? RankLevel.SIP
        : cubes == leads.size() ? RankLevel.CUBE : RankLevel.PE;
  }

  /** Gives each unsettled node to the neighbour that reaches it first. */
  private void spread() {
    boolean again = true;
    while (again) {
      again = false;
      int[] before = rankOf.clone();
      for (int i = 0; i < links.size(); i++) {
        int u = links.from[i];
        int v = links.to[i];
        if (before[u] < 0 && before[v] >= 0 && rankOf[u] < 0) {
          rankOf[u] = before[v];
          again = true;
        } else if (before[v] < 0 && before[u] >= 0 && rankOf[v] < 0) {
          rankOf[v] = before[u];
          again = true;
        }
      }
    }
  }

  /** By rank the number of its package, counted among those that take part. */
  private static int[] sips(List<Pe> leads) {
    Map<Integer, Integer> numbers = new HashMap<>();
    int[] sips = new int[leads.size()];
    for (int rank = 0; rank < sips.length; rank++) {
      sips[rank] = numbers.computeIfAbsent(leads.get(rank).sip(), s -> numbers.size());
    }
    return sips;
  }

  // ---- as a graph ----

  int ranks() {
    return ranks;
  }

  /** By rank, the number of its package. */
  int[] sips() {
    return sips.clone();
  }

  /** Directed edges between ranks; parallel links are one. */
  int edges() {
    return from.length;
  }

  int from(int edge) {
    return from[edge];
  }

  int to(int edge) {
    return to[edge];
  }

  /** Bytes per second. */
  double rate(int edge) {
    return rate[edge];
  }

  double portOut(int rank) {
    return portOut[rank];
  }

  double portIn(int rank) {
    return portIn[rank];
  }

  /** All PEs' ports together, the narrower direction. */
  double allPorts() {
    return Math.min(Arrays.stream(portOut).sum(), Arrays.stream(portIn).sum());
  }

  /** The same with every edge turned round. */
  RankGraph reversed() {
    return new RankGraph(this);
  }

  private RankGraph(RankGraph other) {
    ranks = other.ranks;
    leadNodes = other.leadNodes;
    sips = other.sips;
    links = other.links;
    rankOf = other.rankOf;
    from = other.to;
    to = other.from;
    rate = other.rate;
    portOut = other.portIn;
    portIn = other.portOut;
  }

  // ---- distances ----

  /** Least latency in ps from a rank's PE to each other's, whatever the routes. */
  long[] distancesFrom(int rank) {
    long[] all = links.distances(leadNodes[rank]);
    long[] result = new long[ranks];
    Arrays.setAll(result, r -> all[leadNodes[r]]);
    return result;
  }

  /** The largest distance between two ranks; of very many ranks, one that is not too large. */
  long diameterPs() {
    long diameter = 0;
    if (ranks <= ALL_DISTANCES) {
      for (int rank = 0; rank < ranks; rank++) {
        diameter = Math.max(diameter, Arrays.stream(distancesFrom(rank)).max().orElse(0));
      }
      return diameter;
    }
    // From one end to the other and back: exact on lines, rings, meshes and tori, never too much.
    int at = 0;
    for (int sweep = 0; sweep < 6; sweep++) {
      long[] distances = distancesFrom(at);
      for (int rank = 0; rank < ranks; rank++) {
        if (distances[rank] > diameter || (rank == 0 && sweep > 0)) {
          diameter = Math.max(diameter, distances[rank]);
        }
        if (distances[rank] > distances[at]) {
          at = rank;
        }
      }
    }
    return diameter;
  }

  /** The links that messages may use, as arrays. */
  private static final class Directed {
    private final int nodes;
    private final int[] from;
    private final int[] to;
    private final long[] latency;
    private final double[] rate;

    /** Those that leave node v are order[first[v]] to order[first[v + 1] - 1]. */
    private final int[] first;

    private final int[] order;

    /** No links. */
    Directed(int nodes) {
      this.nodes = nodes;
      from = new int[0];
      to = new int[0];
      latency = new long[0];
      rate = new double[0];
      first = new int[nodes + 1];
      order = new int[0];
    }

    Directed(Machine machine, BitSet used) {
      int n = used.cardinality();
      nodes = machine.nodeCount();
      from = new int[n];
      to = new int[n];
      latency = new long[n];
      rate = new double[n];
      int i = 0;
      for (int id = used.nextSetBit(0); id >= 0; id = used.nextSetBit(id + 1)) {
        LinkSpec link = machine.specOf(id);
        from[i] = machine.linkFrom(id);
        to[i] = machine.linkTo(id);
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
  }
}
