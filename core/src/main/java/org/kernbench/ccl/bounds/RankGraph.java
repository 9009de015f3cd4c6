package org.kernbench.ccl.bounds;

import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.torch.placement.RankLevel;

/**
 * The machine as its ranks see it: every node belongs to a rank or to a <em>relay</em>, so that
 * every link lies inside one of them or between two. What holds for cuts of this graph holds for
 * the machine, for a set of ranks and relays is a set of nodes.
 *
 * <p>A rank has the nodes of its device (package, cube, or the PE with its slice of HBM). A relay
 * is what belongs to nobody: a switch, an IO chiplet, a router between PEs that are ranks, another
 * package or cube as a whole. Bytes pass through it and may lie in its memory, but it runs no
 * program: it neither combines vectors nor makes two messages of one.
 *
 * <p>Only links on a route between a rank's PE and a PE or a memory count: kernels reach nothing in
 * another way.
 */
public final class RankGraph {
  /** Ranks up to which the distances of all pairs are computed. */
  private static final int ALL_DISTANCES = 32;

  private final int ranks;
  private final int nodes;
  private final int[] leadNodes;
  private final int[] memories;
  private final int[] sips;
  private final BitSet isLead = new BitSet();
  private final Directed links;
  private final Directed backwards;

  /** By node of this graph the rank that has it or reaches it first. */
  private final int[] nearest;

  private final int[] from;
  private final int[] to;
  private final double[] rate;

  /** By rank: what its PE can send, and receive, in bytes per second. */
  private final double[] portOut;

  private final double[] portIn;

  private long[] ownRoundTripsPs = {};
  private long[] foreignRepliesPs = {};

  public RankGraph(Machine machine, List<Pe> leads) {
    ranks = leads.size();
    leadNodes = leads.stream().mapToInt(machine::peNode).toArray();
    memories = leads.stream().mapToInt(pe -> controller(machine, pe)).toArray();
    sips = sips(leads);
    RankLevel level = level(leads);
    links = new Directed(machine, UsedLinks.of(machine, leads, level));
    backwards = new Directed(links);
    for (int lead : leadNodes) {
      isLead.set(lead);
    }
    int[] nodeOf = new Owners(machine, level, leads).nodes();
    Map<Long, Double> sums = new LinkedHashMap<>();
    for (int i = 0; i < links.size(); i++) {
      int u = nodeOf[links.from[i]];
      int v = nodeOf[links.to[i]];
      if (u != v) {
        sums.merge(((long) u << 32) | v, links.rate[i], Double::sum);
      }
    }
    dropDeadEnds(sums);
    from = sums.keySet().stream().mapToInt(key -> (int) (key >> 32)).toArray();
    to = sums.keySet().stream().mapToInt(Long::intValue).toArray();
    rate = sums.values().stream().mapToDouble(r -> r).toArray();
    nodes = number();
    nearest = nearest();
    portOut = new double[ranks];
    portIn = new double[ranks];
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

  /**
   * A graph of its own, without a machine, whose ports never bind: for questions about cuts.
   *
   * @param nodes of which the first {@code ranks} are ranks, the others relays
   */
  RankGraph(int ranks, int nodes, int[] from, int[] to, double[] rate) {
    this.ranks = ranks;
    this.nodes = nodes;
    this.leadNodes = new int[0];
    this.memories = new int[0];
    this.sips = new int[ranks];
    this.links = new Directed(0);
    this.backwards = links;
    this.from = from.clone();
    this.to = to.clone();
    this.rate = rate.clone();
    this.nearest = nearest();
    this.portOut = new double[ranks];
    this.portIn = new double[ranks];
    Arrays.fill(portOut, Double.POSITIVE_INFINITY);
    Arrays.fill(portIn, Double.POSITIVE_INFINITY);
  }

  /** Seconds per byte that must leave and enter each rank: of the one whose links take longest. */
  double busiestRank() {
    double[] out = new double[ranks];
    double[] in = new double[ranks];
    for (int e = 0; e < edges(); e++) {
      if (from[e] < ranks) {
        out[from[e]] += rate[e];
      }
      if (to[e] < ranks) {
        in[to[e]] += rate[e];
      }
    }
    double least = Double.POSITIVE_INFINITY;
    for (int rank = 0; rank < ranks; rank++) {
      least = Math.min(least, Math.min(out[rank], in[rank]));
    }
    return 1 / least;
  }

  /** The controller of a PE's slice of HBM. */
  private static int controller(Machine machine, Pe pe) {
    int[] route = machine.route(machine.peNode(pe), machine.hbmNode(pe)).links();
    for (int link : route) {
      if (machine.linkKind(link).isMemoryPort()) {
        return machine.linkFrom(link);
      }
    }
    throw new IllegalStateException("bug: no memory port on the way from " + pe + " to its slice");
  }

  // ---- whose a node is ----

  /**
   * Gives every node of the machine to a rank, or to one of the relays, which count from ranks on.
   */
  private final class Owners {
    private final Machine machine;
    private final RankLevel level;
    private final Map<Pe, Integer> ofDevice = new HashMap<>();
    private final Map<Object, Integer> relays = new HashMap<>();
    private final Set<Pe> cubes = new HashSet<>();

    Owners(Machine machine, RankLevel level, List<Pe> leads) {
      this.machine = machine;
      this.level = level;
      for (int rank = 0; rank < ranks; rank++) {
        Pe lead = leads.get(rank);
        ofDevice.put(device(level, lead.sip(), lead.cube()), rank);
        cubes.add(device(RankLevel.CUBE, lead.sip(), lead.cube()));
      }
    }

    int[] nodes() {
      int[] nodeOf = new int[machine.nodeCount()];
      for (int id = 0; id < nodeOf.length; id++) {
        nodeOf[id] = node(id);
      }
      if (level == RankLevel.PE) {
        for (int rank = 0; rank < ranks; rank++) {
          nodeOf[leadNodes[rank]] = rank;
          nodeOf[memories[rank]] = rank;
        }
      }
      return nodeOf;
    }

    private int node(int id) {
      int sip = machine.packageOf(id);
      if (sip >= machine.sips()) {
        return relay(id); // a switch
      }
      if (level == RankLevel.SIP) {
        return whole(device(level, sip, 0));
      }
      int cube = machine.node(id).cube();
      if (cube < 0) {
        return relay(id); // an IO chiplet
      }
      Pe here = device(RankLevel.CUBE, sip, cube);
      return level == RankLevel.PE && cubes.contains(here) ? relay(id) : whole(here);
    }

    private int whole(Pe device) {
      Integer owner = level == RankLevel.PE ? null : ofDevice.get(device);
      return owner == null ? relay(device) : owner;
    }

    private int relay(Object what) {
      return relays.computeIfAbsent(what, w -> ranks + relays.size());
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

  /** What enters a relay with one neighbour can only go back. */
  private void dropDeadEnds(Map<Long, Double> edges) {
    boolean again = true;
    while (again) {
      Map<Integer, Set<Integer>> neighbours = new HashMap<>();
      for (long edge : edges.keySet()) {
        int u = (int) (edge >> 32);
        int v = (int) edge;
        neighbours.computeIfAbsent(u, k -> new HashSet<>()).add(v);
        neighbours.computeIfAbsent(v, k -> new HashSet<>()).add(u);
      }
      again =
          edges
              .keySet()
              .removeIf(edge ->
                  isDeadEnd((int) (edge >> 32), neighbours)
                      || isDeadEnd((int) (long) edge, neighbours));
    }
  }

  private boolean isDeadEnd(int node, Map<Integer, Set<Integer>> neighbours) {
    return node >= ranks && neighbours.getOrDefault(node, Set.of()).size() < 2;
  }

  /** Numbers the relays that are left from {@code ranks} on; how many nodes there are. */
  private int number() {
    Map<Integer, Integer> numbers = new HashMap<>();
    for (int[] ends : new int[][] {from, to}) {
      for (int i = 0; i < ends.length; i++) {
        if (ends[i] >= ranks) {
          ends[i] = numbers.computeIfAbsent(ends[i], k -> ranks + numbers.size());
        }
      }
    }
    return ranks + numbers.size();
  }

  private int[] nearest() {
    int[] owner = new int[nodes];
    Arrays.setAll(owner, v -> v < ranks ? v : -1);
    boolean again = true;
    while (again) {
      again = false;
      int[] before = owner.clone();
      for (int i = 0; i < from.length; i++) {
        if (before[from[i]] < 0 && before[to[i]] >= 0 && owner[from[i]] < 0) {
          owner[from[i]] = before[to[i]];
          again = true;
        } else if (before[to[i]] < 0 && before[from[i]] >= 0 && owner[to[i]] < 0) {
          owner[to[i]] = before[from[i]];
          again = true;
        }
      }
    }
    return owner;
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

  /** Ranks and relays; ranks come first. */
  int nodes() {
    return nodes;
  }

  /** The rank that a node is or, of a relay, one that is next to it; -1 if it is next to none. */
  int nearest(int node) {
    return nearest[node];
  }

  /** By rank, the number of its package. */
  int[] sips() {
    return sips.clone();
  }

  /** Directed edges between nodes; parallel links are one. */
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

  /** What all PEs together can send, in bytes per second. */
  double allPortsOut() {
    return Arrays.stream(portOut).sum();
  }

  /** What all PEs together can receive. */
  double allPortsIn() {
    return Arrays.stream(portIn).sum();
  }

  /** The graph with every edge turned round. */
  RankGraph reversed() {
    return new RankGraph(this);
  }

  private RankGraph(RankGraph other) {
    ranks = other.ranks;
    nodes = other.nodes;
    leadNodes = other.leadNodes;
    memories = other.memories;
    sips = other.sips;
    links = other.links; // distances are asked of the graph as it is
    backwards = other.backwards;
    isLead.or(other.isLead);
    nearest = other.nearest;
    from = other.to;
    to = other.from;
    rate = other.rate;
    portOut = other.portIn;
    portIn = other.portOut;
  }

  // ---- distances ----

  /** Least latency in ps from a rank's PE to each other's, whatever the routes. */
  long[] distancesFrom(int rank) {
    return at(leadNodes, links.distances(only(leadNodes[rank])));
  }

  /**
   * Least time in ps from the first request to a rank's memory to the acknowledgement of each
   * rank's memory, of a load by some PE, a store by the same or another, and nothing else: without
   * set-ups, accesses and bytes. Ways are the shortest there are, whatever the routes.
   *
   * @param handOverPs what it takes at least to hand something from one PE to another, ways aside
   */
  long[] memoryDistancesFrom(int rank, long handOverPs) {
    long[] requests = backwards.distances(only(memories[rank]));
    long[] replies = links.distances(only(memories[rank]));
    long[] loaded = never();
    long[] handedOver = never();
    for (int lead : leadNodes) {
      loaded[lead] = sum(requests[lead], replies[lead]);
      handedOver[lead] = sum(loaded[lead], handOverPs);
    }
    long[] received = links.distances(handedOver);
    for (int lead : leadNodes) {
      loaded[lead] = Math.min(loaded[lead], received[lead]);
    }
    long[] written = links.distances(loaded);
    long[] result = new long[ranks];
    for (int to = 0; to < ranks; to++) {
      long ownStore = sum(loaded[leadNodes[to]], ownRoundTripsPs()[to]);
      result[to] = Math.min(ownStore, sum(written[memories[to]], foreignRepliesPs()[to]));
    }
    return result;
  }

  /** By rank, worked out once: every distance asks for those of all ranks. */
  private long[] ownRoundTripsPs() {
    if (ownRoundTripsPs.length < ranks) {
      ownRoundTripsPs = IntStream.range(0, ranks).mapToLong(this::ownRoundTripPs).toArray();
    }
    return ownRoundTripsPs;
  }

  /** By rank, likewise. */
  private long[] foreignRepliesPs() {
    if (foreignRepliesPs.length < ranks) {
      foreignRepliesPs = IntStream.range(0, ranks).mapToLong(this::foreignReplyPs).toArray();
    }
    return foreignRepliesPs;
  }

  /** A store to a rank's memory by its own PE: the way there and back. */
  private long ownRoundTripPs(int rank) {
    return sum(
        links.nearest(leadNodes[rank], node -> node == memories[rank]),
        links.nearest(memories[rank], node -> node == leadNodes[rank]));
  }

  /** The way from a rank's memory to the nearest PE of another. */
  private long foreignReplyPs(int rank) {
    return links.nearest(memories[rank], node -> node != leadNodes[rank] && isLead.get(node));
  }

  private long[] never() {
    long[] all = new long[links.nodes];
    Arrays.fill(all, Long.MAX_VALUE);
    return all;
  }

  private static long sum(long a, long b) {
    return a == Long.MAX_VALUE || b == Long.MAX_VALUE ? Long.MAX_VALUE : a + b;
  }

  private long[] only(int node) {
    long[] start = never();
    start[node] = 0;
    return start;
  }

  private static long[] at(int[] nodes, long[] distances) {
    return Arrays.stream(nodes).mapToLong(node -> distances[node]).toArray();
  }

  /** The largest distance between two ranks; of very many ranks, one that is not too large. */
  long diameterPs() {
    return diameterPs(this::distancesFrom);
  }

  /** As {@link #diameterPs}, by {@link #memoryDistancesFrom}. */
  long memoryDiameterPs(long handOverPs) {
    return diameterPs(rank -> memoryDistancesFrom(rank, handOverPs));
  }

  private long diameterPs(IntFunction<long[]> distancesFrom) {
    long diameter = 0;
    if (ranks <= ALL_DISTANCES) {
      for (int rank = 0; rank < ranks; rank++) {
        long[] distances = distancesFrom.apply(rank);
        for (int other = 0; other < ranks; other++) {
          diameter = other == rank ? diameter : Math.max(diameter, distances[other]);
        }
      }
      return diameter;
    }
    // From one end to the other and back: exact on lines, rings, meshes and tori, never too much.
    int at = 0;
    for (int sweep = 0; sweep < 6; sweep++) {
      int source = at;
      long[] distances = distancesFrom.apply(source);
      for (int rank = 0; rank < ranks; rank++) {
        if (rank != source) {
          diameter = Math.max(diameter, distances[rank]);
        }
        if (rank != source && (at == source || distances[rank] > distances[at])) {
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

    /** Of a link on which messages pass each other, bytes per second. */
    private static final double UNLIMITED = 1e18;

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
      for (int id = used.nextSetBit(0); id >= 0; id = used.nextSetBit(id + 1)) {
        used.set(id, !machine.linkKind(id).isMemoryPort()); // an access has no least latency
      }
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
        latency[i] = link.latencyPs() + machine.messagePs(id);
        boolean isFree =
            machine.isUncontended(id) || link.rate().isInWholeNs(); // small ones take 0
        rate[i++] = isFree ? UNLIMITED : link.rate().bytesPerSecond();
      }
      first = new int[nodes + 1];
      order = new int[n];
      index();
    }

    /** The links the other way. */
    Directed(Directed other) {
      nodes = other.nodes;
      from = other.to;
      to = other.from;
      latency = other.latency;
      rate = other.rate;
      first = new int[nodes + 1];
      order = new int[from.length];
      index();
    }

    private void index() {
      for (int v : from) {
        first[v + 1]++;
      }
      for (int v = 0; v < nodes; v++) {
        first[v + 1] += first[v];
      }
      int[] next = first.clone();
      for (int link = 0; link < from.length; link++) {
        order[next[from[link]]++] = link;
      }
    }

    int size() {
      return from.length;
    }

    /**
     * Least latency to each node; {@link Long#MAX_VALUE} without a way.
     *
     * @param start by node, when something is there that goes on; {@link Long#MAX_VALUE} for never
     */
    long[] distances(long[] start) {
      long[] distance = start.clone();
      PriorityQueue<long[]> queue = new PriorityQueue<>((a, b) -> Long.compare(a[0], b[0]));
      for (int v = 0; v < nodes; v++) {
        if (start[v] < Long.MAX_VALUE) {
          queue.add(new long[] {start[v], v});
        }
      }
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

    /** Least latency to the nearest of some nodes; {@link Long#MAX_VALUE} without a way. */
    long nearest(int source, IntPredicate wanted) {
      Map<Integer, Long> distance = new HashMap<>(Map.of(source, 0L));
      PriorityQueue<long[]> queue = new PriorityQueue<>((a, b) -> Long.compare(a[0], b[0]));
      queue.add(new long[] {0, source});
      while (!queue.isEmpty()) {
        long[] head = queue.remove();
        int v = (int) head[1];
        if (wanted.test(v)) {
          return head[0];
        }
        for (int i = first[v]; i < first[v + 1]; i++) {
          int link = order[i];
          long through = head[0] + latency[link];
          if (through < distance.getOrDefault(to[link], Long.MAX_VALUE)) {
            distance.put(to[link], through);
            queue.add(new long[] {through, to[link]});
          }
        }
      }
      return Long.MAX_VALUE;
    }
  }
}
