package org.kernbench.device.fabric;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.TransferLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.Symmetry;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Simulation;

/**
 * Links and the one streaming rule.
 *
 * <p>A transfer is cut into chunks of at most {@code fabric.chunk} bytes. Chunks move in order and
 * cut through: for a chunk of {@code c} bytes on link {@code i} of its route, with bandwidth B and
 * latency L,
 *
 * <pre>
 *   s_i = max(h_i, free_i)                       the head enters
 *   f_i = max(s_i + c/B_i, f_(i-1) + L_(i-1))    the tail has entered; it cannot before it arrives
 *   free_i = f_i                                 one chunk at a time, first come first served by head arrival
 *   h_(i+1) = s_i + L_i                          the head reaches the next link
 *   delivered = f_k + L_k
 * </pre>
 *
 * <p>From a link to a switch that passes on whole messages, {@code h_(i+1) = f_i + L_i}: the head
 * sets out when the tail is there.
 *
 * <p>At a NIC the first chunk of a transfer waits for the NIC to be free, and then for its message
 * overhead, in which the NIC does nothing else: {@code s_i = max(h_i, free_i) + o}. Its bytes
 * gather before it meanwhile, so that alone a transfer takes {@code sum L + o + n / B}, with B of
 * the NIC and what follows, or what its bytes take to reach the NIC if that is longer.
 *
 * <p>On a link without contention {@code s_i = h_i}: chunks of different transfers pass each other.
 *
 * <p>The head of chunk {@code j + 1} is offered to the first link when the tail of chunk {@code j}
 * has entered it, so transfers that share a source take turns chunk by chunk. Heads that reach a
 * link at the same time are served in the order of {@link Ties}. Nothing else delays a byte:
 * uncontended, a transfer of {@code n} bytes takes {@code sum L + n / min B}, whatever the chunk
 * size and the order of fast and slow links ({@code FabricTest}).
 *
 * <p>One event per chunk and link, with one exception that changes nothing but the cost: a link
 * that can only be entered from one other link (its <em>feeder</em>) sees heads in the order in
 * which the feeder serves them, so its times follow at once and need no event of their own. Arrival
 * at the end needs none either: it is certain when the last head enters the last link.
 *
 * <p>Memories are links like others, but for HBM with banks ({@link HbmBanks}): there a read begins
 * in the memory, which works on {@code window} bytes of it at once and offers each chunk to the
 * first link when it has all of it, or as much as lets it go out in one piece; and a write ends
 * when the memory has taken its last chunk.
 *
 * <p>Links ({@link Wires}), transfers and chunks are records of four or eight longs in flat arrays,
 * and what a transfer refers to (its route, who hears of it) stands in an array beside: with
 * thousands of PEs in step, the cost of an event is the number of cache lines it touches. Records
 * are used again, and the arrays grow when none is free; but for that, and for transfers between
 * packages that run apart, an event allocates nothing.
 */
public final class Fabric implements Interconnect, EventHandler {
  private static final int HEAD = 0;
  private static final int READ = 1; // of a chunk, in a banked memory
  private static final int WRITE = 2;

  private static final long MOST_CHUNKS = 1L << Ties.CHUNK_BITS;

  // instead of a hop
  private static final int NOWHERE = -1;
  private static final int BANKS = -2;

  /** Instead of the number of a transfer: it has begun in another partition. */
  private static final int ELSEWHERE = -1;

  // a transfer: eight longs, and two references
  private static final int TRANSFER_SHIFT = 3;
  private static final int BYTES = 0;
  private static final int ID = 1;
  private static final int EARLIEST_PS = 2;
  private static final int WORST_WAIT_PS = 3;
  private static final int WORST_HOP = 4;
  private static final int SINK_ARG = 5;
  private static final int AFTER_CHUNK = 6; // what to do when a chunk has entered the first link
  private static final int NEXT_FREE = 7; // of those not in use
  private static final int BANKS_PS = 7; // the latest chunk that a banked memory gave or took

  // after a chunk: offer the next one, and when the last has entered nothing, or tell the source;
  // or let a banked memory read on
  private static final int OFFER = 0;
  private static final int OFFER_AND_TELL = 1;
  private static final int READ_ON = 2;

  // a chunk: four longs
  private static final int CHUNK_SHIFT = 2;
  private static final int TRANSFER = 0;
  private static final int NUMBER = 1;
  private static final int HOP = 2;
  private static final int TAIL_PS = 3;

  private final Simulation sim;
  private final int handler;
  private final int chunkBytesShift;
  private final int chunkBytes;
  private final Wires wires;
  private final SerialTimes serialTimes;

  /** By link id; empty if all are at place 0. */
  private final int[] places;

  /** By place, what moves there. */
  private final IntFunction<Fabric> parts;

  /** Hears of transfers that come from other partitions. */
  private @Nullable Sink sink;

  /** Transfers of several chunks that have come from other partitions. */
  private final Map<Visit, Integer> visiting = new HashMap<>();

  /** A transfer that enters a partition: it may do so again, further on its way. */
  private record Visit(int[] way, long id, int hop) {}

  private final @Nullable HbmSlices slices;
  private final Ties ties;

  /** By which packages are folded: links are classes then, each that of one link of a package. */
  private final @Nullable Symmetry folded;

  private long[] transfers = new long[64 << TRANSFER_SHIFT];
  private Object[] references = new Object[64 * 2]; // FabricRoute.way, sink
  private int transferCount;
  private int freeTransfer = -1;

  /** Is told who meets whom; null if nobody asks. */
  private @Nullable Meetings meetings;

  /** Hears of who meets whom on links. */
  public interface Meetings {
    /** Whether anybody wants to know who waits behind whom. */
    boolean areNoted();

    /**
     * Somebody reaches a link that was {@linkplain Fabric#takeAll taken}: it must be given back.
     */
    void reachesTaken(int link);

    /**
     * A chunk of one PE waits behind a chunk of another.
     *
     * @param sip package of the one that waits
     * @param pe its number there
     * @param otherSip package of the other
     * @param otherPe its number there
     */
    void waitsBehind(int sip, int pe, int otherSip, int otherPe);
  }

  /** Remembers every service, if anybody wants to know. */
  private @Nullable TransferLog log;

  private long[] chunks = new long[256 << CHUNK_SHIFT];
  private int chunkCount;
  private int freeChunk = -1;

  /**
   * The links of a machine.
   *
   * @param folded the shifts by which packages are folded, so that those of one serve for all; null
   *     for all links
   */
  static Fabric of(Simulation sim, Machine machine, @Nullable Symmetry folded) {
    HbmSlices slices = machine.hbm().isBanked() ? new HbmSlices(machine) : null;
    return new Fabric(
        sim, Wires.of(machine, folded), slices, Ties.of(machine, folded != null), folded);
  }

  /** Links given as a table, in one package. */
  Fabric(Simulation sim, Wires wires) {
    this(sim, wires, null, Ties.ofOnePackage(), null);
  }

  private Fabric(
      Simulation sim,
      Wires wires,
      @Nullable HbmSlices slices,
      Ties ties,
      @Nullable Symmetry folded) {
    this.sim = sim;
    this.ties = ties;
    this.folded = folded;
    this.slices = slices;
    this.places = new int[0];
    this.parts = place -> this;
    this.handler = sim.register(this);
    this.wires = wires;
    this.serialTimes = new SerialTimes(wires);
    this.chunkBytes = wires.chunkBytes;
    this.chunkBytesShift = wires.chunkBytesShift;
    if (slices != null) {
      wires.leaveToMemories(slices);
    }
  }

  /**
   * The links of another, while packages run apart: the transfers in one partition of them.
   *
   * @param parts by place, the transfers there
   */
  private Fabric(Fabric whole, Simulation sim, int[] placeOfLink, IntFunction<Fabric> parts) {
    this.sim = sim;
    this.slices = null;
    this.places = placeOfLink;
    this.parts = parts;
    this.chunkBytes = whole.chunkBytes;
    this.chunkBytesShift = whole.chunkBytesShift;
    this.wires = whole.wires;
    this.serialTimes = new SerialTimes(wires);
    this.ties = whole.ties;
    this.folded = whole.folded;
    this.handler = sim.register(this);
  }

  /**
   * Whether there are memories with banks: one is asked when an access is offered, from anywhere.
   */
  public boolean isBanked() {
    return slices != null;
  }

  /**
   * Makes what moves in one partition of the links; each link is the business of one.
   *
   * @param byPlace what this has returned for the partition of a place
   */
  public Fabric part(Simulation partition, PackagePlaces packages, IntFunction<Fabric> byPlace) {
    return new Fabric(this, partition, packages.ofLink, byPlace);
  }

  /** Who hears of transfers that come from other partitions. */
  public void tells(Sink hears) {
    sink = hears;
  }

  // ---- links that somebody has to itself for a while ----

  /** Who is to hear of meetings. */
  public void tellMeetings(Meetings hears) {
    meetings = hears;
  }

  /** Whether all of these links are free from now on, and nobody has them to itself. */
  public boolean areFree(int[] some) {
    return wires.areFree(some, sim.nowPs());
  }

  /** From now on nobody else can enter these links unnoticed; they are free. */
  public void takeAll(int[] some) {
    wires.takeAll(some);
  }

  /** Gives them back, as they were. */
  public void giveBack(int[] some) {
    wires.giveBack(some);
  }

  /** The links of a route as they are numbered here. */
  public static int[] linksOf(FabricRoute route) {
    return Arrays.copyOf(route.way, route.way.length / 2);
  }

  @Override
  public void recordIn(TransferLog newLog) {
    log = newLog;
  }

  /**
   * Starts a transfer.
   *
   * @param id decides who goes first among chunks that reach a link at one time, see {@link Ties};
   *     at most one transfer of an id and owner may reach a link at one time
   * @param route links in order; at least one
   * @param bytes at least 0 (an empty transfer still takes the latency), at most 2^22 chunks
   * @param timePs when the source offers the first byte; not before now
   * @param tellInjected whether the sink wants {@link Sink#onInjected}
   * @return a number that no other transfer under way has
   * @throws SimulationException if it is cut into more chunks than the order of events can number
   */
  int begin(
      long id,
      FabricRoute route,
      long bytes,
      long timePs,
      Sink sink,
      int sinkArg,
      boolean tellInjected) {
    return begin(id, route, bytes, timePs, sink, sinkArg, tellInjected, null);
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
    if (wires.feeders[route.way[0]] >= 0) {
      throw new IllegalStateException(
          "bug: a route starts in the middle, at link " + route.links[0]);
    }
    if ((bytes - 1) >> chunkBytesShift >= MOST_CHUNKS) {
      throw new SimulationException(tooManyChunks(bytes));
    }
    final int place = place(route.way[0]);
    if (!sim.holds(place)) { // a load from another package begins there
      sim.post(
          place,
          () -> {
            Fabric there = parts.apply(place);
            there.begin(id, route, bytes, timePs, there.sink(), sinkArg, tellInjected, span);
          });
      return ELSEWHERE;
    }
    long earliestPs = timePs + route.latencyPs + serialPs(route, bytes);
    int t = newTransfer(id, route.way, bytes, earliestPs, sink, sinkArg);
    final int at = t << TRANSFER_SHIFT;
    transfers[at + AFTER_CHUNK] = tellInjected ? OFFER_AND_TELL : OFFER;
    final HbmSlices s = slices;
    if (s != null && s.begin(t, id, route, bytes, span)) {
      transfers[at + BANKS_PS] = 0;
      transfers[at + EARLIEST_PS] += s.idlePs(t);
      if (s.isRead(t)) {
        transfers[at + AFTER_CHUNK] = READ_ON;
        readFirst(t, timePs);
        return t;
      }
    }
    offer(t, 0, timePs);
    return t;
  }

  /**
   * Time that the chunks of a transfer take on the narrowest link of its way, each rounded up to a
   * picosecond as links do it. No other link delays a chunk that meets nobody else's: with the
   * latencies it is exactly when the transfer arrives alone, and never later than it does. What of
   * it passes while a NIC works on the message counts there, not here.
   */
  @Override
  public long serialPs(FabricRoute route, long bytes) {
    return serialTimes.of(route, bytes);
  }

  private String tooManyChunks(long bytes) {
    long chunk = chunkBytes;
    while ((bytes - 1) >> Long.numberOfTrailingZeros(chunk) >= MOST_CHUNKS) {
      chunk *= 2;
    }
    return """
    a transfer of %s bytes is more than %s chunks of %s bytes; raise fabric.chunk \
    to %s B, or move the data in parts\
    """
        .formatted(bytes, MOST_CHUNKS, chunkBytes, chunk);
  }

  private void offer(int t, long number, long timePs) {
    start(t, number, timePs, HEAD);
  }

  private int place(int link) {
    return places.length == 0 ? 0 : places[link];
  }

  private Sink sink() {
    return Objects.requireNonNull(sink, "partitions are told who hears of transfers");
  }

  /** A chunk is at the beginning of its way. */
  private void start(int t, long number, long timePs, int kind) {
    enter(t, number, 0, timePs, timePs, kind);
  }

  /** A chunk reaches a link of its way. */
  private void enter(int t, long number, int hop, long headPs, long tailPs, int kind) {
    final int[] way = way(t);
    int c = newChunk();
    int at = c << CHUNK_SHIFT;
    chunks[at + TRANSFER] = t;
    chunks[at + NUMBER] = number;
    chunks[at + HOP] = hop;
    chunks[at + TAIL_PS] = tailPs;
    sim.scheduleKeyed(place(way[hop]), headPs, key(t, way, hop, number), handler, kind, c);
  }

  private int[] way(int t) {
    return (int[]) references[t * 2];
  }

  private long key(int t, int[] way, int hop, long number) {
    long id = transfers[(t << TRANSFER_SHIFT) + ID];
    return ties.key(way[(way.length >> 1) + hop], id, number);
  }

  @Override
  public void onEvent(int kind, int arg) {
    if (kind == HEAD) {
      head(arg);
    } else if (kind == READ) {
      read(arg);
    } else if (kind == WRITE) {
      write(arg);
    } else {
      throw new IllegalStateException("fabric event " + kind);
    }
  }

  private Sink sink(int t) {
    return (Sink) references[t * 2 + 1];
  }

  private void head(int c) {
    final Wires w = wires;
    final long[] l = w.records;
    if (meetings != null) {
      int link =
          way((int) chunks[(c << CHUNK_SHIFT) + TRANSFER])[(int) chunks[(c << CHUNK_SHIFT) + HOP]];
      if (l[(link << Wires.SHIFT) + Wires.FREE_PS] == Wires.TAKEN) {
        meetings.reachesTaken(link); // which may let other chunks go before this one
      }
    }
    final long[] x = transfers;
    final int chunk = c << CHUNK_SHIFT;
    final int t = (int) chunks[chunk + TRANSFER];
    final long number = chunks[chunk + NUMBER];
    final int transfer = t << TRANSFER_SHIFT;
    final int[] way = way(t);
    final int hops = way.length >> 1;
    final long sent = number << chunkBytesShift;
    final boolean last = sent + chunkBytes >= x[transfer + BYTES];
    final long size = last ? x[transfer + BYTES] - sent : chunkBytes;
    int hop = (int) chunks[chunk + HOP];
    long tailArrives = chunks[chunk + TAIL_PS];
    long headArrives = sim.nowPs();

    final boolean enters = hop == 0;
    boolean arrives = false;
    boolean leaves = false;
    long entered = 0;
    while (true) {
      final int id = way[hop];
      final int link = id << Wires.SHIFT;
      final long duration = size == chunkBytes ? l[link + Wires.CHUNK_PS] : w.partPs(id, size);
      final long free = l[link + Wires.FREE_PS];
      final long before = w.messagePs(id, number);
      final long start = (w.passing[id] ? headArrives : Math.max(headArrives, free)) + before;
      final long tail = Math.max(start + duration, tailArrives);
      l[link + Wires.FREE_PS] = Math.max(tail, free);
      l[link + Wires.BUSY_PS] += Math.max(0, tail - Math.max(start - before, free));
      l[link + Wires.BYTES] += size;
      final long who = ties.who(way[hops + hop], x[transfer + ID]);
      if (l[link + Wires.LAST_WHO] != who) {
        noteWait(transfer, start - before - headArrives, hop);
        if (meetings != null && start - before > headArrives && meetings.areNoted()) {
          int here =
              folded == null ? ties.packageOfLink(id) : 0; // a class is told by its link there
          ties.tell(meetings, here, l[link + Wires.LAST_WHO], who);
        }
      }
      l[link + Wires.LAST_WHO] = who;
      if (log != null) {
        boolean first = hop == 0 && x[transfer + AFTER_CHUNK] != READ_ON;
        int named = folded == null ? id : folded.linkOf(id);
        log.served(t, c, named, size, first, headArrives + before, start, tail);
      }
      if (hop == 0) {
        entered = tail;
      }
      final long latency = l[link + Wires.LATENCY_PS];
      tailArrives = tail + latency;
      headArrives = w.stored[id] ? tailArrives : start + latency;
      hop++;
      if (hop == hops) {
        arrives = true;
        break;
      }
      final int next = way[hop];
      if (!w.isFed(next, id)) {
        if (!sim.holds(place(next))) {
          leaves = true;
          break;
        }
        chunks[chunk + HOP] = hop;
        chunks[chunk + TAIL_PS] = tailArrives;
        final long key = key(t, way, hop, number);
        if (w.feeders[next] == Wires.BANKED) {
          sim.scheduleKeyed(place(next), tailArrives, key, handler, WRITE, c);
        } else {
          sim.scheduleKeyed(place(next), headArrives, key, handler, HEAD, c);
        }
        break;
      }
    }
    if (arrives || leaves) {
      chunks[chunk + NUMBER] = freeChunk;
      freeChunk = c;
    }
    if (enters) {
      hasEntered(t, number, last, entered);
    }
    if (leaves) {
      leave(t, number, last, hop, headArrives, tailArrives);
    }
    if (arrives && last) {
      delivered(t, tailArrives);
    }
  }

  /** Of equal waits the one nearer to the source counts, whichever was noticed first. */
  private void noteWait(int transfer, long waitPs, int hop) {
    final long[] x = transfers;
    final long worstPs = x[transfer + WORST_WAIT_PS];
    if (waitPs > worstPs || (waitPs == worstPs && waitPs > 0 && hop < x[transfer + WORST_HOP])) {
      x[transfer + WORST_WAIT_PS] = waitPs;
      x[transfer + WORST_HOP] = hop;
    }
  }

  // ---- from one partition to another ----

  /** A chunk goes on in another partition, with all that is known of its transfer so far. */
  private void leave(int t, long number, boolean last, int hop, long headPs, long tailPs) {
    final long[] x = transfers;
    final int at = t << TRANSFER_SHIFT;
    final int[] way = way(t);
    final long id = x[at + ID];
    final long bytes = x[at + BYTES];
    final long earliestPs = x[at + EARLIEST_PS];
    final long worstPs = x[at + WORST_WAIT_PS];
    final int worstHop = (int) x[at + WORST_HOP];
    final int arg = (int) x[at + SINK_ARG];
    final int place = place(way[hop]);
    sim.post(
        place,
        () -> {
          Fabric there = parts.apply(place);
          int visitor = there.visitor(id, bytes, way, hop, number, earliestPs, arg);
          there.noteWait(visitor << TRANSFER_SHIFT, worstPs, worstHop);
          there.enter(visitor, number, hop, headPs, tailPs, HEAD);
        });
    if (last) {
      x[at + NEXT_FREE] = freeTransfer;
      freeTransfer = t;
    }
  }

  /** The transfer here of which a chunk has come. */
  private int visitor(
      long id, long bytes, int[] way, int hop, long number, long earliestPs, int arg) {
    final boolean last = (number + 1) << chunkBytesShift >= bytes;
    if (number > 0) {
      Visit visit = new Visit(way, id, hop);
      return Objects.requireNonNull(last ? visiting.remove(visit) : visiting.get(visit));
    }
    int t = newTransfer(id, way, bytes, earliestPs, sink(), arg);
    if (!last) {
      visiting.put(new Visit(way, id, hop), t);
    }
    return t;
  }

  /**
   * The tail of a chunk enters the first link at {@code tailPs}: the source offers what comes next.
   */
  private void hasEntered(int t, long number, boolean last, long tailPs) {
    final int at = t << TRANSFER_SHIFT;
    final long after = transfers[at + AFTER_CHUNK];
    if (after == READ_ON) {
      readOn(t, number, tailPs);
    } else if (!last) {
      offer(t, number + 1, tailPs);
    } else if (after == OFFER_AND_TELL) {
      sink(t).onInjected((int) transfers[at + SINK_ARG], tailPs);
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

  private boolean hasChunk(int t, long number) {
    return number == 0 || number << chunkBytesShift < transfers[(t << TRANSFER_SHIFT) + BYTES];
  }

  private void readFirst(int t, long timePs) {
    long window = Math.max(1, slices().windowBytes() >> chunkBytesShift);
    for (long number = 0; number < window && hasChunk(t, number); number++) {
      start(t, number, timePs, READ);
    }
  }

  /** A chunk has left the controller: there is room for the one a window later. */
  private void readOn(int t, long number, long timePs) {
    long next = number + Math.max(1, slices().windowBytes() >> chunkBytesShift);
    if (hasChunk(t, next)) {
      start(t, next, timePs, READ);
    }
  }

  /** The command for a chunk has reached the memory. */
  private void read(int c) {
    final int t = (int) chunks[(c << CHUNK_SHIFT) + TRANSFER];
    final long number = chunks[(c << CHUNK_SHIFT) + NUMBER];
    final int at = t << TRANSFER_SHIFT;
    final long sent = number << chunkBytesShift;
    final long size = Math.min(chunkBytes, transfers[at + BYTES] - sent);
    HbmBanks banks = slices().access(t, sent, size, sim.nowPs());
    final int[] way = way(t);
    final int first = way[0];
    noteBanks(t, size);
    long head = Math.max(banks.firstPs, banks.lastPs - wires.rates[first].durationPs(size));
    head = Math.max(head, transfers[at + BANKS_PS]);
    transfers[at + BANKS_PS] = head;
    logBanks(t, c, size, sim.nowPs(), head, banks.lastPs);
    chunks[(c << CHUNK_SHIFT) + TAIL_PS] = banks.lastPs;
    sim.scheduleKeyed(place(first), head, key(t, way, 0, number), handler, HEAD, c);
  }

  /** All of a chunk has reached the memory. */
  private void write(int c) {
    final int t = (int) chunks[(c << CHUNK_SHIFT) + TRANSFER];
    final long number = chunks[(c << CHUNK_SHIFT) + NUMBER];
    final int at = t << TRANSFER_SHIFT;
    final long sent = number << chunkBytesShift;
    final long size = Math.min(chunkBytes, transfers[at + BYTES] - sent);
    HbmBanks banks = slices().access(t, sent, size, sim.nowPs());
    noteBanks(t, size);
    transfers[at + BANKS_PS] = Math.max(transfers[at + BANKS_PS], banks.lastPs);
    logBanks(t, c, size, sim.nowPs(), banks.firstPs, transfers[at + BANKS_PS]);
    chunks[(c << CHUNK_SHIFT) + NUMBER] = freeChunk;
    freeChunk = c;
    if (!hasChunk(t, number + 1)) {
      delivered(t, transfers[at + BANKS_PS]);
    }
  }

  /** The memory counts as a link, with the latency of its port. */
  private void logBanks(int t, int c, long bytes, long headPs, long firstPs, long lastPs) {
    if (log != null) {
      int port = slices().port(t);
      long latency = wires.records[(port << Wires.SHIFT) + Wires.LATENCY_PS];
      log.servedByMemory(
          t, c, port, bytes, slices().isRead(t), headPs, firstPs - latency, lastPs - latency);
    }
  }

  /** Counts the bytes on the port, and blames it if the memory has kept them longest. */
  private void noteBanks(int t, long bytes) {
    final HbmSlices s = slices();
    final int port = s.port(t) << Wires.SHIFT;
    wires.records[port + Wires.BUSY_PS] += wires.rates[s.port(t)].durationPs(bytes);
    wires.records[port + Wires.BYTES] += bytes;
    final int at = t << TRANSFER_SHIFT;
    long waited = s.waitedPs(t, sim.nowPs());
    if (waited > transfers[at + WORST_WAIT_PS]) {
      transfers[at + WORST_WAIT_PS] = waited;
      transfers[at + WORST_HOP] = BANKS;
    }
  }

  private void delivered(int t, long timePs) {
    final int at = t << TRANSFER_SHIFT;
    long waited = timePs - transfers[at + EARLIEST_PS];
    if (slices != null) {
      waited = Math.max(0, waited); // an open row is faster than what counts as idle
    }
    int arg = (int) transfers[at + SINK_ARG];
    int worstHop = (int) transfers[at + WORST_HOP];
    int worst =
        switch (worstHop) {
          case NOWHERE -> -1;
          case BANKS -> slices().port(t);
          default -> link(way(t), worstHop);
        };
    Sink s = sink(t);
    transfers[at + NEXT_FREE] = freeTransfer;
    freeTransfer = t;
    s.onDelivered(arg, timePs, waited, worst);
  }

  /** The link of a hop, as the machine numbers it. */
  private int link(int[] way, int hop) {
    return folded == null ? way[hop] : folded.linkOf(way[hop], way[(way.length >> 1) + hop]);
  }

  /** A transfer that has met nobody yet. */
  private int newTransfer(
      long id, int[] way, long bytes, long earliestPs, Sink hears, int sinkArg) {
    final int t = newTransfer();
    final int at = t << TRANSFER_SHIFT;
    final long[] x = transfers;
    x[at + BYTES] = bytes;
    x[at + ID] = id;
    x[at + EARLIEST_PS] = earliestPs;
    x[at + WORST_WAIT_PS] = 0;
    x[at + WORST_HOP] = NOWHERE;
    x[at + SINK_ARG] = sinkArg;
    references[t * 2] = way;
    references[t * 2 + 1] = hears;
    return t;
  }

  private int newTransfer() {
    int t = freeTransfer;
    if (t >= 0) {
      freeTransfer = (int) transfers[(t << TRANSFER_SHIFT) + NEXT_FREE];
      return t;
    }
    t = transferCount++;
    if (t * 2 == references.length) {
      transfers = Arrays.copyOf(transfers, transfers.length * 2);
      references = Arrays.copyOf(references, references.length * 2);
    }
    return t;
  }

  private int newChunk() {
    int c = freeChunk;
    if (c >= 0) {
      freeChunk = (int) chunks[(c << CHUNK_SHIFT) + NUMBER];
      return c;
    }
    c = chunkCount++;
    if (c << CHUNK_SHIFT == chunks.length) {
      chunks = Arrays.copyOf(chunks, chunks.length * 2);
    }
    return c;
  }

  /** How long a link has been taken, in picoseconds, up to the last reservation. */
  long busyPs(int link) {
    return wires.busyPs(link);
  }

  /** Bytes that have entered a link. */
  long bytesOn(int link) {
    return wires.bytesOn(link);
  }
}
