package org.kernbench.ccl.bounds;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.kernbench.machine.LevelCut;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.DmaSpec;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.SipTopology;

/**
 * Lower bounds of collectives, from the machine alone: no program can be faster, whether its PEs
 * send each other messages or read and write each other's memory.
 *
 * <p>Why they hold. Only PEs combine and copy, and switches that reduce: links, other switches and
 * memories hand on what they get, one transfer for each reader, and both directions of a link work
 * at once, each at its own rate.
 *
 * <ul>
 *   <li><b>latency</b>: a result depends on contributions of other ranks. Some PE loads such a
 *       contribution where it lies, and the same or another stores a result where it belongs: two
 *       set-ups; a request and its reply, bytes and their acknowledgement; and if there are two PEs
 *       the way between them after a message's overhead or a set-up. The cheapest choice of PEs
 *       counts, over the links with the least latency whatever the routes. Then all bytes s of the
 *       result that depend on it have yet to enter the memory, at B: {@code T >= 2 setup + ways +
 *       s/B}.
 *   <li><b>traffic</b>: cut the ranks into k parts, each with its PEs and memories and any relays.
 *       Take one element, and the first moment at which the contributions of all parts are known in
 *       one part, j. Something that depends on part i's has left part i, for each i but j; what
 *       enters a part was last computed in one part, so these are k - 1 transfers that have entered
 *       some part. From then on k - 1 parts have yet to learn the result, and something must enter
 *       each. So {@code 2 (k - 1)} elements enter parts for every element, combining on the way
 *       included, and {@code T >= 2 (k-1) S / C}, where C is all that can enter the parts. The best
 *       such cut is the graph's <em>strength</em> ({@link Cuts#strength}). A switch is in no part:
 *       what passes it leaves one rank's link and enters another's. Each direction of a cut in two
 *       carries S as well, which binds where links are asymmetric. Up to {@value #EXACT} ranks the
 *       best cuts are found by minimum cuts; beyond, the obvious ones are tried, which are the best
 *       on rings, meshes and tori.
 *   <li><b>in-switch traffic</b>, instead, where a switch between the ranks reduces: it merges
 *       contributions and hands the result out, so the argument with k parts does not hold. But
 *       something that depends on the ranks of each side of a cut in two enters the other: {@code T
 *       >= S / C} for the least directed cut, which on ports of one rate B is S/B.
 *   <li><b>memory</b>: what a rank gives is read from its slice of HBM and what it gets is written
 *       there, through the one port that reads and writes share.
 *   <li><b>port</b>: every contribution enters a PE and every result leaves one. Which PE is the
 *       program's choice, so this counts against the ports of all of them together.
 * </ul>
 *
 * <p>Bytes stand for elements: a program that would encode several elements in fewer bytes than
 * they have is outside of this.
 *
 * <p>The object that {@link #of(Machine, List)} gives bounds a program on tensors in memory. The
 * constructor gives the network alone, for vectors that lie in the PEs already and programs that
 * send messages, as closed forms assume: distances from PE to PE after one message's overhead, and
 * every message counts against the ports of sender and receiver.
 */
public final class Bounds {
  /** Ranks beyond which a ring is not looked at whole. */
  private static final int LONG_RING = 1024;

  private static final int SMALL_RING = 16;

  /** Ranks up to which the best cuts are searched for. */
  private static final int EXACT = 128;

  /** Ranks up to which all cuts of an all-to-all are tried. */
  private static final int ALL_SUBSETS = 12;

  /** Ranks and relays up to which the ways of an all-to-all are added up. */
  private static final int MOST_NODES = 512;

  private static final double PS_PER_SECOND = 1e12;

  /** The kind of a traffic bound where a switch combines and copies. */
  private static final String IN_SWITCH = "in-switch traffic";

  /** So that rounding never lifts a bound above the truth. */
  private static final double ROUNDING = 1 - 1e-9;

  private final Machine machine;
  private final List<Pe> leads;
  private final int ranks;
  private final boolean inMemory;
  private final RankGraph graph;
  private final Cuts cuts;
  private final long fixedPs;
  private final long handOverPs;
  private final double entryRate;
  private final double[] memoryRates;

  /** Of a group that has a rank in every package, the cuts through the levels of the network. */
  private final List<LevelCut> levels;

  /** Whether a switch between the ranks adds up and hands out. */
  private final boolean switchReduces;

  private double allReducePerByte = -1;
  private long diameterPs = -1;

  /**
   * A lower bound.
   *
   * @param ps no run takes less, in picoseconds
   * @param kind {@code latency}, {@code traffic}, {@code in-switch traffic}, {@code port} or {@code
   *     memory}
   */
  public record Bound(long ps, String kind) {}

  /** Analyses a group once for vectors that lie in the PEs already. */
  public Bounds(Machine machine, List<Pe> leads) {
    this(machine, leads, false);
  }

  private Bounds(Machine machine, List<Pe> leads, boolean inMemory) {
    this.machine = machine;
    this.leads = leads;
    this.ranks = leads.size();
    this.inMemory = inMemory;
    this.graph = new RankGraph(machine, leads);
    this.cuts = new Cuts(graph);
    this.switchReduces = reducesBetween(machine, leads);
    DmaSpec dma = machine.pe().dma();
    long message = leastOverheadPs(machine, leads);
    this.fixedPs = inMemory ? 2 * dma.setupPs() : message;
    this.handOverPs = inMemory ? Math.min(message, dma.setupPs()) : message;
    boolean everywhere = leads.stream().mapToInt(Pe::sip).distinct().count() == machine.sips();
    boolean ofLevels = machine.sipTopology() == SipTopology.NETWORK;
    this.levels = everywhere && ofLevels && ranks > EXACT ? LevelCut.of(machine) : List.of();
    this.memoryRates = leads.stream().mapToDouble(pe -> portRate(machine, pe)).toArray();
    this.entryRate =
        inMemory
            ? Arrays.stream(memoryRates).max().orElse(1)
            : machine.spec(LinkKind.ROUTER_TO_PE).rate().bytesPerSecond();
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
    return leads.size() > LONG_RING && isRing(machine, leads)
        ? onLongRing(machine, bytes)
        : of(machine, leads).allReduce(bytes);
  }

  /** Whether all packages of a ring are ranks, of one PE each, and none is different. */
  private static boolean isRing(Machine machine, List<Pe> leads) {
    return machine.sipTopology() == SipTopology.RING_1D
        && machine.symmetry().isPresent()
        && machine.peCount() == machine.sips()
        && leads.size() == machine.sips();
  }

  /**
   * The bound of an all-reduce over all packages of a ring, from rings of 16 and 18: ports and
   * memories are those of one package, more can only leave less to each link, and each two packages
   * more add the same to the distance to the farthest.
   */
  static Bound onLongRing(Machine machine, long bytes) {
    Bounds small = ofSmallRing(machine, SMALL_RING);
    long hop = ofSmallRing(machine, SMALL_RING + 2).diameterPs() - small.diameterPs();
    small.diameterPs += hop * (machine.sips() / 2 - SMALL_RING / 2);
    return small.allReduce(bytes);
  }

  private static Bounds ofSmallRing(Machine machine, int sips) {
    Machine small = machine.with(List.of("system.sips.count=" + sips));
    return of(small, IntStream.range(0, sips).mapToObj(sip -> new Pe(sip, 0, 0)).toList());
  }

  /**
   * The least that a message of one rank to another pays, relays or not: the least on the routes
   * between neighbours in the order of PEs, of which two are in one package if any two ranks are.
   */
  private static long leastOverheadPs(Machine machine, List<Pe> leads) {
    List<Pe> inOrder = leads.stream().sorted(Comparator.comparingInt(machine::peNode)).toList();
    return IntStream.range(1, inOrder.size())
        .mapToLong(i -> machine.route(inOrder.get(i - 1), inOrder.get(i)).overheadPs())
        .min()
        .orElse(0);
  }

  /** Whether some ranks are joined by a switch that reduces. */
  private static boolean reducesBetween(Machine machine, List<Pe> leads) {
    for (int d = 0; d < machine.dimensions().size(); d++) {
      int dimension = d;
      if (machine.dimensions().get(d).reduces()
          && leads.stream().mapToInt(pe -> machine.place(pe.sip(), dimension)).distinct().count()
              > 1) {
        return true;
      }
    }
    return false;
  }

  /** What the port of a PE's slice of HBM can give and take, in bytes per second. */
  public static double portRate(Machine machine, Pe pe) {
    return IntStream.of(machine.route(machine.peNode(pe), machine.hbmNode(pe)).links())
        .filter(link -> machine.linkKind(link).isMemoryPort())
        .mapToDouble(link -> machine.specOf(link).rate().bytesPerSecond())
        .min()
        .orElse(Double.POSITIVE_INFINITY);
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
    double messages = switchReduces ? 0 : 2.0 * (ranks - 1) * bytes;
    double[] each = filled(bytes);
    return best(latencyPs(bytes), trafficPs(bytes), new Moved(messages, each, each, each, each));
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
      allReducePerByte =
          switchReduces
              ? ranks <= EXACT ? cuts.everywhere() : graph.busiestRank()
              : Math.max(2 / strength(), ranks <= EXACT ? cuts.everywhere() : 0);
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
      traffic = switchReduces ? 0 : total / strength(); // each part to k - 1 other ones
    }
    long latency = 0;
    for (int v = 0; v < Math.min(ranks, EXACT); v++) {
      long[] distances = distancesFrom(v);
      for (int u = 0; u < ranks; u++) {
        double bytes = reduces ? part[u] : part[v];
        if (u != v && bytes > 0) {
          latency = Math.max(latency, latency(distances[u], bytes));
        }
      }
    }
    double messages = switchReduces ? 0 : (ranks - 1) * total;
    Moved moved = new Moved(messages, out, in, loads, stores);
    return best(latency, ps(traffic), moved);
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
    double messages = switchReduces ? 0 : (ranks - 1.0) * bytes;
    Moved moved =
        reduces
            ? new Moved(messages, others, one, all, one)
            : new Moved(messages, one, others, one, others);
    return best(latency(eccentricityPs(root, reduces), bytes), ps(traffic), moved);
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
        long[] distances = distancesFrom(gathers ? v : root);
        latency = Math.max(latency, latency(distances[gathers ? root : v], part[v]));
      }
    }
    double[] given = part.clone();
    given[root] = 0;
    double[] taken = new double[ranks];
    taken[root] = others;
    Moved moved =
        gathers
            ? new Moved(others, given, taken, given, taken)
            : new Moved(others, taken, given, taken, given);
    return best(latency, ps(traffic), moved);
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
      long[] distances = distancesFrom(u);
      for (int v = 0; v < ranks; v++) {
        if (bytes[u][v] > 0) {
          latency = Math.max(latency, latency(distances[v], bytes[u][v]));
        }
      }
    }
    double traffic = Math.max(exchangedAcrossCuts(bytes), exchangedOverAllLinks(bytes));
    return best(latency, ps(traffic), new Moved(total, out, in, out, in));
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
    int nodes = graph.nodes();
    if (nodes > MOST_NODES) {
      return 0;
    }
    double[][] hops = new double[nodes][nodes];
    for (int u = 0; u < nodes; u++) {
      Arrays.fill(hops[u], Double.POSITIVE_INFINITY);
    }
    for (int e = 0; e < graph.edges(); e++) {
      hops[graph.from(e)][graph.to(e)] = 1 / graph.rate(e);
    }
    for (int w = 0; w < nodes; w++) {
      for (int u = 0; u < nodes; u++) {
        double first = hops[u][w];
        for (int v = 0; v < nodes && first < Double.POSITIVE_INFINITY; v++) {
          hops[u][v] = Math.min(hops[u][v], first + hops[w][v]);
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
    return new Bound(ranks < 2 ? 0 : handOverPs + graph.diameterPs(), "latency");
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
    long distance = distancesFrom(from)[to];
    return best(
        latency(distance, bytes),
        fixedPs + distance + slowestLinkPs(from, to, bytes),
        new Moved(bytes, sent, received, sent, received));
  }

  /** How long a message takes to enter the slowest link of its way; it takes one. */
  private long slowestLinkPs(int from, int to, long bytes) {
    int[] way =
        machine.route(machine.peNode(leads.get(from)), machine.peNode(leads.get(to))).links();
    return Arrays.stream(way)
        .mapToLong(link -> machine.specOf(link).rate().durationPs(bytes))
        .max()
        .orElse(0);
  }

  // ---- parts ----

  private double[] filled(double bytes) {
    double[] all = new double[ranks];
    Arrays.fill(all, bytes);
    return all;
  }

  private long latency(long distancePs, double bytes) {
    return fixedPs + distancePs + (long) (bytes / entryRate * PS_PER_SECOND);
  }

  private long[] distancesFrom(int rank) {
    return inMemory ? graph.memoryDistancesFrom(rank, handOverPs) : graph.distancesFrom(rank);
  }

  private long diameterPs() {
    if (diameterPs < 0) {
      diameterPs = inMemory ? graph.memoryDiameterPs(handOverPs) : graph.diameterPs();
    }
    return diameterPs;
  }

  /** Distance to the rank that is farthest from a root, or from it. */
  private long eccentricityPs(int root, boolean reduces) {
    long farthest = 0;
    long[] from = reduces ? new long[0] : distancesFrom(root);
    for (int rank = 0; rank < ranks; rank++) {
      if (rank != root && (from.length > 0 || rank < EXACT)) {
        farthest = Math.max(farthest, reduces ? distancesFrom(rank)[root] : from[rank]);
      }
    }
    return farthest;
  }

  /**
   * What an operation moves at least.
   *
   * @param messages bytes that all PEs together send and receive, if vectors lie in them
   * @param out by rank, bytes that it sends, if vectors lie in the PEs
   * @param in by rank, bytes that it receives, likewise
   * @param loads by rank, bytes that are read from its memory, if vectors are there
   * @param stores by rank, bytes that are written to its memory, likewise
   */
  private record Moved(
      double messages, double[] out, double[] in, double[] loads, double[] stores) {}

  /** Seconds that the ports of the PEs need. */
  private double portSeconds(Moved moved) {
    if (inMemory) {
      double entering = Arrays.stream(moved.loads).sum() / graph.allPortsIn();
      return Math.max(entering, Arrays.stream(moved.stores).sum() / graph.allPortsOut());
    }
    double worst = moved.messages / Math.min(graph.allPortsIn(), graph.allPortsOut());
    for (int r = 0; r < ranks; r++) {
      worst = Math.max(worst, moved.in[r] / graph.portIn(r));
      worst = Math.max(worst, moved.out[r] / graph.portOut(r));
    }
    return worst;
  }

  /** Seconds that the memories need. */
  private double memorySeconds(Moved moved) {
    double worst = 0;
    for (int r = 0; r < ranks && inMemory; r++) {
      worst = Math.max(worst, (moved.loads[r] + moved.stores[r]) / memoryRates[r]);
    }
    return worst;
  }

  /** Seconds per byte and partition: the least C / (k - 1) over the partitions that are tried. */
  private double strength() {
    if (ranks <= EXACT) {
      return cuts.strength();
    }
    int[] each = new int[ranks];
    Arrays.setAll(each, i -> i);
    double least = cuts.quickCrossing(each) / (ranks - 1.0);
    int[] sips = graph.sips();
    int count = Arrays.stream(sips).max().orElse(0) + 1;
    if (count > 1) {
      least = Math.min(least, cuts.quickCrossing(sips) / (count - 1.0));
    }
    for (int sip = 0; sip < count && count > 1 && count <= EXACT; sip++) {
      // The ranks of one package each for itself, all others together.
      int[] part = new int[ranks];
      int parts = 1;
      for (int rank = 0; rank < ranks; rank++) {
        part[rank] = sips[rank] == sip ? parts++ : 0;
      }
      least = Math.min(least, cuts.quickCrossing(part) / (parts - 1.0));
    }
    for (LevelCut cut : levels) {
      least = Math.min(least, cut.bytesPerSecond() / (cut.parts() - 1.0));
    }
    return least;
  }

  private static long ps(double seconds) {
    return (long) Math.ceil(seconds * PS_PER_SECOND * ROUNDING);
  }

  private Bound best(long latencyPs, long trafficPs, Moved moved) {
    Bound best = new Bound(latencyPs, "latency");
    for (Bound other :
        List.of(
            new Bound(trafficPs, switchReduces ? IN_SWITCH : "traffic"),
            new Bound(ps(portSeconds(moved)), "port"),
            new Bound(ps(memorySeconds(moved)), "memory"))) {
      best = other.ps > best.ps ? other : best;
    }
    return best;
  }
}
