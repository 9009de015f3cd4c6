package org.kernbench.eval.explain;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.Cost;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.TransferLog;
import org.kernbench.eval.explain.CausalGraph.Piece;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Overhead;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.LinkKind;

/** What the moments of bytes on their way followed from: fragments, chunks, slots and credits. */
final class TransferRules {
  private static final Piece[] NOTHING = {};

  private final CausalGraph graph;
  private final Machine machine;
  private final OpLog log;
  private final TransferLog ways;
  private final boolean allTight;

  private @Nullable Map<Integer, Integer> sumBefore;

  /** Links to each switch that adds up. */
  private final Map<Integer, List<Integer>> ports = new HashMap<>();

  TransferRules(CausalGraph graph, Machine machine, OpLog log, boolean allTight) {
    this.graph = graph;
    this.machine = machine;
    this.log = log;
    this.ways = log.transfers();
    this.allTight = allTight;
  }

  private int at(Moment kind, int index) {
    return graph.moment(kind.of(index));
  }

  /** When the last byte of a send had left its channel. */
  long leftPs(int send) {
    int part = ways.lastSent(send);
    int entry = part < 0 ? -1 : ways.lastEntry(part);
    return entry < 0 ? log.endPs(send) : ways.tailPs(entry);
  }

  void left(int m, int send) {
    graph.same(m, at(Moment.TAIL_IN, ways.lastEntry(ways.lastSent(send))), send);
  }

  /** The last chunk of a part has crossed the last link, and then some. */
  void arrival(int m, int op, int part, Piece... then) {
    int service = part < 0 ? -1 : ways.lastService(part);
    if (service < 0) {
      graph.join(m, at(Moment.START, op), PathCause.OTHER, op);
      return;
    }
    List<Piece> pieces = new ArrayList<>();
    pieces.add(latency(ways.link(service), op));
    pieces.addAll(Arrays.asList(then));
    graph.join(
        m,
        at(Moment.TAIL_IN, service),
        after(ways.link(service)),
        op,
        pieces.toArray(Piece[]::new));
  }

  private Piece latency(int link, int op) {
    return new Piece(new Cost.LinkLatency(link), PathCause.LATENCY, op);
  }

  void partEnd(int m, int part) {
    int op = ways.op(part);
    boolean receives = log.kind(op) == OpKind.RECV;
    int service = ways.lastService(part);
    if (receives && service < 0) {
      int start = at(Moment.PART_START, part);
      graph.join(
          m,
          start,
          PathCause.SLOT_ACCESS,
          op,
          slotCost(part, graph.timePs(m) - ways.startPs(part)));
      return;
    }
    int after = ways.writtenAfter(part);
    if (after >= 0) {
      Piece[] access = slotCost(part, graph.timePs(m) - ways.endPs(after));
      graph.join(m, at(Moment.PART_END, after), PathCause.SLOT_ACCESS, op, access);
      return;
    }
    long arrived = ways.tailPs(service) + machine.link(ways.link(service)).latencyPs();
    Piece[] then = graph.timePs(m) > arrived ? slotCost(part, graph.timePs(m) - arrived) : NOTHING;
    arrival(m, op, part, then);
  }

  /** What an access to a slot was charged with: the kind of memory that explains the time. */
  private Piece[] slotCost(int part, long ps) {
    int op = ways.op(part);
    List<Cost> candidates = new ArrayList<>();
    candidates.add(new Cost.SlotAccess(machine.ipcq().bufferKind(), ways.bytes(part)));
    candidates.add(new Cost.SlotCopy(ways.bytes(part)));
    for (BufferKind kind : BufferKind.values()) {
      candidates.add(new Cost.SlotAccess(kind, ways.bytes(part)));
    }
    for (Cost c : candidates) {
      if (graph.psOf(c) == ps) {
        return new Piece[] {new Piece(c, PathCause.SLOT_ACCESS, op)};
      }
    }
    return NOTHING;
  }

  void partStart(int m, int part) {
    int op = ways.op(part);
    if (ways.number(part) == 0) {
      graph.same(m, at(Moment.START, op), op);
      return;
    }
    int previous = ways.previous(part);
    int by = ways.by(part);
    if (ways.isFromSwitch(part)) {
      sumStart(m, part, op, by);
      return;
    }
    if (log.kind(op) == OpKind.SEND) {
      if (by >= 0 && log.has(by)) {
        credit(m, op, by);
      } else {
        graph.same(m, at(Moment.TAIL_IN, ways.lastEntry(previous)), op);
      }
      return;
    }
    int sent = arriving(by, ways.number(part), op);
    if (sent >= 0 && ways.endPs(sent) == graph.timePs(m)) {
      graph.same(m, at(Moment.PART_END, sent), op);
      if (!allTight) {
        return;
      }
    }
    if (ways.endPs(previous) == graph.timePs(m) || graph.firstEdge(m) == CausalGraph.NONE) {
      graph.same(m, at(Moment.PART_END, previous), op);
    }
  }

  /**
   * When the last of those that it adds up was there, or the switch was done with the one before.
   */
  private void sumStart(int m, int part, int op, int by) {
    int before = sums().getOrDefault(part, -1);
    if (before >= 0) {
      Piece busy =
          new Piece(
              new Cost.SwitchSum(
                  Objects.requireNonNull(ports.get(switchOf(part))), ways.bytes(before)),
              PathCause.SERIALISATION,
              op);
      boolean waited = graph.timePs(m) == ways.startPs(before) + graph.psOf(busy.cost());
      boolean arrived = graph.timePs(m) == ways.endPs(ways.part(by, 0));
      if (waited && graph.psOf(busy.cost()) > 0) {
        graph.join(m, at(Moment.PART_START, before), PathCause.SERIALISATION, op, busy);
        if (!allTight || !arrived) {
          return;
        }
      }
    }
    graph.join(m, at(Moment.PART_END, ways.part(by, 0)), PathCause.SERIALISATION, op);
  }

  private int switchOf(int part) {
    int service = ways.lastService(part);
    while (!ways.isEntry(service)) {
      service = ways.from(service);
    }
    return machine.linkFrom(ways.link(service));
  }

  /** The part by which fragment {@code number} of a send came to where it is received. */
  int arriving(int send, int number, int receive) {
    int sip = log.pe(receive).sip();
    return ways.arriving(
        send,
        number,
        part -> machine.packageOf(machine.linkTo(ways.link(ways.lastService(part)))) == sip);
  }

  /** The part with which a send ends: of copies the one that is there last. */
  int ending(int send) {
    int last = ways.lastPart(send);
    return last < 0 || !ways.isCopy(last)
        ? last
        : ways.arriving(send, 0, part -> ways.endPs(part) == log.endPs(send));
  }

  /**
   * By way down of a sum, that of the sum that its switch made before: to the same member, if that
   * got it.
   */
  private Map<Integer, Integer> sums() {
    if (sumBefore == null) {
      sumBefore = new HashMap<>();
      Map<Integer, List<Integer>> bySwitch = new HashMap<>();
      for (int send = 0; send < log.size(); send++) {
        int part = log.kind(send) == OpKind.SEND ? ways.lastPart(send) : -1;
        if (part >= 0 && ways.isFromSwitch(part) && !ways.isCopy(part)) {
          int node = switchOf(part);
          bySwitch.computeIfAbsent(node, n -> new ArrayList<>()).add(part);
          int port = ways.link(ways.lastService(ways.lastSent(send)));
          List<Integer> known = ports.computeIfAbsent(node, n -> new ArrayList<>());
          if (!known.contains(port)) {
            known.add(port);
          }
        }
      }
      bySwitch.values().forEach(this::inTurn);
    }
    return sumBefore;
  }

  private void inTurn(List<Integer> parts) {
    parts.sort(Comparator.comparingLong(ways::startPs));
    Map<Pe, Integer> before = Map.of();
    Map<Pe, Integer> now = new LinkedHashMap<>();
    long nowPs = -1;
    for (int part : parts) {
      if (ways.startPs(part) > nowPs) {
        before = now;
        now = new LinkedHashMap<>();
        nowPs = ways.startPs(part);
      }
      Pe pe = log.pe(ways.op(part));
      now.put(pe, part);
      if (!before.isEmpty()) {
        int any = before.values().iterator().next();
        Objects.requireNonNull(sumBefore).put(part, before.getOrDefault(pe, any));
      }
    }
  }

  /** A send, or its next fragment, started when a credit was back that {@code by} had freed. */
  void credit(int m, int op, int by) {
    if (log.pe(by).equals(log.pe(op))) { // it knows at once that its own slot is free
      graph.join(m, lastOf(by, graph.timePs(m)), PathCause.SLOT_HELD, by);
      return;
    }
    Piece back =
        new Piece(new Cost.CreditReturn(log.pe(by), log.pe(op)), PathCause.CREDIT_RETURN, op);
    long freed = graph.timePs(m) - graph.psOf(back.cost());
    graph.join(m, lastOf(by, freed), PathCause.SLOT_HELD, by, back);
  }

  /**
   * The latest moment of an operation that is not after a time at which it was done with a slot.
   */
  private int lastOf(int op, long timePs) {
    if (log.kind(op) == OpKind.SEND && leftPs(op) <= timePs) {
      return at(Moment.LEFT, op);
    }
    if (log.kind(op) == OpKind.RECV) {
      for (int p = ways.lastPart(op); p >= 0; p = ways.previous(p)) {
        if (ways.endPs(p) <= timePs) {
          return at(Moment.PART_END, p);
        }
      }
    }
    return log.endPs(op) <= timePs ? at(Moment.END, op) : at(Moment.START, op);
  }

  void headIn(int m, int service) {
    int before = ways.before(service);
    int part = ways.partOf(service);
    int op = ways.op(part);
    Piece[] nic = nicMessage(service, op);
    long nicPs = nic.length == 0 ? 0 : graph.psOf(nic[0].cost());
    boolean waited = before >= 0 && ways.tailPs(before) + nicPs == graph.timePs(m);
    boolean arrived = ways.headPs(service) == graph.timePs(m);
    boolean own = waited && ways.partOf(before) == part;
    if (own || (waited && !arrived)) {
      graph.join(m, at(Moment.TAIL_IN, before), PathCause.OTHER, op, nic);
      if (!allTight || !arrived) {
        return;
      }
    }
    comesFrom(m, service, part, op, nic);
    if (allTight && waited && !own) {
      graph.join(m, at(Moment.TAIL_IN, before), PathCause.OTHER, op, nic);
    }
  }

  /** What a NIC does before the first chunk of a transfer enters it. */
  private Piece[] nicMessage(int service, int op) {
    int link = ways.link(service);
    if (machine.messagePs(link) == 0) {
      return NOTHING;
    }
    int entry = service;
    while (!ways.isEntry(entry)) {
      entry = ways.from(entry);
    }
    return ways.from(entry) >= 0
        ? NOTHING
        : new Piece[] {new Piece(new Cost.NicMessage(link), PathCause.NIC_MESSAGE, op)};
  }

  private void comesFrom(int m, int service, int part, int op, Piece... nic) {
    int from = ways.from(service);
    if (!ways.isEntry(service)) {
      Moment left = machine.isStored(ways.link(from)) ? Moment.TAIL_IN : Moment.HEAD_IN;
      List<Piece> pieces = new ArrayList<>(List.of(latency(ways.link(from), op)));
      pieces.addAll(Arrays.asList(nic));
      graph.join(m, at(left, from), between(from, service), op, pieces.toArray(Piece[]::new));
    } else if (from >= 0) {
      graph.join(m, at(Moment.TAIL_IN, from), between(from, service), op);
    } else {
      graph.join(
          m, at(Moment.PART_START, part), inside(ways.link(service)), op, offer(service, op));
    }
  }

  /** Of time between two links: banks behind the second take what they need before they serve. */
  private PathCause between(int from, int service) {
    int to = ways.link(service);
    return isOfBanks(to) ? inside(to) : after(ways.link(from));
  }

  /** What time on a link is called that neither its rate nor its latency explains. */
  private PathCause inside(int link) {
    return isOfBanks(link) ? PathCause.MEMORY : after(link);
  }

  /**
   * As {@link #inside}, of time behind a link. Finite buffers hold flits up for credits and turns
   * that the records do not have one by one.
   */
  private PathCause after(int link) {
    if (machine.fabric().isBuffered()) {
      return PathCause.FLOW_CONTROL;
    }
    return isOfBanks(link) ? PathCause.MEMORY : PathCause.OTHER;
  }

  /** Banks take longer than the least that the latency of their link says. */
  private boolean isOfBanks(int link) {
    return machine.hbm().isBanked() && machine.linkKind(link) == LinkKind.HBM_PORT;
  }

  /** What passes from the start of a transfer until it offers its first byte. */
  private Piece[] offer(int service, int op) {
    return switch (log.kind(op)) {
      case SEND ->
          ways.isFromSwitch(ways.partOf(service)) ? NOTHING : overheads(ways.partOf(service), op);
      case LOAD -> before(op, request(service, op));
      case RECV -> new Piece[] {request(service, op)};
      case STORE, MATH, GEMM -> before(op);
    };
  }

  /** What a message pays for the links that its part went over. */
  private Piece[] overheads(int part, int op) {
    Set<LinkKind> kinds = EnumSet.noneOf(LinkKind.class);
    int service = ways.lastService(part);
    kinds.add(machine.linkKind(ways.link(service)));
    while (!ways.isEntry(service)) {
      service = ways.from(service);
      kinds.add(machine.linkKind(ways.link(service)));
    }
    return Overhead.over(kinds).stream()
        .map(each -> new Piece(new Cost.MessageOverhead(each), PathCause.MESSAGE_OVERHEAD, op))
        .toArray(Piece[]::new);
  }

  /** What a load or store takes before its command or its data sets out. */
  private Piece[] before(int op, Piece... then) {
    List<Piece> pieces = new ArrayList<>();
    pieces.add(new Piece(new Cost.DmaSetup(), PathCause.DMA_SETUP, op));
    if (log.translationPs(op) > 0) {
      long misses = log.translationPs(op) / machine.pe().mmu().missPs();
      pieces.add(new Piece(new Cost.Translation(misses), PathCause.TRANSLATION, op));
    }
    pieces.addAll(Arrays.asList(then));
    return pieces.toArray(new Piece[0]);
  }

  private Piece request(int service, int op) {
    int memory = machine.link(ways.link(service)).toNode();
    return new Piece(new Cost.Request(log.pe(op), memory), PathCause.LATENCY, op);
  }

  void tailIn(int m, int service) {
    int link = ways.link(service);
    int op = ways.op(ways.partOf(service));
    Cost bytes = new Cost.LinkBytes(link, ways.chunkBytes(service));
    int from = ways.from(service);
    boolean upstream =
        !ways.isEntry(service)
            && ways.tailPs(from) + machine.link(ways.link(from)).latencyPs() == graph.timePs(m);
    if (upstream) {
      graph.join(
          m, at(Moment.TAIL_IN, from), after(ways.link(from)), op, latency(ways.link(from), op));
    }
    boolean here = ways.startPsOf(service) + graph.psOf(bytes) == graph.timePs(m);
    if (!upstream || (allTight && here)) {
      Piece serial = new Piece(bytes, PathCause.SERIALISATION, op);
      graph.join(m, at(Moment.HEAD_IN, service), inside(link), op, serial);
    }
  }
}
