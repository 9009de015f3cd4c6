package org.kernbench.device;

import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.fabric.FabricRoute;
import org.kernbench.device.fabric.SwitchSums;
import org.kernbench.device.log.ComputeKernels;
import org.kernbench.device.log.TransferLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.spec.Backpressure;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.SlotAccess;
import org.kernbench.machine.spec.SlotCost;
import org.kernbench.sim.Rate;

/**
 * One set of message queues and the messages in them: a message is cut into fragments of at most a
 * slot; each fragment needs a credit, crosses the fabric, is written to its slot, becomes visible,
 * is taken, and gives its credit back.
 *
 * <p>Credits travel on a path of their own and meet nobody, so the time at which one arrives is
 * known when the slot is freed. It is written into the sender's record at once, and a send may
 * start at that later time without an event for the credit itself.
 */
final class MessageUnit {
  private final MachineParts parts;
  private final Function<Pe, ProcessingElement> pes;
  private final Machine machine;
  private final boolean values;
  private final IpcqSpec ipcq;
  private final @Nullable SlotCost slotCost;
  private final QueueEnd[] queues;
  private final Map<Integer, Map<String, QueueEnd>> byPe = new HashMap<>();
  private final Map<QueuePlan.SwitchSum, Station> stations = new LinkedHashMap<>();
  private final int slots;
  private final boolean streamed;
  private final TransferLog transfers;

  /** Installs the queues of a plan on the PEs that it names. */
  MessageUnit(MachineParts parts, Function<Pe, ProcessingElement> pes, QueuePlan plan) {
    this.parts = parts;
    this.pes = pes;
    this.machine = parts.machine;
    this.values = parts.mode == Mode.FULL;
    this.transfers = parts.log.transfers();
    this.ipcq = plan.spec();
    this.slots = ipcq.slots();
    this.streamed = ipcq.slotAccess() == SlotAccess.STREAMED;
    this.slotCost = ipcq.serialCost().get(ipcq.bufferKind());
    this.queues = new QueueEnd[plan.connections().size() * 2];
    int[] places = plan.places(pe -> parts.representative(pe, pe));
    int id = 0;
    for (QueuePlan.Connection c : plan.connections()) {
      QueueEnd a = newQueue(id, c.a(), c.aDirection(), c.b(), places[id++]);
      QueueEnd b = newQueue(id, c.b(), c.bDirection(), c.a(), places[id++]);
      a.peer = b;
      b.peer = a;
      c.sums().ifPresent(sums -> join(a, sums));
    }
    takeRoom();
    for (QueueEnd q : queues) {
      connect(q);
    }
  }

  // ---- installation ----

  private QueueEnd newQueue(int id, Pe of, String direction, Pe peer, int place) {
    final Pe at = parts.representative(of, of);
    ProcessingElement p = pes.apply(at);
    Map<String, QueueEnd> ends = byPe.computeIfAbsent(p.index, i -> new LinkedHashMap<>());
    QueueEnd q =
        new QueueEnd(id, p.index, at, direction, parts.representative(peer, of), place, slots);
    if (ends.put(direction, q) != null) {
      throw new SimulationException(
          """
          %s: direction %s is connected twice; a direction name may be used once per PE\
          """
              .formatted(at, direction));
    }
    q.unit = this;
    q.receiver = new Engine(p, "queue " + direction, 1);
    q.channel = p.channel(place);
    queues[id] = q;
    return q;
  }

  private void join(QueueEnd up, QueuePlan.SwitchSum sums) {
    up.station = stations.computeIfAbsent(sums, s -> new Station(s, slots));
    up.member = sums.members().indexOf(up.pe);
    up.station.ups.put(up.member, up);
  }

  /** A place in a switch where what its members send is added up. */
  static final class Station {
    final QueuePlan.SwitchSum of;
    final SwitchSums<MessageOp> sums;

    /** By member, where it sends to, and the way of the sums to it. */
    final Map<Integer, QueueEnd> ups = new HashMap<>();

    final Map<Integer, FabricRoute> downs = new HashMap<>();

    /** At which it adds up, if it is slower than its ports. */
    @Nullable Rate rate;

    Station(QueuePlan.SwitchSum of, int slots) {
      this.of = of;
      this.sums = new SwitchSums<>(of.members().size(), slots);
    }

    /** Who has not given to the next sum that a member wants; all if nobody has. */
    List<Pe> missing(long number) {
      return sums.missing(number).stream().map(of.members()::get).toList();
    }
  }

  /** Checks that the slots fit beside those of other sets, then takes their room. */
  private void takeRoom() {
    long total = machine.pe().tcm().sizeBytes();
    byPe.forEach((index, ends) -> {
      ProcessingElement p = pes.apply(machine.peAt(index));
      long rings = ends.values().stream().filter(q -> q.station == null).count();
      long needed = p.tcm.slotBytes() + rings * tcmBytesPerQueue();
      if (needed > total) {
        throw new SimulationException(
            """
            %s: message slots need %s bytes of TCM, which has %s; use fewer or smaller \
            slots (ipcq.slots, ipcq.slot_size) or another buffer_kind\
            """
                .formatted(p.pe, needed, total));
      }
    });
    for (QueueEnd q : queues) {
      q.receiver().pe.addSlots(tcmBytes(q));
    }
  }

  /** Nothing comes in where a PE gives to sums. */
  private long tcmBytes(QueueEnd q) {
    return q.station == null ? tcmBytesPerQueue() : 0;
  }

  private long tcmBytesPerQueue() {
    return ipcq.bufferKind() == BufferKind.TCM ? slots * ipcq.slotBytes() : 0;
  }

  /** Whether a message has been sent that its receiver cannot see yet. */
  boolean isUnderWay() {
    for (QueueEnd q : queues) {
      if (q.fragmentsSent() > q.peer().fragmentsDelivered()) {
        return true;
      }
    }
    return false;
  }

  /** Gives the room of the slots back; nothing is under way. */
  void uninstall() {
    for (QueueEnd q : queues) {
      q.receiver().pe.removeSlots(tcmBytes(q));
    }
  }

  private void connect(QueueEnd q) {
    Pe peer = q.peerPe;
    int own = machine.peNode(q.pe);
    boolean otherMemory = streamed && ipcq.bufferKind() != BufferKind.TCM;
    Station station = q.station;
    if (station != null) {
      int node = station.of.switchNode();
      int slots = otherMemory ? slotNode(q.pe) : own;
      q.out = parts.route(own, node, q.pe.sip());
      addsUpAt(station, q.out.links[q.out.links.length - 1]);
      station.downs.put(q.member, parts.route(node, slots, q.pe.sip()));
      return;
    }
    if (q.peer().station != null) { // its sender is here, and hears of a free slot at once
      readsSlots(q, own, otherMemory);
      return;
    }
    q.out = parts.route(own, otherMemory ? slotNode(peer) : machine.peNode(peer), q.pe.sip());
    long back = machine.route(q.pe, peer).alonePs(ipcq.creditBytes());
    q.creditLatencyPs = back + ipcq.creditOverheadPs();
    readsSlots(q, own, otherMemory);
  }

  /** A switch adds up at a share of the rate of its slowest port. */
  private void addsUpAt(Station station, int port) {
    long share = machine.dimensions().get(machine.dimensionOf(port)).sumShareBillionths();
    if (share == 0) {
      throw new SimulationException(
          "%s adds nothing up; expected reduces: true in its dimension of system.network"
              .formatted(machine.node(station.of.switchNode()).name()));
    }
    machine
        .sumRate(port)
        .ifPresent(rate -> {
          Rate known = station.rate;
          station.rate =
              known == null || rate.bytesPerSecond() < known.bytesPerSecond() ? rate : known;
        });
  }

  private void readsSlots(QueueEnd q, int own, boolean otherMemory) {
    if (otherMemory) {
      q.slotRead = parts.route(slotNode(q.pe), own, q.pe.sip());
      q.slotReadRequestPs = parts.path(own, slotNode(q.pe), q.pe.sip()).requestPs();
    }
  }

  private int slotNode(Pe pe) {
    return switch (ipcq.bufferKind()) {
      case TCM -> machine.tcmNode(pe);
      case SRAM -> machine.sramNode(pe.sip(), pe.cube());
      case HBM -> machine.hbmNode(pe);
    };
  }

  QueueEnd queue(int id) {
    if (id < 0 || id >= queues.length) {
      throw new SimulationException(
          "no message queue " + id + " is installed; call initProcessGroup first");
    }
    return queues[id];
  }

  /** The queue that a PE knows under a direction name; -1 if there is none. */
  int id(int pe, String direction) {
    QueueEnd end = byPe.getOrDefault(pe, Map.of()).get(direction);
    return end == null ? -1 : end.id;
  }

  /** Direction names of a PE, in order of installation. */
  List<String> directions(int pe) {
    return List.copyOf(byPe.getOrDefault(pe, Map.of()).keySet());
  }

  /** The queue ends of a PE. */
  Collection<QueueEnd> ends(int pe) {
    return byPe.getOrDefault(pe, Map.of()).values();
  }

  /** Fragments of a message. */
  int fragments(int bytes) {
    return bytes <= ipcq.slotBytes() ? 1 : Math.toIntExact(Math.ceilDiv(bytes, ipcq.slotBytes()));
  }

  /** Whether a message can be used in its slot, without a copy. */
  boolean usableInPlace(int bytes) {
    return streamed && ipcq.bufferKind() == BufferKind.TCM && bytes <= ipcq.slotBytes();
  }

  int peakSlots() {
    int peak = 0;
    for (QueueEnd q : queues) {
      peak = Math.max(peak, q.slotsInUsePeak());
    }
    return peak;
  }

  // ---- sending ----

  /** When a send that is ready at {@code readyPs} finds the credit of its next fragment. */
  long creditFoundPs(QueueEnd q, long readyPs) {
    long credit = q.creditPs();
    if (credit > readyPs && ipcq.backpressure() == Backpressure.POLL) {
      long interval = ipcq.pollIntervalPs();
      return readyPs + Math.ceilDiv(credit - readyPs, interval) * interval;
    }
    return credit;
  }

  void startSend(MessageOp op, long startPs) {
    if (op.end().station != null) {
      checkSum(op);
    }
    op.firstFragment = op.end().fragmentsSent();
    if (values) {
      op.payload = op.a.data();
      op.payloadOffset = op.a.dataOffset() + op.aOffset;
    }
    sendFragment(op, startPs);
  }

  private void checkSum(MessageOp op) {
    if (op.fragments > 1) {
      throw new SimulationException(
          """
          send %s at %s%s: a message of %s bytes to the sums of a switch, which takes at most a \
          slot of %s bytes at once; send less at a time, or let ipcq.slot_size be larger\
          """
              .formatted(
                  op.end().direction,
                  op.pe.pe,
                  parts.atLine(op.line),
                  op.bytes,
                  ipcq.slotBytes()));
    }
  }

  private void sendFragment(MessageOp op, long startPs) {
    QueueEnd q = op.end();
    final World world = op.pe.world;
    q.sending = op;
    int creditBy = op.fragmentsStarted > 0 && startPs > op.channelFreePs ? q.creditOp() : -1;
    q.takeCredit(startPs);
    if (op.fragmentsStarted == 0) { // later the receiver may note where one of them has waited
      world.moves(op, q.out);
    }
    int bytes = op.fragmentBytes(op.fragmentsStarted++, ipcq.slotBytes());
    int part = world.part(op, bytes, startPs, creditBy);
    world.transfer(part, q.out, bytes, startPs + q.out.overheadPs, op, true);
  }

  /**
   * The tail of a fragment enters the first link at {@code tailPs}; the channel is free from then
   * on.
   */
  void injected(MessageOp op, long tailPs) {
    if (op.fragmentsStarted < op.fragments) {
      op.channelFreePs = tailPs;
      nextFragment(op);
    } else {
      op.end().sending = null;
      op.pe.sendLeft(op, tailPs);
    }
  }

  private void nextFragment(MessageOp op) {
    QueueEnd q = op.end();
    op.waitsForCredit = !q.hasCredit();
    if (!op.waitsForCredit) {
      long ready = op.channelFreePs;
      sendFragment(op, Math.max(ready, creditFoundPs(q, ready)));
    }
  }

  /**
   * A fragment has crossed the fabric at {@code timePs}; with serial access its slot is still to be
   * written.
   */
  void arrived(MessageOp op, long timePs) {
    Station station = op.end().station;
    if (station != null && !op.comesDown) {
      transfers.end(op.id, 0, timePs);
      atSwitch(station, op, timePs);
      return;
    }
    if (streamed) {
      slotWritten(op, timePs);
      return;
    }
    QueueEnd to = op.end().peer();
    int bytes = op.fragmentBytes(op.fragmentsDone, ipcq.slotBytes());
    if (to.writeFreePs > timePs) {
      transfers.writtenAfter(op.id, partOf(op), to.writtenBy, to.writtenNumber);
    }
    to.writeFreePs = Math.max(timePs, to.writeFreePs) + slotCost().durationPs(bytes);
    to.writtenBy = op.id;
    to.writtenNumber = partOf(op);
    slotWritten(op, to.writeFreePs);
  }

  /** A contribution will have reached its switch; if it is the last, the sum goes down to all. */
  private void atSwitch(Station station, MessageOp op, long timePs) {
    SwitchSums<MessageOp> sums = station.sums;
    long number = op.firstFragment;
    if (!sums.arrives(op.end().member, number, op, timePs)) {
      return;
    }
    long begins =
        sums.beginsPs(number, station.rate == null ? 0 : station.rate.durationPs(op.bytes));
    int last = sums.last(number);
    List<MessageOp> parts = sums.take(number);
    byte[] sum = values ? sum(station.of, parts) : TimedRegister.NO_DATA;
    for (MessageOp part : parts) {
      checkEqual(part, op);
      part.comesDown = true;
      part.payload = sum;
      part.payloadOffset = 0;
      FabricRoute down = Objects.requireNonNull(station.downs.get(part.end().member));
      part.pe.world.comesDown(part, down, begins, parts.get(last).id);
    }
  }

  /** Always in the order of the members, whoever came first: the same bits for all. */
  private static byte[] sum(QueuePlan.SwitchSum of, List<MessageOp> parts) {
    MessageOp first = parts.getFirst();
    byte[] sum = first.payload;
    int at = first.payloadOffset;
    for (MessageOp next : parts.subList(1, parts.size())) {
      sum = ComputeKernels.combine(of.op(), of.type(), sum, at, next.payload, next.payloadOffset, first.bytes);
      at = 0;
    }
    return sum;
  }

  private void checkEqual(MessageOp a, MessageOp b) {
    if (a.bytes != b.bytes) {
      throw new SimulationException(
          """
          send %s at %s%s gives %s bytes to a sum to which %s gives %s; let all members send \
          as much\
          """
              .formatted(
                  a.end().direction, a.pe.pe, parts.atLine(a.line), a.bytes, b.pe.pe, b.bytes));
    }
  }

  private SlotCost slotCost() {
    return Objects.requireNonNull(slotCost, "validated: every buffer kind has a slot cost");
  }

  /** By which part of a send its next fragment arrives: of a sum, by the way down. */
  private static int partOf(MessageOp op) {
    return op.fragmentsDone + (op.comesDown ? 1 : 0);
  }

  /** Data and metadata of a fragment become visible in one step, at {@code timePs}. */
  private void slotWritten(MessageOp op, long timePs) {
    QueueEnd to = op.end().peer();
    transfers.end(op.id, partOf(op), timePs);
    int k = op.fragmentsDone++;
    int slot = (int) ((op.firstFragment + k) % slots);
    int bytes = op.fragmentBytes(k, ipcq.slotBytes());
    if (values) {
      to.put(slot, op.payload, op.payloadOffset + k * (int) ipcq.slotBytes());
    }
    boolean last = op.fragmentsDone == op.fragments;
    to.deliver(slot, timePs, op.id, bytes, last);
    final World world = world(to);
    if (last) {
      sendSeen(op, timePs, world);
    }
    Issuer selecting = to.selecting;
    if (selecting != null) {
      world.wakeAt(timePs, selecting);
    }
    MessageOp receiving = to.receiving;
    if (receiving != null) {
      startReceive(receiving, Math.max(timePs, receiving.copiedPs));
    } else {
      world.tryStart(to.receiver());
    }
  }

  private static void sendSeen(MessageOp op, long timePs, World seenIn) {
    if (op.pe.world == seenIn) {
      op.pe.sendSeen(op, timePs);
    } else {
      seenIn.sim.post(op.pe.place, () -> op.pe.sendSeen(op, timePs));
    }
  }

  private static World world(QueueEnd end) {
    return end.receiver().pe.world;
  }

  // ---- receiving ----

  void startReceive(MessageOp op, long startPs) {
    QueueEnd q = op.end();
    checkFragment(op, q);
    q.receiving = null;
    int sentBy = q.visibleOp();
    op.slot = q.take();
    int bytes = op.fragmentBytes(op.fragmentsStarted++, ipcq.slotBytes());
    if (op.inPlace) {
      useInPlace(op);
      op.pe.complete(op, startPs);
      return;
    }
    final World world = op.pe.world;
    int part = world.part(op, bytes, startPs, sentBy);
    if (!streamed) {
      copied(op, startPs + slotCost().durationPs(bytes));
    } else if (ipcq.bufferKind() == BufferKind.TCM) {
      copied(op, startPs + machine.pe().tcm().rate().durationPs(2L * bytes));
    } else {
      world.moves(op, q.slotRead);
      world.transfer(part, q.slotRead, bytes, startPs + q.slotReadRequestPs, op, false);
    }
  }

  private void checkFragment(MessageOp op, QueueEnd q) {
    int expected = op.fragmentBytes(op.fragmentsStarted, ipcq.slotBytes());
    boolean last = op.fragmentsStarted + 1 == op.fragments;
    if (q.visibleBytes() != expected || q.isLastFragment() != last) {
      throw new SimulationException(
          """
          recv %s at %s%s expects a message of %s bytes, but %s sent another size (a \
          fragment of %s bytes where %s were expected); let both sides agree on shape and \
          dtype\
          """
              .formatted(
                  q.direction,
                  q.pe,
                  parts.atLine(op.line),
                  op.bytes,
                  q.peerPe,
                  q.visibleBytes(),
                  expected));
    }
  }

  /** A fragment has been copied out of its slot at {@code timePs}. */
  void copied(MessageOp op, long timePs) {
    QueueEnd q = op.end();
    if (values) {
      int k = op.fragmentsStarted - 1;
      int bytes = op.fragmentBytes(k, ipcq.slotBytes());
      if (k == 0) {
        op.out.hold(new byte[op.bytes]);
      }
      System.arraycopy(
          q.slotData(op.slot),
          q.slotOffset(op.slot),
          op.out.data(),
          k * (int) ipcq.slotBytes(),
          bytes);
    }
    freeSlot(q, op.slot, op.id, timePs);
    transfers.end(op.id, op.fragmentsDone++, timePs);
    if (op.fragmentsDone == op.fragments) {
      boolean awaitsCredit = ipcq.recvAwaitsCredit() && !op.async;
      op.pe.complete(op, timePs + (awaitsCredit ? q.creditLatencyPs : 0));
    } else if (q.hasMessage()) {
      startReceive(op, Math.max(timePs, q.visiblePs()));
    } else {
      op.copiedPs = timePs;
      q.receiving = op;
    }
  }

  /** The value of a zero-copy receive is its slot. */
  private static void useInPlace(MessageOp op) {
    op.out.slotQueue = op.end();
    op.out.slot = op.slot;
  }

  /** A slot is free at {@code timePs}, now or later; its credit sets out then. */
  void freeSlot(QueueEnd q, int slot, int byOp, long timePs) {
    QueueEnd sender = q.peer();
    World here = world(q);
    long arrivalPs = timePs + q.creditLatencyPs;
    if (world(sender) == here) {
      creditSetsOut(sender, slot, arrivalPs, byOp);
    } else {
      here.sim.post(sender.receiver().pe.place, () -> creditSetsOut(sender, slot, arrivalPs, byOp));
    }
  }

  private void creditSetsOut(QueueEnd sender, int slot, long arrivalPs, int byOp) {
    sender.returnCredit(slot, arrivalPs, byOp);
    MessageOp waiting = sender.sending;
    if (waiting != null && waiting.waitsForCredit) {
      nextFragment(waiting);
    } else if (sender.creditWanted) { // nobody else could start now; the sender is far in memory
      sender.creditWanted = false;
      world(sender).tryStart(sender.channel());
    }
  }
}
