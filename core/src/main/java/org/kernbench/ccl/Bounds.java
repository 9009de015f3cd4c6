package org.kernbench.ccl;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.kernbench.machine.LinkKind;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * Lower bounds of collectives, from the machine alone: no algorithm can be faster.
 *
 * <ul>
 *   <li><b>latency</b>: a result depends on contributions of other ranks, so a message must have
 *       gone from each of those: {@code T >= o + distance + s/B}, with the distance over the
 *       fastest links, and the bytes s that depend on that rank through the receiver's own port at
 *       B.
 *   <li><b>traffic</b>: bytes must cross every cut of the machine with ranks on both sides. For an
 *       all-reduce, cut the machine into k parts: to combine the parts' contributions and to hand
 *       the results back takes {@code 2 (k - 1)} messages across the cut for each element,
 *       combining on the way included: {@code T >= 2 (k-1) S / C}, where C is the bandwidth of all
 *       directed links between parts. The best such cut is the graph's <em>strength</em> (Tutte,
 *       Nash-Williams). Each direction of a cut in two carries S as well, which binds where links
 *       are asymmetric. Up to {@value #EXACT} ranks the best cuts are found by minimum cuts (see
 *       {@link Cuts}); beyond, the obvious ones are tried, which are the best on rings, meshes and
 *       tori.
 *   <li><b>port</b>: only PEs combine and copy, so all messages pass their ports: the same counts
 *       against what one PE, and all PEs together, can send and receive. If the vectors are tensors
 *       in memory, loads and stores pass there as well.
 * </ul>
 *
 * <p>The object that {@link #of(Machine, List)} gives bounds a program on tensors in memory; the
 * constructor gives the network alone.
 */
public final class Bounds {
  /** Ranks up to which the best cuts are searched for. */
  private static final int EXACT = 128;

  /** Ranks up to which all cuts of an all-to-all are tried. */
  private static final int ALL_SUBSETS = 12;

  private static final double PS_PER_SECOND = 1e12;

  /** So that rounding never lifts a bound above the truth. */
  private static final double ROUNDING = 1 - 1e-9;

  private final int ranks;
  private final boolean inMemory;
  private final RankGraph graph;
  private final Cuts cuts;
  private final long overheadPs;
  private final long memoryPs;
  private final double fastestPort;
  private double allReducePerByte = -1;
  private long diameterPs = -1;

  /**
   * A lower bound.
   *
   * @param ps no run takes less, in picoseconds
   * @param kind {@code latency}, {@code traffic} or {@code port}
   */
  public record Bound(long ps, String kind) {}

  /** Analyses a group once for vectors that lie in the PEs already. */
  public Bounds(Machine machine, List<Pe> leads) {
    this(machine, leads, false);
  }

  private Bounds(Machine machine, List<Pe> leads, boolean inMemory) {
    this.ranks = leads.size();
    this.inMemory = inMemory;
    this.graph = new RankGraph(machine, leads);
    this.cuts = new Cuts(graph);
    this.overheadPs = machine.pe().dma().messageOverheadPs();
    this.memoryPs = inMemory ? memoryPs(machine, leads.get(0)) : 0;
    this.fastestPort = machine.spec(LinkKind.ROUTER_TO_PE).rate().bytesPerSecond();
  }

  /** Analyses a group once for tensors in memory: every program loads them and stores results. */
  public static Bounds of(Machine machine, List<Pe> leads) {
    return new Bounds(machine, leads, true);
  }

  /**
   * The bound of an all-reduce of tensors.
   *
   * @param leads by rank, the PEs that take part
   * @param bytes of each rank's vector
   */
  public static Bound allReduce(Machine machine, List<Pe> leads, long bytes) {
    return of(machine, leads).allReduce(bytes);
  }

  /** The way to the memory and back for a load, and for a store, without the access itself. */
  private static long memoryPs(Machine machine, Pe pe) {
    int[] there = machine.route(machine.peNode(pe), machine.hbmNode(pe));
    int[] back = machine.route(machine.hbmNode(pe), machine.peNode(pe));
    long links = withoutAccess(machine, there) + withoutAccess(machine, back);
    return 2 * (links + machine.pe().dma().setupPs());
  }

  private static long withoutAccess(Machine machine, int[] route) {
    return IntStream.of(route)
        .filter(link -> !machine.linkKind(link).isMemoryPort())
        .mapToLong(link -> machine.specOf(link).latencyPs())
        .sum();
  }

  // ---- operations ----

  /**
   * The bound of an all-reduce.
   *
   * @param bytes of each rank's vector
   */
  public Bound allReduce(long bytes) {
    if (bytes == 0 || ranks < 2) {
      return new Bound(0, "latency");
    }
    double messages = 2.0 * (ranks - 1) * bytes;
    double[] each = filled(bytes);
    return best(latencyPs(bytes), trafficPs(bytes), ports(messages, each, each, each, each));
  }

  /** The latency bound of an all-reduce alone, in picoseconds. */
  public long latencyPs(long bytes) {
    return ranks < 2 ? 0 : latency(diameterPs(), bytes);
  }

  /**
   * The traffic bound of an all-reduce alone, in whole picoseconds like every simulated time, so
   * rounded up.
   */
  public long trafficPs(long bytes) {
    if (ranks < 2) {
      return 0;
    }
    if (allReducePerByte < 0) {
      allReducePerByte = Math.max(2 / strength(), ranks <= EXACT ? cuts.everywhere() : 0);
    }
    return ps(allReducePerByte * bytes);
  }

  /**
   * The bound of a reduce-scatter.
   *
   * @param parts bytes of the result that each rank gets
   */
  public Bound reduceScatter(List<Long> parts) {
    return spread(parts, true);
  }

  /**
   * The bound of an all-gather.
   *
   * @param parts bytes that each rank gives
   */
  public Bound allGather(List<Long> parts) {
    return spread(parts, false);
  }

  private Bound spread(List<Long> parts, boolean reduces) {
    double[] part = parts.stream().mapToDouble(p -> p).toArray();
    double total = Arrays.stream(part).sum();
    if (ranks < 2 || total == 0) {
      return new Bound(0, "latency");
    }
    double[] others = new double[ranks];
    Arrays.setAll(others, r -> total - part[r]);
    // What must come in at a rank: an all-gather's others, a reduce-scatter's own part combined.
    double[] in = reduces ? part : others;
    double[] out = reduces ? others : part;
    double[] loads = reduces ? filled(total) : part;
    double[] stores = reduces ? part : others;
    Cuts directed = reduces ? new Cuts(graph.reversed()) : cuts;
    double traffic;
    if (ranks <= EXACT) {
      traffic = directed.gatheredByAll(part);
    } else {
      traffic = total / strength(); // each part to k - 1 other ones
    }
    long latency = 0;
    for (int v = 0; v < Math.min(ranks, EXACT); v++) {
      long[] distances = graph.distancesFrom(v);
      for (int u = 0; u < ranks; u++) {
        double bytes = reduces ? part[u] : part[v];
        if (u != v && bytes > 0) {
          latency = Math.max(latency, latency(distances[u], bytes));
        }
      }
    }
    return best(latency, ps(traffic), ports((ranks - 1) * total, out, in, loads, stores));
  }

  /**
   * The bound of a broadcast.
   *
   * @param root rank that has the vector
   * @param bytes of the vector
   */
  public Bound broadcast(int root, long bytes) {
    return rooted(root, bytes, false);
  }

  /**
   * The bound of a reduction to one rank.
   *
   * @param root rank that gets the result
   * @param bytes of each rank's vector
   */
  public Bound reduce(int root, long bytes) {
    return rooted(root, bytes, true);
  }

  private Bound rooted(int root, long bytes, boolean reduces) {
    if (bytes == 0 || ranks < 2) {
      return new Bound(0, "latency");
    }
    RankGraph directed = reduces ? graph.reversed() : graph;
    double traffic = ranks <= EXACT ? new Cuts(directed).fromRoot(root) * bytes : 0;
    double[] all = filled(bytes);
    double[] one = new double[ranks];
    one[root] = bytes;
    double[] others = filled(bytes);
    others[root] = 0;
    double ports =
        reduces
            ? ports((ranks - 1.0) * bytes, others, one, all, one)
            : ports((ranks - 1.0) * bytes, one, others, one, others);
    return best(latency(eccentricityPs(root), bytes), ps(traffic), ports);
  }

  /**
   * The bound of a gather.
   *
   * @param root rank that gets all parts
   * @param parts bytes that each rank gives
   */
  public Bound gather(int root, List<Long> parts) {
    return toOne(root, parts, true);
  }

  /**
   * The bound of a scatter.
   *
   * @param root rank that has all parts
   * @param parts bytes that each rank gets
   */
  public Bound scatter(int root, List<Long> parts) {
    return toOne(root, parts, false);
  }

  private Bound toOne(int root, List<Long> parts, boolean gathers) {
    double[] part = parts.stream().mapToDouble(p -> p).toArray();
    double others = Arrays.stream(part).sum() - part[root];
    if (ranks < 2 || others == 0) {
      return new Bound(0, "latency");
    }
    Cuts directed = gathers ? cuts : new Cuts(graph.reversed());
    double traffic = directed.gatheredBy(root, part);
    long latency = 0;
    for (int v = 0; v < ranks; v++) {
      if (v != root && part[v] > 0) {
        long[] distances = graph.distancesFrom(gathers ? v : root);
        latency = Math.max(latency, latency(distances[gathers ? root : v], part[v]));
      }
    }
    double[] given = part.clone();
    given[root] = 0;
    double[] taken = new double[ranks];
    taken[root] = others;
    double ports =
        gathers
            ? ports(others, given, taken, given, taken)
            : ports(others, taken, given, taken, given);
    return best(latency, ps(traffic), ports);
  }

  /**
   * The bound of an all-to-all.
   *
   * @param sends bytes from each rank (row) to each other (column); what a rank keeps does not
   *     count
   */
  public Bound allToAll(List<List<Long>> sends) {
    double[][] bytes = new double[ranks][ranks];
    double total = 0;
    double[] in = new double[ranks];
    double[] out = new double[ranks];
    for (int u = 0; u < ranks; u++) {
      for (int v = 0; v < ranks; v++) {
        if (u != v) {
          bytes[u][v] = sends.get(u).get(v);
          total += bytes[u][v];
          out[u] += bytes[u][v];
          in[v] += bytes[u][v];
        }
      }
    }
    if (total == 0) {
      return new Bound(0, "latency");
    }
    long latency = 0;
    for (int u = 0; u < Math.min(ranks, EXACT); u++) {
      long[] distances = graph.distancesFrom(u);
      for (int v = 0; v < ranks; v++) {
        if (bytes[u][v] > 0) {
          latency = Math.max(latency, latency(distances[v], bytes[u][v]));
        }
      }
    }
    double traffic = Math.max(exchangedAcrossCuts(bytes), exchangedOverAllLinks(bytes));
    return best(latency, ps(traffic), ports(total, out, in, out, in));
  }

  /** All two-sided cuts of few ranks; of many, those between intervals of ranks. */
  private double exchangedAcrossCuts(double[][] bytes) {
    double worst = 0;
    if (ranks <= ALL_SUBSETS) {
      for (int set = 1; set < (1 << ranks) - 1; set++) {
        int inside = set;
        worst = Math.max(worst, cuts.crossing(crossing(bytes, inside), r -> (inside >> r & 1) > 0));
      }
      return worst;
    }
    for (int length = 1; length < ranks && ranks <= EXACT; length++) {
      for (int start = 0; start + length <= ranks; start++) {
        int first = start;
        int end = start + length;
        double sum = 0;
        for (int u = first; u < end; u++) {
          for (int v = 0; v < ranks; v++) {
            sum += v < first || v >= end ? bytes[u][v] : 0;
          }
        }
        worst = Math.max(worst, cuts.crossing(sum, r -> r >= first && r < end));
      }
    }
    return worst;
  }

  private double crossing(double[][] bytes, int inside) {
    double sum = 0;
    for (int u = 0; u < ranks; u++) {
      for (int v = 0; v < ranks; v++) {
        sum += (inside >> u & 1) > (inside >> v & 1) ? bytes[u][v] : 0;
      }
    }
    return sum;
  }

  /** Each byte takes at least the links of a shortest way, and all links together have C. */
  private double exchangedOverAllLinks(double[][] bytes) {
    if (ranks > EXACT) {
      return 0;
    }
    double[][] hops = new double[ranks][ranks];
    for (double[] row : hops) {
      Arrays.fill(row, Double.POSITIVE_INFINITY);
    }
    for (int e = 0; e < graph.edges(); e++) {
      hops[graph.from(e)][graph.to(e)] = 1 / graph.rate(e);
    }
    for (int w = 0; w < ranks; w++) {
      for (int u = 0; u < ranks; u++) {
        for (int v = 0; v < ranks; v++) {
          hops[u][v] = Math.min(hops[u][v], hops[u][w] + hops[w][v]);
        }
      }
    }
    double seconds = 0;
    for (int u = 0; u < ranks; u++) {
      for (int v = 0; v < ranks; v++) {
        seconds += bytes[u][v] > 0 ? bytes[u][v] * hops[u][v] : 0;
      }
    }
    return seconds / graph.edges();
  }

  /** The bound of a barrier: no rank leaves before it could have heard from the farthest. */
  public Bound barrier() {
    return new Bound(ranks < 2 ? 0 : overheadPs + diameterPs(), "latency");
  }

  /**
   * The bound of a message.
   *
   * @param from rank that sends
   * @param to rank that receives
   * @param bytes of the message
   */
  public Bound pointToPoint(int from, int to, long bytes) {
    double[] sent = new double[ranks];
    double[] received = new double[ranks];
    sent[from] = bytes;
    received[to] = bytes;
    return best(
        latency(graph.distancesFrom(from)[to], bytes),
        0,
        ports(bytes, sent, received, sent, received));
  }

  // ---- parts ----

  private double[] filled(double bytes) {
    double[] all = new double[ranks];
    Arrays.fill(all, bytes);
    return all;
  }

  private long latency(long distancePs, double bytes) {
    return overheadPs + memoryPs + distancePs + (long) (bytes / fastestPort * PS_PER_SECOND);
  }

  private long diameterPs() {
    if (diameterPs < 0) {
      diameterPs = graph.diameterPs();
    }
    return diameterPs;
  }

  /** Distance of the rank that is farthest from one, either way. */
  private long eccentricityPs(int rank) {
    return Arrays.stream(graph.distancesFrom(rank)).max().orElse(0);
  }

  /**
   * Seconds that the ports need.
   *
   * @param messages bytes that all PEs together send at least
   * @param out by rank, bytes that it sends at least
   * @param in by rank, bytes that it receives at least
   * @param loads by rank, bytes from memory if the vectors are there
   * @param stores by rank, bytes to memory if the vectors are there
   */
  private double ports(
      double messages, double[] out, double[] in, double[] loads, double[] stores) {
    double memory = inMemory ? least(loads, stores) : 0;
    double worst = (messages + memory) / graph.allPorts();
    for (int r = 0; r < ranks; r++) {
      worst = Math.max(worst, (in[r] + (inMemory ? loads[r] : 0)) / graph.portIn(r));
      worst = Math.max(worst, (out[r] + (inMemory ? stores[r] : 0)) / graph.portOut(r));
    }
    return worst;
  }

  private static double least(double[] loads, double[] stores) {
    return Math.min(Arrays.stream(loads).sum(), Arrays.stream(stores).sum());
  }

  /** Seconds per byte and partition: the least C / (k - 1) over the partitions that are tried. */
  private double strength() {
    if (ranks <= EXACT) {
      return cuts.strength();
    }
    int[] each = new int[ranks];
    Arrays.setAll(each, i -> i);
    double least = cuts.crossing(each) / (ranks - 1.0);
    int[] sips = graph.sips();
    int count = Arrays.stream(sips).max().orElse(0) + 1;
    if (count > 1) {
      least = Math.min(least, cuts.crossing(sips) / (count - 1.0));
    }
    for (int sip = 0; sip < count && count > 1 && count <= EXACT; sip++) {
      // The ranks of one package each for itself, all others together.
      int[] part = new int[ranks];
      int parts = 1;
      for (int rank = 0; rank < ranks; rank++) {
        part[rank] = sips[rank] == sip ? parts++ : 0;
      }
      least = Math.min(least, cuts.crossing(part) / (parts - 1.0));
    }
    return least;
  }

  private static long ps(double seconds) {
    return (long) Math.ceil(seconds * PS_PER_SECOND * ROUNDING);
  }

  private static Bound best(long latencyPs, long trafficPs, double portSeconds) {
    long portPs = ps(portSeconds);
    if (latencyPs >= trafficPs && latencyPs >= portPs) {
      return new Bound(latencyPs, "latency");
    }
    return portPs > trafficPs ? new Bound(portPs, "port") : new Bound(trafficPs, "traffic");
  }
}
