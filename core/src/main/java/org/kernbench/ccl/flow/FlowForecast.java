package org.kernbench.ccl.flow;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.LinkCosts;
import org.kernbench.ccl.Wiring;
import org.kernbench.ccl.flow.Dataflow.Kind;
import org.kernbench.ccl.flow.Dataflow.Part;
import org.kernbench.ccl.flow.FlowSteps.Action;
import org.kernbench.ccl.flow.FlowSteps.Verb;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.IssuePolicy;
import org.kernbench.machine.spec.PeSpec;
import org.kernbench.machine.spec.SlotAccess;
import org.kernbench.machine.spec.SlotCost;
import org.kernbench.sim.Rate;

/**
 * The time of a {@link Dataflow} in the cost model of the closed forms, by following each message
 * once: {@code o} on its channel, {@code s/B} on every link of its way, which serves one message
 * after the other, {@code L} to the far side, {@code gamma s} on the adder, a credit for its slot.
 * Where messages do not meet this is the closed form; where they do it is near it.
 *
 * <p>Actions are taken in the order in which the ranks do them, not in that of time, so there is no
 * queue of events: one look at each action. Of a long vector only the first groups of chunks are
 * followed, until messages wait for slots as all later ones do and have been in each of them; each
 * further group takes as long as those of the last time round the slots on average.
 */
final class FlowForecast {
  /** A pace that the slots cannot hold, or that TCM cannot. */
  static final long NEVER = Long.MAX_VALUE;

  /** Share of the time that messages may wait for others and still count as meeting nobody. */
  private static final double NOTHING = 5e-4;

  /** Ways of a directed queue. */
  private static final class Way {
    final int[] route;
    final long overheadPs;
    final long creditPs;
    final int channel;

    // when each slot's credit is back; NEVER while that is not known
    final long[] credits;
    long sent;

    Way(Route route, long creditPs, int channel, int slots) {
      this.route = route.links();
      this.overheadPs = route.overheadPs();
      this.creditPs = creditPs;
      this.channel = channel;
      this.credits = new long[slots];
    }
  }

  /** A chunk under way, by part. */
  private static final class Chunk {
    final long[] ready;
    final long[] read; // when the last reader so far is done
    final int[] slot; // that it is in; -1 if in none
    final long[] held; // bytes of TCM

    Chunk(int parts) {
      ready = new long[parts];
      read = new long[parts];
      slot = new int[parts];
      held = new long[parts];
    }

    void clear() {
      Arrays.fill(ready, 0);
      Arrays.fill(read, 0);
      Arrays.fill(slot, -1);
      Arrays.fill(held, 0);
    }
  }

  private final Group group;
  private final Machine machine;

  /** By rank. */
  private final PeSpec[] adders;

  private final IpcqSpec queues;
  private final FlowSteps steps;
  private final Way[] ways; // by part that is received
  private final List<Way> allWays;
  private final int leastMessages;
  private final int[][] toMemory;
  private final int[][] fromMemory;
  private final long[] toMemoryPs;
  private final long[] fromMemoryPs;
  private final long[] linkLatency;
  private final Rate[] linkRate;
  private final long chunkBytes;
  private final long tcmBytes;
  private final boolean inTcm;

  /** Whether each command waits for the one before. */
  private final boolean serialIssue;

  /** What writing or reading a slot takes besides, where slots are not written on arrival. */
  private final Optional<SlotCost> slotCost;

  // where the time is
  private final @Nullable Busy[] links; // of several ways; null where one way alone passes
  private final long[] linkFree; // of the others
  private final long[][] channelFree;
  private final long[] copiesFree;
  private double copyPsPerByte;
  private final long[] adderFree;
  private final long[] issue;
  private final long[] tcmUsed;
  private long tcmPeak;
  private long end;

  /** What messages of several chunks, which let others in between, spent on shared links. */
  private long crowdedPs;

  /** Whether all chunks were followed. */
  private boolean isWhole;

  /** Later than that is as good as never. */
  private long limitPs = NEVER;

  private boolean impossible;

  FlowForecast(Group group, IpcqSpec queues, FlowSteps steps) {
    this.group = group;
    this.machine = group.machine();
    this.adders = group.leads().stream().map(lead -> machine.pe(lead.sip())).toArray(PeSpec[]::new);
    this.queues = queues;
    this.steps = steps;
    int n = group.size();
    this.ways = new Way[steps.flow().parts().size()];
    List<QueuePlan.Connection> connections = steps.connections(group);
    this.allWays = List.copyOf(findWays(new QueuePlan(queues, connections)).values());
    this.leastMessages = leastMessages(ways);
    int most = Wiring.mostPerPe(group, connections);
    this.chunkBytes = machine.fabric().chunkBytes();
    this.inTcm = queues.bufferKind() == BufferKind.TCM;
    this.serialIssue = machine.pe().cpu().issue() == IssuePolicy.SERIAL;
    this.slotCost =
        queues.slotAccess() == SlotAccess.SERIAL
            ? Optional.ofNullable(queues.serialCost().get(queues.bufferKind()))
            : Optional.empty();
    this.tcmBytes =
        machine.pe().tcm().sizeBytes()
            - (inTcm ? (long) most * queues.slots() * queues.slotBytes() : 0);
    this.toMemory = new int[n][];
    this.fromMemory = new int[n][];
    this.toMemoryPs = new long[n];
    this.fromMemoryPs = new long[n];
    for (int rank = 0; rank < n; rank++) {
      int pe = machine.peNode(group.lead(rank));
      int memory = machine.hbmNode(group.lead(rank));
      Route there = machine.route(pe, memory);
      Route back = machine.route(memory, pe);
      toMemory[rank] = there.links();
      fromMemory[rank] = back.links();
      toMemoryPs[rank] = there.latencyPs();
      fromMemoryPs[rank] = back.latencyPs();
    }
    this.linkLatency = new long[machine.linkCount()];
    this.linkRate = new Rate[machine.linkCount()];
    for (int link = 0; link < linkRate.length; link++) {
      linkLatency[link] = machine.specOf(link).latencyPs() + machine.messagePs(link);
      linkRate[link] = machine.specOf(link).rate();
    }
    this.links = new Busy[linkRate.length];
    this.linkFree = new long[linkRate.length];
    findShared();
    this.channelFree = new long[n][machine.pe().dma().messageChannels()];
    this.adderFree = new long[n];
    this.copiesFree = new long[n];
    this.issue = new long[n];
    this.tcmUsed = new long[n];
  }

  private Map<Long, Way> findWays(QueuePlan plan) {
    int channels = machine.pe().dma().messageChannels();
    int[] places = plan.places();
    Map<Long, Way> found = new LinkedHashMap<>();
    for (int i = 0; i < plan.connections().size(); i++) {
      int a = group.rankOf(plan.connections().get(i).a());
      int b = group.rankOf(plan.connections().get(i).b());
      found.put(key(a, b), way(a, b, places[2 * i] % channels));
      found.put(key(b, a), way(b, a, places[2 * i + 1] % channels));
    }
    for (Part p : steps.flow().parts()) {
      if (p.kind == Kind.RECEIVED) {
        ways[p.id] = Objects.requireNonNull(found.get(key(p.source().rank, p.rank)));
      }
    }
    return found;
  }

  private static long key(int from, int to) {
    return ((long) from << 32) | to;
  }

  /** Links that several ways take, or a way and a rank's loads or stores. */
  private void findShared() {
    boolean[] taken = new boolean[links.length];
    List<int[]> routes = new ArrayList<>(List.of(toMemory));
    routes.addAll(List.of(fromMemory));
    Arrays.stream(ways).filter(Objects::nonNull).distinct().forEach(way -> routes.add(way.route));
    for (int[] route : routes) {
      for (int link : route) {
        if (taken[link] && links[link] == null) {
          links[link] = new Busy();
        }
        taken[link] = true;
      }
    }
  }

  private Way way(int from, int to, int channel) {
    Pe a = group.lead(from);
    Pe b = group.lead(to);
    long credit = machine.route(b, a).alonePs(queues.creditBytes()) + queues.creditOverheadPs();
    return new Way(machine.route(a, b), credit, channel, queues.slots());
  }

  /**
   * Time from the start of the kernel until the last rank is done, in picoseconds; {@link #NEVER}
   * if a rank would have to send before it can receive what frees the slot, or TCM is too small.
   */
  long timePs(FlowCut cut, FlowPace pace, int elementBytes) {
    return timePs(cut, pace, elementBytes, NEVER);
  }

  /**
   * As {@link #timePs(FlowCut, FlowPace, int)}, but {@link #NEVER} as soon as it is known to be
   * later than a limit, which saves most of the way to a time that nobody will take.
   */
  long timePs(FlowCut cut, FlowPace pace, int elementBytes, long limitPs) {
    this.limitPs = limitPs;
    int followed = followed(pace);
    isWhole = pace.groups() <= followed + 1;
    if (isWhole) {
      return follow(cut, pace, pace.chunks(), elementBytes);
    }
    // Two runs, not two groups of one: the last groups of a run have the links to themselves.
    int period = period(pace);
    long shorter = follow(cut, pace, (followed - period) * pace.together(), elementBytes);
    long longer = follow(cut, pace, followed * pace.together(), elementBytes);
    if (shorter == NEVER || longer == NEVER) {
      return NEVER;
    }
    double more = (double) (pace.chunks() - followed * pace.together()) / pace.together();
    long all = longer + Math.round(more * (longer - shorter) / period);
    return all > limitPs ? NEVER : all;
  }

  /**
   * Whether all was followed last, and no message waited on a link that another way takes, so that
   * nothing depends on who comes first: the forecast is then the closed form.
   */
  boolean isExact() {
    long metPs = crowdedPs;
    for (Busy link : links) {
      metPs += link == null ? 0 : link.waitedPs();
    }
    return isWhole && metPs <= NOTHING * end;
  }

  /** Gives up the room for what was followed last; that of a thousand ranks is a gigabyte. */
  void forget() {
    for (Busy link : links) {
      if (link != null) {
        link.forget();
      }
    }
  }

  /** Intervals for which there is room. */
  long room() {
    long room = 0;
    for (Busy link : links) {
      room += link == null ? 0 : link.room();
    }
    return room;
  }

  /** Whether the parts of what was followed last fit the TCM beside the message slots. */
  boolean fitsTcm() {
    return tcmPeak <= tcmBytes;
  }

  /** TCM beside the message slots; negative if those alone are too much. */
  long tcmBytes() {
    return tcmBytes;
  }

  /**
   * Groups of chunks that are followed: so many that messages of the way with the fewest have
   * filled its slots, for later ones wait for credits, and then a period.
   */
  int followed(FlowPace pace) {
    int toFillSlots = Math.ceilDiv(queues.slots(), pace.together() * leastMessages);
    int before = Math.max(Math.ceilDiv(steps.steps(), pace.apart()), toFillSlots);
    return before + Math.max(3, period(pace));
  }

  /** Groups of chunks after which that way's messages are in the same slots again. */
  private int period(FlowPace pace) {
    int slot = 0;
    int groups = 0;
    do {
      slot = (slot + pace.together() * leastMessages) % queues.slots();
      groups++;
    } while (slot != 0);
    return groups;
  }

  /** Messages of a chunk on the way that has the fewest. */
  private static int leastMessages(Way[] ways) {
    Map<Way, Integer> messages = new IdentityHashMap<>();
    Arrays.stream(ways).filter(Objects::nonNull).forEach(w -> messages.merge(w, 1, Integer::sum));
    return messages.values().stream().mapToInt(m -> m).min().orElse(1);
  }

  private long follow(FlowCut cut, FlowPace pace, int chunks, int elementBytes) {
    for (Busy link : links) {
      if (link != null) {
        link.clear();
      }
    }
    Arrays.fill(linkFree, 0);
    Arrays.fill(adderFree, 0);
    Arrays.fill(copiesFree, 0);
    Arrays.fill(issue, 0);
    Arrays.fill(tcmUsed, 0);
    for (long[] channels : channelFree) {
      Arrays.fill(channels, 0);
    }
    for (Way way : allWays) {
      Arrays.fill(way.credits, 0);
      way.sent = 0;
    }
    tcmPeak = 0;
    end = 0;
    crowdedPs = 0;
    impossible = false;
    @Nullable Chunk[] underWay = new Chunk[chunks];
    ArrayDeque<Chunk> spare = new ArrayDeque<>();
    FlowPace shortened = new FlowPace(chunks, pace.together(), pace.apart(), pace.copy());
    shortened.forEach(
        steps.steps(),
        (chunk, step) -> {
          if (impossible || end > limitPs) {
            return;
          }
          Chunk state = underWay[chunk];
          if (state == null) {
            state = spare.isEmpty() ? new Chunk(ways.length) : spare.pop();
            state.clear();
            underWay[chunk] = state;
          }
          for (Action a : steps.atStep(step)) {
            long bytes = (long) cut.count(chunk, a.part().first, a.part().count) * elementBytes;
            act(state, a, bytes, pace.copy());
          }
          if (step == steps.steps() - 1) {
            spare.push(state);
            underWay[chunk] = null;
          }
        });
    return impossible || tcmPeak > tcmBytes || end > limitPs ? NEVER : end;
  }

  private void act(Chunk c, Action a, long bytes, boolean copy) {
    if (bytes > 0) {
      perform(c, a, bytes, copy);
    }
    for (Part dead : a.dead()) {
      giveUp(c, dead, a.rank());
    }
  }

  private void perform(Chunk c, Action a, long bytes, boolean copy) {
    Part p = a.part();
    int rank = a.rank();
    issue[rank] += machine.pe().cpu().dispatchPs();
    long done = 0;
    switch (a.verb()) {
      case READ, JOIN -> {
        for (Part stored : p.from) {
          done = Math.max(done, c.ready[stored.id]);
        }
        done = Math.max(done, issue[rank]) + machine.pe().dma().setupPs();
        done += toMemoryPs[rank] + machine.hbm().latencyPs();
        c.ready[p.id] = cross(fromMemory[rank], done, bytes);
        takeTcm(c, p, bytes);
      }
      case SEND -> done = send(c, p, rank, bytes);
      case RECEIVE -> receive(c, a, bytes, copy);
      case COMBINE -> {
        Part x = p.from.get(0);
        Part y = p.from.get(1);
        done = Math.max(Math.max(ready(c, x), ready(c, y)), Math.max(adderFree[rank], issue[rank]));
        done += LinkCosts.additionPs(adders[rank], bytes);
        adderFree[rank] = done;
        c.ready[p.id] = done;
        takeTcm(c, p, bytes);
      }
      case FINISH -> {
        c.ready[p.id] = ready(c, p.source());
        c.held[p.id] = c.held[p.source().id];
      }
      case STORE -> {
        done = Math.max(ready(c, p.source()), issue[rank]) + machine.pe().dma().setupPs();
        done = cross(toMemory[rank], done, bytes) + fromMemoryPs[rank];
        done += machine.hbm().latencyPs();
        c.ready[p.id] = done;
      }
    }
    if (serialIssue
        && a.verb() != Verb.SEND
        && !(a.verb() == Verb.RECEIVE && isInPlace(a, bytes, copy))) {
      issue[rank] = Math.max(issue[rank], Math.max(done, c.ready[p.id]));
    }
    end = Math.max(end, Math.max(done, c.ready[p.id]));
    for (Part used : a.verb() == Verb.JOIN ? List.<Part>of() : p.from) {
      Part root = used.root();
      c.read[root.id] = Math.max(c.read[root.id], done);
    }
  }

  private static long ready(Chunk c, Part p) {
    return c.ready[p.root().id];
  }

  private long send(Chunk c, Part p, int rank, long bytes) {
    Way way = ways[p.id];
    long free =
        Math.max(channelFree[rank][way.channel], Math.max(issue[rank], ready(c, p.source())));
    if (copyPsPerByte > 0) {
      free = copied(rank, free, Math.round(bytes * copyPsPerByte));
    }
    long slotBytes = queues.slotBytes();
    long arrived = 0;
    for (long rest = bytes; rest > 0; rest -= slotBytes) {
      int slot = (int) (way.sent++ % way.credits.length);
      long credit = way.credits[slot];
      if (credit == NEVER && bytes <= slotBytes) {
        impossible = true;
        return free;
      }
      long start = credit == NEVER ? free : Math.max(free, credit);
      if (serialIssue) {
        issue[rank] = Math.max(issue[rank], start);
      }
      start += way.overheadPs;
      way.credits[slot] = bytes <= slotBytes ? NEVER : 0;
      arrived = cross(way.route, start, Math.min(rest, slotBytes));
      free = entered;
      c.slot[p.id] = slot;
    }
    channelFree[rank][way.channel] = free;
    c.ready[p.id] = arrived + (slotCost.isPresent() ? slotCost.get().durationPs(bytes) : 0);
    return free;
  }

  /**
   * When a message may leave that a kernel copies, one after the other; the kernel waits for it.
   */
  private long copied(int rank, long free, long copyPs) {
    long leaves = Math.max(free, copiesFree[rank] == 0 ? copyPs : copiesFree[rank]);
    copiesFree[rank] = leaves + copyPs;
    issue[rank] = Math.max(issue[rank], leaves);
    return leaves;
  }

  /**
   * Of a collective library's protocol: how long a rank takes to hand a byte to the wire, of all
   * its messages together; 0 for none.
   */
  void pacedBy(double psPerByte) {
    copyPsPerByte = psPerByte;
  }

  /** When the tail of what crossed last had entered its first link. */
  private long entered;

  /** When the last byte arrives. */
  private long cross(int[] route, long start, long bytes) {
    long head = start;
    long tail = start;
    for (int i = 0; i < route.length; i++) {
      int link = route[i];
      long duration = linkRate[link].durationPs(bytes);
      Busy shared = links[link];
      long from;
      long to;
      if (shared == null) {
        // One way alone: its messages follow each other.
        from = Math.max(head, linkFree[link]);
        to = Math.max(from + duration, tail);
        linkFree[link] = bytes <= chunkBytes ? to : from + duration;
      } else {
        // One chunk holds a link until its tail has passed, which a slower link before may delay;
        // between chunks others get in.
        boolean one = bytes <= chunkBytes;
        from = shared.take(head, duration, one ? tail : head);
        to = Math.max(from + duration, tail);
        crowdedPs += one ? 0 : to - head;
      }
      entered = i == 0 ? to : entered;
      head = from + linkLatency[link];
      tail = to + linkLatency[link];
    }
    return tail;
  }

  private void receive(Chunk c, Action a, long bytes, boolean copy) {
    Part p = a.part();
    long at = Math.max(c.ready[p.id], issue[a.rank()]);
    if (!isInPlace(a, bytes, copy)) {
      at +=
          slotCost.isPresent()
              ? slotCost.get().durationPs(bytes)
              : machine.pe().tcm().rate().durationPs(2 * bytes);
      free(p, c.slot[p.id], at);
      c.slot[p.id] = -1;
      takeTcm(c, p, bytes);
    }
    c.ready[p.id] = at;
  }

  private boolean isInPlace(Action a, long bytes, boolean copy) {
    return inTcm && slotCost.isEmpty() && a.inPlace() && !copy && bytes <= queues.slotBytes();
  }

  private void free(Part received, int slot, long time) {
    Way way = ways[received.id];
    way.credits[slot] = time + way.creditPs;
  }

  private void takeTcm(Chunk c, Part p, long bytes) {
    int rank = p.rank;
    c.held[p.id] = bytes;
    tcmUsed[rank] += bytes;
    tcmPeak = Math.max(tcmPeak, tcmUsed[rank]);
  }

  private void giveUp(Chunk c, Part dead, int rank) {
    if (dead.kind == Kind.RECEIVED && c.slot[dead.id] >= 0) {
      free(dead, c.slot[dead.id], c.read[dead.id]);
    } else {
      tcmUsed[rank] -= c.held[dead.id];
    }
  }
}
