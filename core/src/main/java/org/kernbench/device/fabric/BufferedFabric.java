package org.kernbench.device.fabric;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.TransferLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.FabricSpec;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Rate;
import org.kernbench.sim.Simulation;

/**
 * Links with finite buffers at their ends, and credits that come back: wormhole switching.
 *
 * <p>The streaming rule is that of {@link Fabric}, for flits of {@code fabric.flit} bytes instead
 * of chunks. A chunk is a packet: the virtual channel of a link belongs to it from its first flit
 * to its last. It is given, when everything that happens at that time has happened, to the links
 * over which the waiting packets came in turn, as an arbiter in a router does; packets that begin
 * here are served in the order in which they asked. What is added:
 *
 * <ul>
 *   <li>a flit enters a link only if there is room for it in the buffer at the link's end, one
 *       buffer per virtual channel. Room is known by credits: one sets out when a flit begins to
 *       leave the buffer, and takes the link's latency back. The flit that it lets in takes that
 *       latency again; if the tail still stands there after both, the credit waits for it;
 *   <li>a buffer is a queue: what stands behind a packet that cannot go on waits too;
 *   <li>virtual channels share the wires flit by flit, in turn, and so they share the way out of
 *       their buffers, which is as fast as the wires. A packet that is stopped on one does not stop
 *       the others. Which channel a route uses on a link is {@link Machine#virtualChannels}.
 * </ul>
 *
 * <p>What has reached the end of its route is taken at once, so the last link needs no credit, nor
 * does the port of a memory: a controller has room for what it has read. Any other link can thus
 * pass {@code buffer / (2 L)} bytes per second, or B if that is less: with buffers that cover
 * bandwidth times round trip everything is as with unlimited ones, but that packets queue behind
 * each other where they enter a router, not only where they leave it.
 *
 * <p>This is for looking at networks: it costs three events for each flit and link, where {@link
 * Fabric} has one for each chunk.
 */
final class BufferedFabric implements Interconnect, EventHandler {
  private static final int OFFER = 0; // of a packet
  private static final int ARRIVAL = 1; // of a flit at the end of a channel
  private static final int ADVANCE = 2; // of the next packet in the buffer of a channel
  private static final int CREDIT = 3; // for a channel
  private static final int SERVE = 4; // a link, after everything else of that time
  private static final int READ = 5; // of a packet, in a banked memory
  private static final int WRITE = 6;
  private static final int PORT_FREE = 7; // the way out of the buffers at the end of a link

  private static final int PLENTY = 1 << 30;

  private final Simulation sim;
  private final int handler;
  private final long chunkBytes;
  private final long flitBytes;
  private final int bufferFlits;
  private final int vcs;
  private final Rate[] rates;
  private final long[] latenciesPs;
  private final @Nullable HbmSlices slices;
  private final @Nullable Machine machine;

  private final BufferedChannel[] channels;
  private final int[] turn; // by link: the channel that was served last
  private final long[] freePs;
  private final long[] servedPs; // by link: when it is to be looked at, -1 if no event says so
  private final long[] portFreePs; // by link, of the buffers at its end
  private final long[] busyPs;
  private final long[] bytesOn;
  private final long[] lastWho; // by link, see Ties
  private final Ties ties;

  private final FlitTraffic traffic;
  private @Nullable TransferLog log;

  static BufferedFabric of(Simulation sim, Machine machine) {
    int n = machine.linkCount();
    Rate[] rates = new Rate[n];
    long[] latencies = new long[n];
    for (int i = 0; i < n; i++) {
      LinkSpec link = machine.specOf(i);
      rates[i] = link.rate();
      latencies[i] = link.latencyPs();
    }
    return new BufferedFabric(sim, machine.fabric(), rates, latencies, machine);
  }

  /** Links given as a table; the channels of a route are given by {@link FabricRoute#channels}. */
  BufferedFabric(Simulation sim, FabricSpec spec, Rate[] rates, long[] latenciesPs) {
    this(sim, spec, rates, latenciesPs, null);
  }

  private BufferedFabric(
      Simulation sim,
      FabricSpec spec,
      Rate[] rates,
      long[] latenciesPs,
      @Nullable Machine machine) {
    this.sim = sim;
    this.handler = sim.register(this);
    this.machine = machine;
    this.traffic = new FlitTraffic(spec);
    this.chunkBytes = spec.chunkBytes();
    this.flitBytes = spec.flitBytes();
    this.bufferFlits = Math.toIntExact(Math.min(PLENTY, spec.bufferBytes() / spec.flitBytes()));
    this.vcs = spec.virtualChannels();
    this.rates = rates.clone();
    this.latenciesPs = latenciesPs.clone();
    this.slices = machine != null && machine.hbm().isBanked() ? new HbmSlices(machine) : null;
    this.channels = new BufferedChannel[rates.length * vcs];
    for (int i = 0; i < channels.length; i++) {
      int link = i / vcs;
      boolean memory = machine != null && machine.linkKind(link).isMemoryPort();
      channels[i] = new BufferedChannel(link, memory ? PLENTY : bufferFlits, rates.length);
    }
    this.turn = new int[rates.length];
    this.freePs = new long[rates.length];
    this.servedPs = new long[rates.length];
    Arrays.fill(servedPs, -1);
    this.portFreePs = new long[rates.length];
    this.busyPs = new long[rates.length];
    this.bytesOn = new long[rates.length];
    this.lastWho = new long[rates.length];
    this.ties = machine == null ? Ties.ofOnePackage() : Ties.of(machine);
  }

  @Override
  public void recordIn(TransferLog newLog) {
    log = newLog;
  }

  /** Room for what may be under way between a read's memory and its reader is bounded there. */
  private long window() {
    return slices == null ? 0 : Math.max(1, slices.windowBytes() / chunkBytes);
  }

  @Override
  public int begin(
      long id,
      FabricRoute route,
      long bytes,
      long timePs,
      Sink sink,
      int sinkArg,
      boolean tellInjected,
      @Nullable MemorySpan span) {
    BufferedTransfer t =
        traffic.begin(id, route, channelsOf(route), bytes, timePs, sink, sinkArg, tellInjected);
    final HbmSlices s = slices;
    if (s != null && s.begin(t.index, id, route, bytes, span)) {
      t.earliestPs += s.idlePs(t.index);
      t.reads = s.isRead(t.index);
      t.writes = !t.reads;
      t.hops -= t.writes ? 1 : 0;
    }
    if (t.reads) {
      for (long number = 0; number < window() && traffic.hasPacket(t, number); number++) {
        schedule(t, number, timePs, READ);
      }
    } else {
      schedule(t, 0, timePs, OFFER);
    }
    return t.index;
  }

  private int[] channelsOf(FabricRoute route) {
    if (route.channels.length == 0 && machine != null) {
      route.channels = machine.virtualChannels(route.links);
    }
    return route.channels;
  }

  @Override
  public long serialPs(FabricRoute route, long bytes) {
    return traffic.serialPs(route, bytes);
  }

  private void schedule(BufferedTransfer t, long number, long timePs, int kind) {
    sim.schedule(timePs, handler, kind, traffic.packet(t, number).index);
  }

  @Override
  public void onEvent(int kind, int arg) {
    switch (kind) {
      case OFFER -> offer(traffic.packet(arg));
      case ARRIVAL -> {
        channels[arg].arrive();
        advance(channels[arg]);
      }
      case ADVANCE -> advance(channels[arg]);
      case CREDIT -> {
        channels[arg].credits++;
        wake(channels[arg].link);
      }
      case SERVE -> serve(arg);
      case PORT_FREE -> portFree(arg);
      case READ -> read(traffic.packet(arg));
      case WRITE -> write(traffic.packet(arg));
      default -> throw new IllegalStateException("fabric event " + kind);
    }
  }

  private void offer(BufferedPacket p) {
    ask(p, 0);
  }

  /** The packet at the head of a buffer goes on as far as it can. */
  private void advance(BufferedChannel c) {
    if (!c.hasArrived() || sim.nowPs() < c.leavingPs) {
      return;
    }
    BufferedPacket p = c.packet();
    int hop = c.hop();
    if (c.asked) {
      wake(p.transfer.route[hop]);
    } else {
      c.asked = true;
      ask(p, hop);
    }
  }

  /** A packet asks for the next channel of its route. */
  private void ask(BufferedPacket p, int hop) {
    p.headPs[hop] = sim.nowPs();
    BufferedChannel c = channel(p.transfer, hop);
    BufferedChannel.Visit visit = new BufferedChannel.Visit(p, hop);
    c.waiting.add(visit);
    wake(c.link);
  }

  /** Looks at a link, unless it is taken, when everything that happens now has happened. */
  private void wake(int link) {
    if (freePs[link] <= sim.nowPs()) {
      serveAt(link, sim.nowPs());
    }
  }

  private void serveAt(int link, long timePs) {
    if (servedPs[link] != timePs) {
      servedPs[link] = timePs;
      sim.scheduleLast(timePs, handler, SERVE, link);
    }
  }

  private BufferedChannel channel(BufferedTransfer t, int hop) {
    return channels[t.route[hop] * vcs + t.channels[hop]];
  }

  /** Lets one flit enter a link if it is free and one can. */
  private void serve(int link) {
    servedPs[link] = -1;
    if (freePs[link] > sim.nowPs()) {
      return;
    }
    for (int vc = 0; vc < vcs; vc++) {
      channels[link * vcs + vc].grant();
    }
    for (int i = 1; i <= vcs; i++) {
      int vc = (turn[link] + i) % vcs;
      BufferedChannel c = channels[link * vcs + vc];
      BufferedChannel.Visit v = c.owner;
      if (v != null && canSend(c, v)) {
        turn[link] = vc;
        send(c, v);
        return;
      }
    }
  }

  private boolean canSend(BufferedChannel c, BufferedChannel.Visit v) {
    boolean last = v.hop() == v.packet().transfer.hops - 1;
    if (!last && c.credits == 0) {
      return false;
    }
    if (v.hop() == 0) {
      return true;
    }
    BufferedChannel from = channel(v.packet().transfer, v.hop() - 1);
    return from.hasArrived() && from.packet() == v.packet() && portFreePs[from.link] <= sim.nowPs();
  }

  /** Other packets at the end of a link may go on now. */
  private void portFree(int link) {
    for (int i = 1; i <= vcs; i++) {
      advance(channels[link * vcs + (turn[link] + i) % vcs]);
    }
  }

  private void send(BufferedChannel c, BufferedChannel.Visit v) {
    final BufferedPacket p = v.packet();
    final BufferedTransfer t = p.transfer;
    final int hop = v.hop();
    final int link = c.link;
    final long now = sim.nowPs();
    final int number = p.sent[hop]++;
    final boolean tail = p.sent[hop] == p.flits;
    final long bytes = tail ? p.bytes - (p.flits - 1) * flitBytes : flitBytes;
    long enteredPs = now + rates[link].durationPs(bytes);
    if (hop > 0) {
      BufferedChannel from = channel(t, hop - 1);
      enteredPs = Math.max(enteredPs, from.tailPs());
      from.pop();
      if (vcs > 1) {
        portFreePs[from.link] = now + rates[from.link].durationPs(bytes);
        sim.schedule(portFreePs[from.link], handler, PORT_FREE, from.link);
      }
      long backPs = latenciesPs[from.link];
      long creditPs = Math.max(now + backPs, enteredPs - backPs);
      sim.schedule(creditPs, handler, CREDIT, index(t, hop - 1));
      if (tail) {
        from.asked = false;
        from.leavingPs = enteredPs;
        sim.schedule(enteredPs, handler, ADVANCE, index(t, hop - 1));
      }
    } else if (t.reads) {
      enteredPs = Math.max(enteredPs, p.offeredPs); // the memory has all of it by then
    }
    freePs[link] = enteredPs;
    busyPs[link] += enteredPs - now;
    bytesOn[link] += bytes;
    serveAt(link, enteredPs);
    final long who = ties.who(t.way[t.route.length + hop], t.id);
    if (number == 0) {
      p.startPs[hop] = now;
      if (now - p.headPs[hop] > t.worstWaitPs && lastWho[link] != who) {
        t.worstWaitPs = now - p.headPs[hop];
        t.worstLink = link;
      }
    }
    lastWho[link] = who;
    if (hop < t.hops - 1) {
      c.credits--;
      c.push(p, hop + 1, enteredPs + latenciesPs[link]);
      sim.schedule(now + latenciesPs[link], handler, ARRIVAL, index(t, hop));
    }
    if (tail) {
      c.owner = null;
      sent(p, hop, enteredPs);
    }
  }

  private int index(BufferedTransfer t, int hop) {
    return t.route[hop] * vcs + t.channels[hop];
  }

  /** The tail of a packet enters a link. */
  private void sent(BufferedPacket p, int hop, long tailPs) {
    final BufferedTransfer t = p.transfer;
    final int link = t.route[hop];
    if (log != null) {
      boolean first = hop == 0 && !t.reads;
      log.served(t.index, p.index, link, p.bytes, first, p.headPs[hop], p.startPs[hop], tailPs);
    }
    final long number = p.number;
    final boolean last = !traffic.hasPacket(t, number + 1);
    if (hop == 0) {
      if (t.reads) {
        if (traffic.hasPacket(t, number + window())) {
          schedule(t, number + window(), tailPs, READ);
        }
      } else if (!last) {
        schedule(t, number + 1, tailPs, OFFER);
      } else if (t.tellInjected) {
        t.sink().onInjected(t.sinkArg, tailPs);
      }
    }
    if (hop == t.hops - 1) {
      long arrivesPs = tailPs + latenciesPs[link];
      if (t.writes) {
        sim.schedule(arrivesPs, handler, WRITE, p.index);
      } else {
        traffic.ended(p, arrivesPs);
      }
    }
  }

  // ---- banked memories ----

  private HbmSlices slices() {
    HbmSlices s = slices;
    if (s == null) {
      throw new IllegalStateException("bug: no memory of this machine has banks");
    }
    return s;
  }

  private void read(BufferedPacket p) {
    final BufferedTransfer t = p.transfer;
    final long now = sim.nowPs();
    HbmBanks banks = slices().access(t.index, p.number * chunkBytes, p.bytes, now);
    long head = Math.max(banks.firstPs, banks.lastPs - rates[t.route[0]].durationPs(p.bytes));
    head = Math.max(head, t.memoryPs);
    t.memoryPs = head;
    p.offeredPs = banks.lastPs;
    memory(p, now, head, banks.lastPs);
    sim.schedule(head, handler, OFFER, p.index);
  }

  private void write(BufferedPacket p) {
    final BufferedTransfer t = p.transfer;
    final long now = sim.nowPs();
    HbmBanks banks = slices().access(t.index, p.number * chunkBytes, p.bytes, now);
    t.memoryPs = Math.max(t.memoryPs, banks.lastPs);
    memory(p, now, banks.firstPs, t.memoryPs);
    traffic.ended(p, t.memoryPs);
  }

  /** The memory counts as a link, with the latency of its port. */
  private void memory(BufferedPacket p, long headPs, long firstPs, long lastPs) {
    final BufferedTransfer t = p.transfer;
    final int port = slices().port(t.index);
    busyPs[port] += rates[port].durationPs(p.bytes);
    bytesOn[port] += p.bytes;
    long waited = slices().waitedPs(t.index, headPs);
    if (waited > t.worstWaitPs) {
      t.worstWaitPs = waited;
      t.worstLink = port;
    }
    if (log != null) {
      long latency = latenciesPs[port];
      log.servedByMemory(
          t.index, p.index, port, p.bytes, t.reads, headPs, firstPs - latency, lastPs - latency);
    }
  }

  /** How long a link has been taken, in picoseconds, up to the last reservation. */
  long busyPs(int link) {
    return busyPs[link];
  }

  /** Bytes that have entered a link. */
  long bytesOn(int link) {
    return bytesOn[link];
  }
}
