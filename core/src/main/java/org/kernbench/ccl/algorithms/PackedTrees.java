package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.LinkCosts;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Segments;
import org.kernbench.ccl.Wiring;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.PeSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.placement.RankLevel;

/**
 * Several spanning trees at once, each with a share of the vector, chosen so that together they use
 * every link as far as any algorithm can ({@link TreePacking}): on each tree chunks go up, combined
 * on the way, and come down while later ones go up.
 *
 * <p>Sent by all ranks together: {@code 2 (p - 1) n} elements. As the vector grows the time tends
 * to the bound by the strength of the network, {@code 2 S / strength}: on a ring {@code (p-1)/p
 * S/B}, on a mesh of 4 x 4 {@code 0.625 S/B}. Order: each element along its tree, so all ranks have
 * the same bits.
 *
 * <p><b>Rounds.</b> All trees share one queue pair per neighbour. In round r a rank at depth d of a
 * tree of height H sends up chunk {@code r - lag (H - d)} and takes down chunk {@code r - lag (H +
 * d)}: what one end sends in round r the other takes in round {@code r + lag}, in the same order of
 * trees. So the order within each queue is the same at both ends, and with as many slots as trees
 * share an edge nobody waits in a circle: the send of a message at one place of a round waits at
 * most for what is taken at the same place of the same round.
 */
public final class PackedTrees implements CollectiveAlgorithm {
  private static final int SMALLEST_CHUNK_BYTES = 512;

  /** The algorithm; has no state. */
  public PackedTrees() {}

  @Override
  public String name() {
    return "packed_trees";
  }

  @Override
  public String description() {
    return "several spanning trees at once that use all links; near the bound for long vectors";
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    return new Packed(group, queues, config);
  }

  /** A tree with a root: by rank its parent, children and depth. */
  private static final class Rooted {
    final int[] parent;
    final int[][] children;
    final int[] depth;
    final int height;

    Rooted(int ranks, List<TreePacking.Edge> edges, int[] tree) {
      List<List<Integer>> near = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        near.add(new ArrayList<>());
      }
      for (int e : tree) {
        near.get(edges.get(e).a()).add(edges.get(e).b());
        near.get(edges.get(e).b()).add(edges.get(e).a());
      }
      parent = new int[ranks];
      depth = new int[ranks];
      int root = centre(near);
      walk(near, root);
      height = Arrays.stream(depth).max().orElse(0);
      children = new int[ranks][];
      for (int rank = 0; rank < ranks; rank++) {
        int up = parent[rank];
        children[rank] = near.get(rank).stream().mapToInt(r -> r).filter(r -> r != up).toArray();
      }
    }

    /** Sets parents and depths from a root; the last rank reached, one of the farthest. */
    private int walk(List<List<Integer>> near, int root) {
      Arrays.fill(parent, -1);
      depth[root] = 0;
      int[] order = new int[parent.length];
      int end = 1;
      order[0] = root;
      for (int i = 0; i < end; i++) {
        for (int next : near.get(order[i])) {
          if (next != parent[order[i]]) {
            parent[next] = order[i];
            depth[next] = depth[order[i]] + 1;
            order[end++] = next;
          }
        }
      }
      return order[end - 1];
    }

    /** The middle of a longest path. */
    private int centre(List<List<Integer>> near) {
      int one = walk(near, 0);
      int at = walk(near, one);
      for (int up = depth[at] / 2; up > 0; up--) {
        at = parent[at];
      }
      return at;
    }
  }

  /** A way to pack, with its trees and what decides its time. */
  private static final class Packing {
    final List<TreePacking.Packed> trees;
    final List<Rooted> rooted = new ArrayList<>();
    final double secondsPerByte;
    final int[] treesOnEdges;
    final int mostOnEdge;
    final int height;
    final double largestShare;

    /** Over ranks and a round, the most sends, the most commands, and the most shares added. */
    int sends;

    int commands;
    double added;

    Packing(TreePacking packing, List<TreePacking.Packed> trees, int ranks) {
      this.trees = trees;
      this.secondsPerByte = packing.secondsPerByte(trees);
      this.treesOnEdges = packing.treesOnEdges(trees);
      this.mostOnEdge = packing.mostTrees(trees);
      for (TreePacking.Packed tree : trees) {
        rooted.add(new Rooted(ranks, packing.edges(), tree.edges()));
      }
      this.height = rooted.stream().mapToInt(t -> t.height).max().orElse(0);
      this.largestShare = trees.stream().mapToDouble(t -> t.share()).max().orElse(1);
      for (int rank = 0; rank < ranks; rank++) {
        int out = 0;
        int issued = 0;
        double adds = 0;
        for (int t = 0; t < rooted.size(); t++) {
          int below = rooted.get(t).children[rank].length;
          int above = rooted.get(t).parent[rank] < 0 ? 0 : 1;
          out += above + below;
          issued += 2 + 3 * below + 2 * above; // load, store; receive, add, send; send, receive
          adds += below * trees.get(t).share();
        }
        sends = Math.max(sends, out);
        commands = Math.max(commands, issued);
        added = Math.max(added, adds);
      }
    }
  }

  /**
   * How a call is performed.
   *
   * @param packing the trees
   * @param chunks that each tree's share is cut into
   * @param lag rounds from sending to taking
   * @param ps the time it should take
   */
  private record Pace(Packing packing, int chunks, int lag, double ps) {
    long messages() {
      return (long) chunks * packing.trees.size();
    }
  }

  private static final class Packed implements Schedule {
    private final Group group;
    private final Machine machine;
    private final PeSpec adder;
    private final IpcqSpec queues;
    private final AlgorithmConfig config;
    private final TreePacking graph;
    private final List<Packing> packings = new ArrayList<>();
    private final LinkCosts[] hops;

    /** Channels that the busiest rank's neighbours spread over. */
    private int channels = 1;

    Packed(Group group, IpcqSpec queues, AlgorithmConfig config) {
      this.group = group;
      this.machine = group.machine();
      this.adder = LinkCosts.slowestPe(group);
      this.queues = queues;
      this.config = config;
      this.graph = new TreePacking(group);
      for (List<TreePacking.Packed> trees : graph.candidates()) {
        Packing packing = new Packing(graph, trees, group.size());
        if (packing.mostOnEdge <= queues.slots()) {
          packings.add(packing);
        }
      }
      hops = new LinkCosts[graph.edges().size()];
      int[] degree = new int[group.size()];
      for (int e = 0; e < hops.length; e++) {
        TreePacking.Edge edge = graph.edges().get(e);
        hops[e] =
            LinkCosts.between(machine, group.lead(edge.a()), group.lead(edge.b()))
                .worse(LinkCosts.between(machine, group.lead(edge.b()), group.lead(edge.a())));
        channels = Math.max(channels, Math.max(++degree[edge.a()], ++degree[edge.b()]));
      }
      channels = Math.min(channels, machine.pe().dma().messageChannels());
    }

    @Override
    public List<QueuePlan.Connection> connections() {
      Set<Integer> used = new LinkedHashSet<>();
      for (Packing packing : packings) {
        for (int e = 0; e < hops.length; e++) {
          if (packing.treesOnEdges[e] > 0) {
            used.add(e);
          }
        }
      }
      Wiring wiring = new Wiring(group);
      for (int e : used) {
        TreePacking.Edge edge = graph.edges().get(e);
        wiring.join(edge.a(), towards(edge.b()), edge.b(), towards(edge.a()));
      }
      return wiring.connections();
    }

    private static String towards(int rank) {
      return "rank" + rank;
    }

    @Override
    public RankProgram program(CollectiveCall call) {
      Pace pace = pace(call);
      int n = Math.toIntExact(call.elements());
      List<Segments> chunks = chunks(pace, n);
      return (tl, rank, vector, reduction) ->
          new Node(tl, rank, vector, reduction, call.dtype(), pace, chunks).run();
    }

    @Override
    public OptionalLong predictPs(CollectiveCall call) {
      return OptionalLong.of(Math.round(pace(call).ps));
    }

    @Override
    public OptionalLong wireBytes(CollectiveCall call) {
      return OptionalLong.of(2L * (group.size() - 1) * call.bytes());
    }

    /** Each tree's share of the vector, in chunks. */
    private static List<Segments> chunks(Pace pace, int elements) {
      List<Segments> result = new ArrayList<>();
      double before = 0;
      int start = 0;
      List<TreePacking.Packed> trees = pace.packing.trees;
      for (int t = 0; t < trees.size(); t++) {
        before += trees.get(t).share();
        int end = t + 1 == trees.size() ? elements : (int) Math.round(before * elements);
        result.add(new Segments(start, Math.max(0, end - start), pace.chunks));
        start = Math.max(start, end);
      }
      return result;
    }

    // ---- pace ----

    private Pace pace(CollectiveCall call) {
      Pace best = null;
      for (Packing packing : packings) {
        double largest = Math.max(1, packing.largestShare * call.bytes());
        long most = Math.max(1, queues.slotBytes() / call.dtype().sizeBytes());
        int fewest = (int) Math.ceil(largest / call.dtype().sizeBytes() / most);
        if (config.chunkBytes().isPresent()) {
          int chunks = (int) Math.ceil(largest / config.chunkBytes().getAsLong());
          best = better(best, pace(packing, call.bytes(), Math.max(1, chunks)));
          continue;
        }
        for (int m = fewest; ; m += Math.max(1, m / 5)) {
          best = better(best, pace(packing, call.bytes(), m));
          if (largest / m < SMALLEST_CHUNK_BYTES) {
            break;
          }
        }
      }
      if (best == null) {
        throw new IllegalStateException("bug: no tree spans the group");
      }
      return best;
    }

    /** The faster one; but many more messages for next to nothing are not worth it. */
    private static Pace better(@Nullable Pace a, Pace b) {
      if (a == null) {
        return b;
      }
      double worth = b.messages() > a.messages() ? 1 - 0.002 * b.messages() / a.messages() : 1;
      return b.ps < a.ps * worth ? b : a;
    }

    /** By edge, how long the messages of a round take one after the other. */
    private double[] messagesPs(Packing packing, double roundBytes) {
      double[] ps = new double[hops.length];
      for (TreePacking.Packed tree : packing.trees) {
        double bytes = tree.share() * roundBytes;
        for (int e : tree.edges()) {
          LinkCosts cost = hops[e];
          double injection = cost.overheadPs() + bytes * 1e12 / cost.injection().bytesPerSecond();
          ps[e] += Math.max(injection, bytes * 1e12 / cost.narrowest().bytesPerSecond());
        }
      }
      return ps;
    }

    /** The time of a call with {@code m} chunks in each tree. */
    private Pace pace(Packing packing, long bytes, int m) {
      double round = (double) bytes / m;
      long chunk = (long) Math.ceil(packing.largestShare * round);
      double adding =
          chunk == 0
              ? 0
              : LinkCosts.additionPs(adder, chunk) * packing.added / packing.largestShare;
      double period =
          Math.max(
              packing.secondsPerByte * round * 1e12,
              packing.commands * (double) machine.pe().cpu().dispatchPs());
      period = Math.max(period, adding);
      double hop = 0;
      double[] onEdge = messagesPs(packing, round);
      for (int e = 0; e < hops.length; e++) {
        int trees = packing.treesOnEdges[e];
        if (trees > 0) {
          LinkCosts cost = hops[e];
          period = Math.max(period, onEdge[e]);
          double here = cost.messagePs(chunk) + LinkCosts.additionPs(adder, chunk);
          double trip = here + cost.latencyPs() + queues.creditOverheadPs();
          period = Math.max(period, trees * trip / queues.slots());
          double injection = cost.overheadPs() + cost.injection().durationPs(chunk);
          period = Math.max(period, packing.sends * injection / channels);
          hop = Math.max(hop, here);
        }
      }
      int lag = (int) Math.max(1, Math.min(8, Math.ceil(hop / period)));
      // More rounds under way than slots hold would only wait for credits.
      lag = Math.max(1, Math.min(lag, queues.slots() / packing.mostOnEdge - 1));
      return new Pace(
          packing, m, lag, 2 * packing.height * Math.max(hop, lag * period) + (m - 1) * period);
    }
  }

  /** One rank's part. */
  private static final class Node {
    private final Tl tl;
    private final int rank;
    private final Payload vector;
    private final Reduction reduction;
    private final DType dtype;
    private final Pace pace;
    private final List<Rooted> trees;
    private final List<Segments> chunks;
    private final @Nullable Value[] whole;

    Node(
        Tl tl,
        int rank,
        Payload vector,
        Reduction reduction,
        DType dtype,
        Pace pace,
        List<Segments> chunks) {
      this.tl = tl;
      this.rank = rank;
      this.vector = vector;
      this.reduction = reduction;
      this.dtype = dtype;
      this.pace = pace;
      this.trees = pace.packing.rooted;
      this.chunks = chunks;
      this.whole = new Value[trees.size()];
    }

    void run() {
      int rounds = pace.chunks + 2 * pace.lag * pace.packing.height;
      for (int round = 0; round < rounds; round++) {
        for (int t = 0; t < trees.size(); t++) {
          Rooted tree = trees.get(t);
          int chunk = round - pace.lag * (tree.height - tree.depth[rank]);
          if (exists(t, chunk)) {
            up(t, tree, chunk);
          }
        }
        for (int t = 0; t < trees.size(); t++) {
          Rooted tree = trees.get(t);
          int chunk = round - pace.lag * (tree.height + tree.depth[rank]);
          if (exists(t, chunk)) {
            down(t, tree, chunk);
          }
        }
      }
    }

    private boolean exists(int tree, int chunk) {
      return chunk >= 0 && chunk < pace.chunks && chunks.get(tree).count(chunk) > 0;
    }

    /** The own contribution and all from below, to the parent; at the root it is the whole. */
    private void up(int t, Rooted tree, int chunk) {
      Segments s = chunks.get(t);
      Value sum = vector.read(tl, s.start(chunk), s.count(chunk));
      for (int child : tree.children[rank]) {
        sum = reduction.fold(tl, sum, receive(child, s.count(chunk)));
      }
      if (tree.parent[rank] < 0) {
        whole[t] = reduction.finish(tl, sum);
      } else {
        tl.send(Packed.towards(tree.parent[rank]), sum);
        tl.release(sum);
      }
    }

    private void down(int t, Rooted tree, int chunk) {
      Segments s = chunks.get(t);
      Value here = whole[t];
      Value result = here != null ? here : receive(tree.parent[rank], s.count(chunk));
      whole[t] = null;
      for (int child : tree.children[rank]) {
        tl.send(Packed.towards(child), result);
      }
      vector.write(tl, s.start(chunk), s.count(chunk), result);
      tl.release(result);
    }

    private Value receive(int from, int count) {
      return tl.recvAsync(Packed.towards(from), Shape.of(count), dtype);
    }
  }
}
