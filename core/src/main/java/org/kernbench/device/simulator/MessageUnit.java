package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.fabric.Interconnect;
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
  private final List<QueueEnd> queues = new ArrayList<>();
  private final Map<Integer, Map<String, QueueEnd>> byPe = new HashMap<>();
  private final Map<QueuePlan.SwitchSum, Station> stations = new LinkedHashMap<>();
  private final Map<Integer, SwitchSums.Adder> adders = new HashMap<>();
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
    int[] places = plan.places(pe -> parts.representative(pe, pe));
    int end = 0;
    for (QueuePlan.Connection c : plan.connections()) {
      QueueEnd a = newQueue(c.a(), c.aDirection(), c.b(), places[end++]);
      boolean one = c.isOneEnd(pe -> parts.representative(pe, pe));
      QueueEnd b = one ? a : newQueue(c.b(), c.bDirection(), c.a(), places[end]);
      end++;
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

  private QueueEnd newQueue(Pe of, String direction, Pe peer, int place) {
    final Pe at = parts.representative(of, of);
    ProcessingElement p = pes.apply(at);
    Map<String, QueueEnd> ends = byPe.computeIfAbsent(p.index, i -> new LinkedHashMap<>());
    QueueEnd q =
        new QueueEnd(
            queues.size(), p.index, at, direction, parts.representative(peer, of), place, slots);
    if (q.isUsed() && ends.put(direction, q) != null) {
      throw new SimulationException(
          """
          %s: direction %s is connected twice; a direction name may be used once per PE\
          """
              .formatted(at, direction));
    }
    q.unit = this;
    q.receiver = new Engine(p, "queue " + direction, 1);
    q.channel = p.channel(place);
    queues.add(q);
    return q;
  }

  private void join(QueueEnd up, QueuePlan.SwitchSum sums) {
    Station station = stations.computeIfAbsent(sums, s -> new Station(s, adder(s.switchNode())));
    up.station = station;
    up.member = sums.givers().indexOf(up.pe);
    if (up.isUsed()) {
      station.ups.add(up);
    }
    if (up.peer().isUsed()) {
      station.takers.add(up.peer());
    }
  }

  /** All that a switch adds up takes turns there. */
  private SwitchSums.Adder adder(int switchNode) {
    return adders.computeIfAbsent(switchNode, n -> new SwitchSums.Adder());
  }

  /** A place in a switch where what is given is added up, or copied, and handed out. */
  final class Station implements Interconnect.Sink {
    final QueuePlan.SwitchSum of;
    final SwitchSums<Gift> sums;

    /** Where givers send, and where what is made arrives. */
    final List<QueueEnd> ups = new ArrayList<>();

    final List<QueueEnd> takers = new ArrayList<>();

    /** At which it adds up, if it is slower than its ports. */
    @Nullable Rate rate;

    // of copies, by slot: the message in it, how many takers have given it back, the last of them
    private final MessageOp[] copied = new MessageOp[slots];
    private final int[] back = new int[slots];
    private final long[] backPs = new long[slots];
    private final int[] backBy = new int[slots];

    Station(QueuePlan.SwitchSum of, SwitchSums.Adder adder) {
      this.of = of;
      this.sums = new SwitchSums<>(of.givers().size(), slots, adder);
    }

    /** Who has not given to the next sum that a member wants; all if nobody has. */
    List<Pe> missing(long number) {
      return sums.missing(number).stream().map(of.givers()::get).toList();
    }

    private long fewestDelivered() {
      return takers.stream().mapToLong(QueueEnd::fragmentsDelivered).min().orElse(0);
    }

    /** One giver's message goes down to each that takes it. */
    void copies(MessageOp op, long timePs) {
      int slot = (int) (op.firstFragment % slots);
      copied[slot] = op;
      final World world = op.pe.world;
      op.serialisationPs += world.fabric.serialPs(takers.getFirst().down, op.bytes);
      for (int i = 0; i < takers.size(); i++) {
        world.copyGoesDown(op, takers.get(i).down, timePs, this, slot * takers.size() + i);
      }
    }

    @Override
    public void onInjected(int arg, long timePs) {
      throw new IllegalStateException("bug: nobody asked when a copy has left its switch");
    }

    @Override
    public void onDelivered(int arg, long timePs, long waitPs, int worstLink) {
      MessageOp op = copied[arg / takers.size()];
      op.contentionPs = Math.max(op.contentionPs, waitPs);
      int i = arg % takers.size();
      copyWritten(op, takers.get(i), i + 1, timePs);
    }

    /** A taker has freed a slot: who gives but does not take hears of it over the network. */
    void freed(QueueEnd taker, int slot, int byOp, long timePs) {
      QueueEnd own = taker.peer();
      if (own.isUsed()) { // it gives too, and hears of its own at once
        creditSetsOut(own, slot, timePs, byOp);
      }
      for (QueueEnd giver : ups) {
        if (!giver.peer().isUsed()) {
          credit(giver, slot, timePs + creditPs(taker.pe, giver.pe), byOp);
        }
      }
    }

    /** The slot of a copy is free when the last of its takers has said so. */
    private void credit(QueueEnd giver, int slot, long arrivalPs, int byOp) {
      if (of.isCopy()) {
        if (back[slot] == 0 || arrivalPs > backPs[slot]) {
          backPs[slot] = arrivalPs;
          backBy[slot] = byOp;
        }
        if (++back[slot] < takers.size()) {
          return;
        }
        back[slot] = 0;
        creditSetsOut(giver, slot, backPs[slot], backBy[slot]);
        return;
      }
      creditSetsOut(giver, slot, arrivalPs, byOp);
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

  /** Nothing comes in where a PE gives to sums, or where it gives only. */
  private long tcmBytes(QueueEnd q) {
    return q.isUsed() && q.station == null ? tcmBytesPerQueue() : 0;
  }

  private long tcmBytesPerQueue() {
    return ipcq.bufferKind() == BufferKind.TCM ? slots * ipcq.slotBytes() : 0;
  }

  /** Whether a message has been sent that its receiver cannot see yet. */
  boolean isUnderWay() {
    for (QueueEnd q : queues) {
      Station station = q.station;
      long there = station == null ? q.peer().fragmentsDelivered() : station.fewestDelivered();
      if (q.fragmentsSent() > there) {
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
      if (q.isUsed()) {
        q.out = parts.route(own, station.of.switchNode(), q.pe.sip());
        addsUpAt(station, q.out.links[q.out.links.length - 1]);
      }
      return;
    }
    Station gives = q.peer().station;
    if (gives != null) {
      if (q.isUsed()) {
        int slots = otherMemory ? slotNode(q.pe) : own;
        q.down = parts.route(gives.of.switchNode(), slots, q.pe.sip());
        q.creditLatencyPs = gives.of.isCopy() ? creditPs(q.pe, gives.ups.getFirst().pe) : 0;
        readsSlots(q, own, otherMemory);
      }
      return;
    }
    q.out = parts.route(own, otherMemory ? slotNode(peer) : machine.peNode(peer), q.pe.sip());
    q.creditLatencyPs = creditPs(q.pe, peer);
    readsSlots(q, own, otherMemory);
  }

  /**
   * What a credit takes; the peer of a folded queue is where it would be, not who stands for it.
   */
  private long creditPs(Pe from, Pe to) {
    return machine.route(from, to).alonePs(ipcq.creditBytes()) + ipcq.creditOverheadPs();
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
    if (id < 0 || id >= queues.size()) {
      throw new SimulationException(
          "no message queue " + id + " is installed; call initProcessGroup first");
    }
    return queues.get(id);
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
                  op.end().direction, op.pe.pe, parts.atLine(op.line), op.bytes, ipcq.slotBytes()));
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
    int k = op.fragmentsDone;
    QueueEnd to = op.end().peer();
    int part = partOf(op);
    long written = written(op, to, part, op.fragmentBytes(k, ipcq.slotBytes()), timePs);
    op.fragmentsDone++;
    visible(op, to, k, part, written);
    if (op.fragmentsDone == op.fragments) {
      sendSeen(op, written, world(to));
    }
    tells(to, written);
  }

  /** One giver's message has come down to one of its takers. */
  private void copyWritten(MessageOp op, QueueEnd to, int part, long timePs) {
    long written = written(op, to, part, op.bytes, timePs);
    op.lastCopyPs = Math.max(op.lastCopyPs, written);
    boolean all = ++op.copiesDone == Objects.requireNonNull(op.end().station).takers.size();
    visible(op, to, 0, part, written);
    if (all) {
      op.fragmentsDone++;
      sendSeen(op, op.lastCopyPs, world(to));
    }
    tells(to, written);
  }

  /** When a fragment that arrives is in its slot: at once, or after those before it. */
  private long written(MessageOp op, QueueEnd to, int part, int bytes, long timePs) {
    if (streamed) {
      return timePs;
    }
    if (to.writeFreePs > timePs) {
      transfers.writtenAfter(op.id, part, to.writtenBy, to.writtenNumber);
    }
    to.writeFreePs = Math.max(timePs, to.writeFreePs) + slotCost().durationPs(bytes);
    to.writtenBy = op.id;
    to.writtenNumber = part;
    return to.writeFreePs;
  }

  /** A contribution will have reached its switch; if it is the last, the sum goes down to all. */
  private void atSwitch(Station station, MessageOp op, long timePs) {
    if (station.of.isCopy()) {
      station.copies(op, timePs);
      return;
    }
    SwitchSums<Gift> sums = station.sums;
    long number = op.firstFragment;
    boolean takes = op.end().peer().isUsed();
    Gift gift = new Gift(op, takes);
    boolean all = sums.arrives(op.end().member, number, gift, timePs);
    if (!takes) { // it has done its part
      op.fragmentsDone++;
      sendSeen(op, timePs, op.pe.world);
    }
    if (!all) {
      return;
    }
    long begins =
        sums.beginsPs(number, station.rate == null ? 0 : station.rate.durationPs(gift.bytes));
    int last = sums.last(number);
    List<Gift> parts = sums.take(number);
    parts.forEach(part -> checkEqual(part, gift));
    byte[] sum = values ? sum(station.of, parts) : TimedRegister.NO_DATA;
    for (Gift part : parts) {
      MessageOp taker = part.taker;
      if (taker != null) {
        taker.comesDown = true;
        taker.payload = sum;
        taker.payloadOffset = 0;
        taker.pe.world.comesDown(taker, taker.end().peer().down, begins, parts.get(last).op);
      }
    }
  }

  /** What a message brings to a sum; it may be over before the sum is made. */
  private static final class Gift {
    final int op;
    final QueueEnd from;
    final int bytes;
    final int line;
    final byte[] payload;
    final int payloadOffset;

    /** The message, if its sender gets the sum. */
    final @Nullable MessageOp taker;

    Gift(MessageOp op, boolean takes) {
      this.op = op.id;
      this.from = op.end();
      this.bytes = op.bytes;
      this.line = op.line;
      this.payload = op.payload;
      this.payloadOffset = op.payloadOffset;
      this.taker = takes ? op : null;
    }
  }

  /** Always in the order of the givers, whoever came first: the same bits for all. */
  private static byte[] sum(QueuePlan.SwitchSum of, List<Gift> parts) {
    Gift first = parts.getFirst();
    byte[] sum = first.payload;
    int at = first.payloadOffset;
    for (Gift next : parts.subList(1, parts.size())) {
      sum =
          ComputeKernels.combine(
              of.op(), of.type(), sum, at, next.payload, next.payloadOffset, first.bytes);
      at = 0;
    }
    return at == 0 ? sum : Arrays.copyOfRange(sum, at, at + first.bytes);
  }

  private void checkEqual(Gift a, Gift b) {
    if (a.bytes != b.bytes) {
      throw new SimulationException(
          """
          send %s at %s%s gives %s bytes to a sum to which %s gives %s; let all members send \
          as much\
          """
              .formatted(
                  a.from.direction, a.from.pe, parts.atLine(a.line), a.bytes, b.from.pe, b.bytes));
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
  private void visible(MessageOp op, QueueEnd to, int k, int part, long timePs) {
    transfers.end(op.id, part, timePs);
    int slot = (int) ((op.firstFragment + k) % slots);
    int bytes = op.fragmentBytes(k, ipcq.slotBytes());
    if (values) {
      to.put(slot, op.payload, op.payloadOffset + k * (int) ipcq.slotBytes());
    }
    to.deliver(slot, timePs, op.id, bytes, k + 1 == op.fragments);
  }

  /** Who waits for what has become visible. */
  private void tells(QueueEnd to, long timePs) {
    final World world = world(to);
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
    Station station = sender.station;
    if (station != null) {
      station.freed(q, slot, byOp, timePs);
      return;
    }
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
