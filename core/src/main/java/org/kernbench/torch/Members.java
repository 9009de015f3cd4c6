package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectivePlan;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.collective.LanePlan;

/**
 * The ranks of a process group, where they are in their sequence of calls, and the algorithms they
 * are bound to. All ranks share it; each sees it through a {@link ProcessGroup}.
 */
final class Members {
  /** Name of the group of all ranks. */
  static final String WORLD = "world";

  private static final int COPY_BLOCK = 4096;

  private final Session session;
  private final Collectives collectives;
  private final CollectiveBackend backend;
  private final String name;
  private final String told;
  private final int[] ranks;
  private final List<Integer> order;
  private final List<Integer> rankList;

  /** Those of them whose programs run. */
  private final List<Integer> simulated;

  private final int[] sequence;
  private final BitSet left = new BitSet();
  private final Map<Integer, Rendezvous> meetings = new HashMap<>();

  /** In the order of their first use: the others choose as the first does (ADR 0316). */
  private final Map<Lane, Connected> lanes = new LinkedHashMap<>();

  private final ProcessGroup handle;
  private final ProcessGroup outside;
  private boolean closed;

  /**
   * A group.
   *
   * @param description what the program calls it in messages; empty if it says nothing
   * @param ranks global numbers, ascending
   * @param order {@link CollectiveBackend#commonOrder}; empty if it has none with other groups
   */
  Members(
      Session session,
      Collectives collectives,
      Messages messages,
      CollectiveBackend backend,
      String name,
      String description,
      int[] ranks,
      List<Integer> order) {
    this.session = session;
    this.collectives = collectives;
    this.backend = backend;
    this.name = name;
    this.ranks = ranks;
    this.order = order;
    this.rankList = Arrays.stream(ranks).boxed().toList();
    this.simulated = session.simulated(rankList);
    this.told =
        name.equals(WORLD)
            ? "group world"
            : (description.isEmpty() ? name : "group " + description) + " " + shown();
    this.sequence = new int[ranks.length];
    this.handle = new ProcessGroup(session, messages, this, true);
    this.outside = new ProcessGroup(session, messages, this, false);
  }

  /** Algorithms bound to one PE of each member. */
  record Connected(List<Pe> leads, Communicator communicator) {}

  // ---- who ----

  String name() {
    return name;
  }

  String backend() {
    return backend.name();
  }

  int size() {
    return ranks.length;
  }

  /** Global numbers, ascending. */
  List<Integer> ranks() {
    return rankList;
  }

  int globalRank(int member) {
    return ranks[member];
  }

  /** The number of a rank in the group; -1 if it is not in it. */
  int member(int globalRank) {
    if (ranks[ranks.length - 1] == ranks.length - 1) {
      return globalRank < ranks.length ? globalRank : -1; // the first ranks, or all
    }
    return Math.max(-1, Arrays.binarySearch(ranks, globalRank));
  }

  /** The handle for a member. */
  ProcessGroup handle() {
    return handle;
  }

  /** The handle for a rank, which may be no member. */
  ProcessGroup handle(int globalRank) {
    return member(globalRank) >= 0 ? handle : outside;
  }

  // ---- life ----

  boolean isOpenFor(int globalRank) {
    int member = member(globalRank);
    return !closed && member >= 0 && !left.get(member);
  }

  boolean isClosed() {
    return closed;
  }

  /** A rank leaves; true if it was the last. */
  boolean leave(int globalRank) {
    for (int member = 0; member < ranks.length; member++) {
      if (session.standIn(ranks[member]) == globalRank) {
        left.set(member);
      }
    }
    return left.cardinality() == size();
  }

  /** Nobody will use it again. */
  void close() {
    closed = true;
    lanes.clear();
    meetings.clear();
  }

  /** Forgets what a spawn has left behind. */
  void reset() {
    meetings.clear();
    left.clear();
    Arrays.fill(sequence, 0);
  }

  // ---- meetings ----

  /** What a member does next. */
  Rendezvous.Fingerprint next(int member, String op, Object operands) {
    return new Rendezvous.Fingerprint(op, told(), sequence[member]++, operands);
  }

  /** The meeting that a member comes to; over with its arrival if it is the last. */
  Rendezvous meet(int member, Rendezvous.Fingerprint mine, @Nullable Contribution contribution) {
    Rendezvous meeting = meetings.get(mine.sequence());
    if (meeting == null) {
      meeting = new Rendezvous(mine, ranks, session.standIns(ranks), ranks[member], session.here());
      meetings.put(mine.sequence(), meeting);
    }
    if (meeting.arrive(member, mine, contribution, session::here)) {
      meetings.remove(mine.sequence());
    }
    return meeting;
  }

  /** Meetings that some members came to and others did not. */
  Collection<Rendezvous> openMeetings() {
    return meetings.values();
  }

  // ---- algorithms ----

  /** The algorithms of a lane. */
  Connected connected(Lane lane) {
    Connected known = lanes.get(lane);
    if (known == null) {
      List<Pe> leads = pes(lane);
      known = new Connected(leads, backend.connect(leads, order));
      if (!lanes.isEmpty()) {
        known.communicator.follow(lanes.values().iterator().next().communicator);
      }
      lanes.put(lane, known);
    }
    return known;
  }

  /** The PE of each member at a place of its device. */
  List<Pe> pes(Lane lane) {
    return Arrays.stream(ranks).mapToObj(rank -> lane.on(session.device(rank))).toList();
  }

  /** The PEs of a lane that are simulated. */
  private List<Pe> simulated(Connected lane, Lane place) {
    return session.isFolded()
        ? simulated.stream().map(rank -> place.on(session.device(rank))).toList()
        : lane.leads;
  }

  /** All have come: hands the collective to the device. */
  @Nullable Launch perform(CollectiveOp op, Rendezvous meeting) {
    List<Tensor> tensors = new ArrayList<>();
    for (int member : meeting.arrived()) {
      Contribution c = meeting.contribution(member);
      if (c.in() != null) {
        tensors.add(c.input());
      }
      if (c.out() != null && !c.isInPlace()) {
        tensors.add(c.output());
      }
    }
    List<LanePlan> plans = new ArrayList<>();
    List<Lane> places = Lane.of(meeting.contribution(0).any(), session.device(ranks[0]));
    for (int i = 0; i < places.size(); i++) {
      CollectiveCall call = Calls.ofLane(op, meeting, this, i);
      if (call.elements() == 0 || (size() == 1 && meeting.contribution(0).isInPlace())) {
        continue;
      }
      if (size() == 1) {
        Pe pe = places.get(i).on(session.device(ranks[0]));
        plans.add(new LanePlan(List.of(pe), call, copy(call)));
        continue;
      }
      Connected connected = connected(places.get(i));
      plans.add(
          new LanePlan(
              simulated(connected, places.get(i)), call, connected.communicator().plan(call)));
    }
    Contribution first = meeting.contribution(0);
    Tensor result = first.out() == null ? first.any() : first.output();
    return plans.isEmpty()
        ? null
        : collectives.perform(op, name, rankList, plans, tensors, result.name());
  }

  /** What a group of one does: input to output, a block at a time. */
  private CollectivePlan copy(CollectiveCall call) {
    return new CollectivePlan(
        "copy",
        new QueuePlan(session.machine().ipcq(), List.of()),
        tl -> {
          int n = Math.toIntExact(call.elements());
          for (int at = 0; at < n; at += COPY_BLOCK) {
            int count = Math.min(COPY_BLOCK, n - at);
            Value block = tl.load(call.input(0).range(at, count));
            tl.store(call.output(0).range(at, count), block);
            tl.release(block);
          }
        });
  }

  /** The group's barrier on the device, after all kernels under way on its devices. */
  @Nullable Launch barrier() {
    if (size() == 1) {
      return null;
    }
    Connected connected = connected(Lane.LEAD);
    CollectiveCall call = CollectiveCall.barrier(size());
    CollectivePlan plan = connected.communicator().plan(call);
    return collectives.perform(
        CollectiveOp.BARRIER,
        name,
        rankList,
        List.of(new LanePlan(simulated(connected, Lane.LEAD), call, plan)),
        List.of(),
        "");
  }

  // ---- errors ----

  SimulationException error(String method, int rank, String problem) {
    String part = session.part();
    return new SimulationException(
        "rank %s: %s in %s%s: %s"
            .formatted(rank, method, told(), part.isEmpty() ? "" : ", in " + part, problem));
  }

  /** For example {@code group tp [0, 1]}. */
  String told() {
    return told;
  }

  /** The ranks as messages show them: the first sixteen of many. */
  String shown() {
    List<Integer> all = ranks();
    return all.size() <= 16 ? all.toString() : all.subList(0, 16) + "... (" + all.size() + ")";
  }
}
