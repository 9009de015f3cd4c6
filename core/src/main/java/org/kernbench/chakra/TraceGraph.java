package org.kernbench.chakra;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;

/**
 * The traces of all ranks as one graph: collectives and messages are matched across ranks, nodes
 * that take no time are left out, and what remains is in an order in which it can be done, or it is
 * said why there is none.
 *
 * <p>The {@code k}-th collective of a group on one rank is the {@code k}-th on all its ranks, and
 * the {@code k}-th message from one rank to another with one tag is the {@code k}-th that the other
 * receives, in the {@link RankOrder} of each.
 */
public final class TraceGraph {
  private final Workload workload;
  private final List<TraceStep> steps;

  private TraceGraph(Workload workload, List<TraceStep> steps) {
    this.workload = workload;
    this.steps = List.copyOf(steps);
  }

  /**
   * The graph of traces.
   *
   * @throws TraceException if nodes of a rank wait for each other, ranks disagree about a
   *     collective, a rank of a group never comes to one, a message has one end only, or ranks wait
   *     for each other
   */
  public static TraceGraph of(Workload workload) {
    return new TraceGraph(workload, new Joining(workload).steps());
  }

  /** How many ranks. */
  public int ranks() {
    return workload.traces().size();
  }

  /** What takes time, by number. */
  public List<TraceStep> steps() {
    return steps;
  }

  /**
   * The steps in an order in which each rank can launch them: what is ready first goes first.
   *
   * @param durationPs about how long a step takes
   */
  public List<TraceStep> inOrder(ToLongFunction<TraceStep> durationPs) {
    return new Scheduling(steps, ranks()).order(durationPs);
  }

  /**
   * The longest chain of steps that come after each other: no machine on which each step takes at
   * least so long is quicker.
   */
  public long longestChainPs(ToLongFunction<TraceStep> durationPs) {
    long[] end = new long[steps.size()];
    long longest = 0;
    for (TraceStep step : inOrder(s -> 1)) {
      long start = 0;
      for (int before : step.before()) {
        start = Math.max(start, end[before]);
      }
      end[step.id()] = start + durationPs.applyAsLong(step);
      longest = Math.max(longest, end[step.id()]);
    }
    return longest;
  }

  // ---- joining ----

  /** A node of a rank, by its position in the file. */
  private record Place(int rank, int at) {}

  private static final class Joining {
    private final Workload workload;
    private final List<RankOrder> orders = new ArrayList<>();

    /** By rank and position: the step that a node is; -1 if it is none. */
    private final List<int[]> stepOf = new ArrayList<>();

    private final List<List<Place>> parts = new ArrayList<>();

    Joining(Workload workload) {
      this.workload = workload;
      for (RankTrace trace : workload.traces()) {
        orders.add(new RankOrder(trace, workload.repairs()));
        int[] none = new int[trace.size()];
        Arrays.fill(none, -1);
        stepOf.add(none);
      }
    }

    List<TraceStep> steps() {
      matchCollectives();
      matchMessages();
      addLocalWork();
      return withEdges();
    }

    private TraceNode node(Place p) {
      return orders.get(p.rank).node(p.at);
    }

    private String where(Place p) {
      return workload.traces().get(p.rank).file() + ": " + node(p);
    }

    private void add(List<Place> nodes) {
      for (Place p : nodes) {
        stepOf.get(p.rank)[p.at] = parts.size();
      }
      parts.add(nodes);
    }

    private void matchCollectives() {
      Map<String, Map<Integer, List<Place>>> calls = new LinkedHashMap<>();
      for (int rank = 0; rank < orders.size(); rank++) {
        for (int at : orders.get(rank).order()) {
          TraceNode node = orders.get(rank).node(at);
          if (node.type() == NodeType.COMM_COLL) {
            calls
                .computeIfAbsent(node.comm().group(), g -> new LinkedHashMap<>())
                .computeIfAbsent(rank, r -> new ArrayList<>())
                .add(new Place(rank, at));
          }
        }
      }
      calls.forEach(this::matchGroup);
    }

    private List<Integer> members(String group, Place first) {
      if (group.isEmpty()) {
        return IntStream.range(0, orders.size()).boxed().toList();
      }
      List<Integer> members = workload.groups().get(group);
      if (members == null) {
        throw new TraceException(
            "%s: process group \"%s\" is not known; expected a file of groups that has it (%s)"
                .formatted(
                    where(first),
                    group,
                    workload.groups().isEmpty()
                        ? "none was given"
                        : "it has " + String.join(", ", workload.groups().keySet())));
      }
      return members;
    }

    private void matchGroup(String group, Map<Integer, List<Place>> calls) {
      Place any = calls.values().iterator().next().getFirst();
      List<Integer> members = members(group, any);
      int most = 0;
      Place last = any;
      for (Map.Entry<Integer, List<Place>> each : calls.entrySet()) {
        if (!members.contains(each.getKey())) {
          throw new TraceException(
              "%s: rank %s is not in process group \"%s\", which has %s; expected one of these"
                  .formatted(where(each.getValue().getFirst()), each.getKey(), group, members));
        }
        if (each.getValue().size() > most) {
          most = each.getValue().size();
          last = each.getValue().getLast();
        }
      }
      for (int k = 0; k < most; k++) {
        List<Place> nodes = new ArrayList<>(members.size());
        for (int member : members) {
          List<Place> own = calls.getOrDefault(member, List.of());
          if (own.size() <= k) {
            throw new TraceException(
                "deadlock: rank %s comes to %s of the %s collectives of group %s; %s waits for it"
                    .formatted(
                        member,
                        own.size(),
                        most,
                        group.isEmpty() ? "of all ranks" : "\"" + group + "\"",
                        where(last)));
          }
          nodes.add(own.get(k));
        }
        checkAlike(nodes, k);
        add(nodes);
      }
    }

    private void checkAlike(List<Place> nodes, int k) {
      TraceNode.Communication first = node(nodes.getFirst()).comm();
      for (Place p : nodes) {
        TraceNode.Communication c = node(p).comm();
        if (c.collective() != first.collective()
            || c.bytes() != first.bytes()
            || !c.root().equals(first.root())) {
          throw new TraceException(
              "%s is %s of %s B, %s is %s of %s B, both collective %s of their group; expected ranks to agree"
                  .formatted(
                      where(nodes.getFirst()),
                      first.collective(),
                      first.bytes(),
                      where(p),
                      c.collective(),
                      c.bytes(),
                      k));
        }
      }
    }

    private record Way(long source, long target, long tag) {}

    private void matchMessages() {
      Map<Way, List<List<Place>>> ways = new LinkedHashMap<>();
      for (int rank = 0; rank < orders.size(); rank++) {
        for (int at : orders.get(rank).order()) {
          TraceNode node = orders.get(rank).node(at);
          boolean sends = node.type() == NodeType.COMM_SEND;
          if (sends || node.type() == NodeType.COMM_RECV) {
            Place p = new Place(rank, at);
            checkPeers(node.comm(), p);
            ways.computeIfAbsent(
                    new Way(node.comm().source(), node.comm().target(), node.comm().tag()),
                    w -> List.of(new ArrayList<>(), new ArrayList<>()))
                .get(sends ? 0 : 1)
                .add(p);
          }
        }
      }
      ways.forEach((way, ends) -> match(way, ends.get(0), ends.get(1)));
    }

    private void checkPeers(TraceNode.Communication c, Place p) {
      long other = c.source() == p.rank ? c.target() : c.source();
      if (other < 0 || other >= orders.size() || other == p.rank) {
        throw new TraceException(
            "%s: the other end is rank %s; expected %s"
                .formatted(where(p), other, othersOf(p.rank)));
      }
    }

    private String othersOf(int rank) {
      return orders.size() == 1
          ? "traces of other ranks too: there is that of rank 0 alone"
          : "one of 0 to %s but %s".formatted(orders.size() - 1, rank);
    }

    private void match(Way way, List<Place> sends, List<Place> receives) {
      int both = Math.min(sends.size(), receives.size());
      if (sends.size() != receives.size()) {
        Place alone = sends.size() > both ? sends.get(both) : receives.get(both);
        throw new TraceException(
            "deadlock: rank %s sends rank %s %s messages of tag %s, which receives %s; %s waits for ever"
                .formatted(
                    way.source, way.target, sends.size(), way.tag, receives.size(), where(alone)));
      }
      for (int k = 0; k < both; k++) {
        long sent = node(sends.get(k)).comm().bytes();
        long received = node(receives.get(k)).comm().bytes();
        if (sent != received) {
          throw new TraceException(
              "%s sends %s B, %s receives %s B; expected as many"
                  .formatted(where(sends.get(k)), sent, where(receives.get(k)), received));
        }
        add(List.of(sends.get(k), receives.get(k)));
      }
    }

    private void addLocalWork() {
      for (int rank = 0; rank < orders.size(); rank++) {
        for (int at : orders.get(rank).order()) {
          TraceNode node = orders.get(rank).node(at);
          if (node.isWork() && !node.type().isCommunication()) {
            add(List.of(new Place(rank, at)));
          }
        }
      }
    }

    // ---- edges ----

    private List<TraceStep> withEdges() {
      List<int[][]> behind = new ArrayList<>();
      for (int rank = 0; rank < orders.size(); rank++) {
        behind.add(behind(rank));
      }
      List<TraceStep> steps = new ArrayList<>(parts.size());
      for (int id = 0; id < parts.size(); id++) {
        List<Place> nodes = parts.get(id);
        List<Integer> before =
            nodes.stream()
                .flatMapToInt(p -> Arrays.stream(behind.get(p.rank)[p.at]))
                .distinct()
                .boxed()
                .toList();
        TraceNode first = node(nodes.getFirst());
        List<Integer> ranks = nodes.stream().map(Place::rank).toList();
        steps.add(
            new TraceStep(
                id,
                first.type(),
                ranks,
                nodes.stream().map(this::node).toList(),
                root(first, ranks, nodes),
                before));
      }
      return steps;
    }

    private int root(TraceNode node, List<Integer> ranks, List<Place> nodes) {
      if (node.type() != NodeType.COMM_COLL || !hasRoot(node.comm().collective())) {
        return -1;
      }
      long root = node.comm().root().orElse(ranks.getFirst());
      if (root < 0 || root > Integer.MAX_VALUE || !ranks.contains((int) root)) {
        throw new TraceException(
            "%s: root %s; expected a rank of its group, %s"
                .formatted(where(nodes.getFirst()), root, ranks));
      }
      return (int) root;
    }

    private static boolean hasRoot(CollectiveType op) {
      return op == CollectiveType.BROADCAST
          || op == CollectiveType.REDUCE
          || op == CollectiveType.GATHER
          || op == CollectiveType.SCATTER;
    }

    /**
     * By position: the steps that a node of a rank directly follows, through those that are none.
     */
    private int[][] behind(int rank) {
      RankOrder order = orders.get(rank);
      int[] step = stepOf.get(rank);
      int[][] behind = new int[step.length][];
      for (int at : order.order()) {
        int[] before = order.before(at);
        behind[at] =
            before.length == 1 && step[before[0]] < 0
                ? behind[before[0]]
                : Arrays.stream(before)
                    .flatMap(b -> step[b] >= 0 ? IntStream.of(step[b]) : Arrays.stream(behind[b]))
                    .distinct()
                    .toArray();
      }
      return behind;
    }
  }

  // ---- scheduling ----

  private static final class Scheduling {
    private final List<TraceStep> steps;
    private final long[] freePs;
    private final int ranks;
    private final int[] missing;
    private final List<List<Integer>> after = new ArrayList<>();
    private final long[] readyPs;

    Scheduling(List<TraceStep> steps, int ranks) {
      this.steps = steps;
      this.ranks = ranks;
      this.freePs = new long[2 * ranks]; // of each rank: computation, communication
      this.missing = new int[steps.size()];
      this.readyPs = new long[steps.size()];
      for (TraceStep step : steps) {
        after.add(new ArrayList<>(2));
        missing[step.id()] = step.before().size();
      }
      for (TraceStep step : steps) {
        for (int before : step.before()) {
          after.get(before).add(step.id());
        }
      }
    }

    List<TraceStep> order(ToLongFunction<TraceStep> durationPs) {
      PriorityQueue<TraceStep> ready =
          new PriorityQueue<>(
              Comparator.comparingLong((TraceStep s) -> readyPs[s.id()])
                  .thenComparingLong(s -> s.node().startMicros())
                  .thenComparingInt(TraceStep::id));
      for (TraceStep step : steps) {
        if (missing[step.id()] == 0) {
          ready.add(step);
        }
      }
      List<TraceStep> order = new ArrayList<>(steps.size());
      while (!ready.isEmpty()) {
        TraceStep step = ready.remove();
        order.add(step);
        long end = run(step, durationPs.applyAsLong(step));
        for (int next : after.get(step.id())) {
          readyPs[next] = Math.max(readyPs[next], end);
          if (--missing[next] == 0) {
            ready.add(steps.get(next));
          }
        }
      }
      if (order.size() < steps.size()) {
        throw new TraceException(
            "deadlock: steps that wait for each other across ranks: " + cycle());
      }
      return order;
    }

    private long run(TraceStep step, long durationPs) {
      int stream = step.type().isCommunication() ? ranks : 0;
      long start = readyPs[step.id()];
      for (int rank : step.ranks()) {
        start = Math.max(start, freePs[stream + rank]);
      }
      for (int rank : step.ranks()) {
        freePs[stream + rank] = start + durationPs;
      }
      return start + durationPs;
    }

    private String cycle() {
      int at = 0;
      while (missing[at] == 0) {
        at++;
      }
      List<Integer> seen = new ArrayList<>();
      while (!seen.contains(at)) {
        seen.add(at);
        at = steps.get(at).before().stream().filter(b -> missing[b] > 0).findFirst().orElseThrow();
      }
      List<String> names = new ArrayList<>();
      for (int each : seen.subList(seen.indexOf(at), seen.size())) {
        names.addFirst(steps.get(each).toString());
      }
      names.addFirst(names.getLast());
      return String.join("; before ", names);
    }
  }
}
