package org.kernbench.eval;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.device.Cost;
import org.kernbench.device.OpKind;
import org.kernbench.device.OpLog;
import org.kernbench.device.TransferLog;
import org.kernbench.machine.BufferKind;
import org.kernbench.machine.LinkKind;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * Why a run ended when it ended: moments, and for each the moments that it followed from at once,
 * with what lay between as a {@link Cost}.
 *
 * <p>A moment is the start or end of an operation, the moment a send left its channel, the begin or
 * end of a fragment, or a chunk's head or tail entering a link. Each is the maximum over what it
 * waited for, so each has at least one predecessor that it followed <em>tightly</em>: its time is
 * the predecessor's plus the cost. Walking back over tight predecessors from the end of the last
 * operation to the start gives a critical path; where two predecessors are tight, links of equal
 * rate in a row for example, there are several of equal length.
 *
 * <p>Two uses. {@link #path} follows one predecessor each, preferring a transfer's own bytes to
 * those of others, and gives the segments that a report shows. {@link #lengthOn} keeps all tight
 * predecessors that the log knows and computes the longest path for the costs of another machine:
 * what the run would take there as long as its critical path stays among these. Costs sum to times
 * exactly; where the log does not say why time passed, the rest is a {@link Cost.Fixed} and counted
 * in {@link #unexplainedPs}.
 *
 * <p>The log knows one cause of an operation's start and all causes inside the fabric. Operations
 * that waited for two others until the same picosecond therefore count with one of them.
 */
final class CausalGraph {
  private static final int ROOT = 0;

  // kinds of moments; a moment's key is kind << 32 | index
  private static final int END = 1; // of an operation
  private static final int LEFT = 2; // a send its channel
  private static final int START = 3; // of an operation
  private static final int PART_END = 4;
  private static final int PART_START = 5;
  private static final int HEAD_IN = 6; // of a service
  private static final int TAIL_IN = 7; // of a service
  private static final int BETWEEN = 8; // two costs of one step

  /** What a step of the path went to; the word that reports use. */
  enum Word {
    COMPUTE("compute"),
    SERIALISATION("serialisation"),
    LATENCY("latency"),
    DMA_SETUP("DMA setup"),
    TRANSLATION("address translation"),
    MESSAGE_OVERHEAD("message overhead"),
    SLOT_ACCESS("slot access"),
    CREDIT_RETURN("credit return"),
    COMMAND_ISSUE("command issue"),
    SLOT_HELD("slot held"),
    LOOK("look at data"),
    MEMORY("memory"),
    OTHER("other");

    final String text;

    Word(String text) {
      this.text = text;
    }
  }

  /** A cost on the way between two moments. */
  private record Piece(Cost cost, Word word, int op) {}

  // an edge: predecessor, cost, word, operation, next edge of the same moment
  private static final int EDGE = 5;

  private final Machine machine;
  private final OpLog log;
  private final TransferLog ways;
  private final long beginPs;
  private final long endPs;
  private final boolean allTight;
  private final int end;

  private final Map<Long, Integer> moments = new HashMap<>();
  private long[] keys = new long[64];
  private long[] times = new long[64];
  private int[] firstEdge = new int[64];
  private int momentCount;
  private int[] edges = new int[64 * EDGE];
  private int edgeCount;
  private final List<Cost> costs = new ArrayList<>();
  private long[] costPs = new long[64];
  private final Map<Cost, Integer> costIds = new HashMap<>();
  private int[] order = {};

  private CausalGraph(
      Machine machine, OpLog log, long beginPs, long endPs, int lastOp, boolean allTight) {
    this.machine = machine;
    this.log = log;
    this.ways = log.transfers();
    this.beginPs = beginPs;
    this.endPs = endPs;
    this.allTight = allTight;
    newMoment(0, beginPs);
    if (endPs <= beginPs) {
      end = ROOT;
    } else if (log.has(lastOp)) {
      end = endOf(lastOp);
    } else {
      end = newMoment(key(BETWEEN, 0), endPs);
      addEdge(end, ROOT, new Cost.Fixed(endPs - beginPs), Word.OTHER, -1);
    }
    sort();
  }

  /** The one critical path that {@link #path} shows. */
  static CausalGraph pathOf(Machine machine, OpLog log, long beginPs, long endPs, int lastOp) {
    return new CausalGraph(machine, log, beginPs, endPs, lastOp, false);
  }

  /** All critical paths that the log knows. */
  static CausalGraph allOf(Machine machine, OpLog log, long beginPs, long endPs, int lastOp) {
    return new CausalGraph(machine, log, beginPs, endPs, lastOp, true);
  }

  private int endOf(int lastOp) {
    boolean leaves = log.kind(lastOp) == OpKind.SEND && leftPs(lastOp) == endPs;
    return moment(leaves ? LEFT : END, lastOp);
  }

  // ---- moments ----

  private static long key(int kind, int index) {
    return ((long) kind << 32) | (index & 0xFFFF_FFFFL);
  }

  private static int kind(long key) {
    return (int) (key >>> 32);
  }

  private static int index(long key) {
    return (int) key;
  }

  private int moment(int kind, int index) {
    long key = key(kind, index);
    Integer known = moments.get(key);
    if (known != null) {
      return known;
    }
    long time = timeOf(kind, index);
    if (time <= beginPs) {
      return ROOT;
    }
    int made = newMoment(key, time);
    moments.put(key, made);
    return made;
  }

  private int newMoment(long key, long timePs) {
    if (momentCount == keys.length) {
      keys = Arrays.copyOf(keys, momentCount * 2);
      times = Arrays.copyOf(times, momentCount * 2);
      firstEdge = Arrays.copyOf(firstEdge, momentCount * 2);
    }
    keys[momentCount] = key;
    times[momentCount] = timePs;
    firstEdge[momentCount] = -1;
    return momentCount++;
  }

  private long timeOf(int kind, int index) {
    return switch (kind) {
      case END -> log.endPs(index);
      case LEFT -> leftPs(index);
      case START -> log.startPs(index);
      case PART_END -> ways.endPs(index);
      case PART_START -> ways.startPs(index);
      case HEAD_IN -> ways.startPsOf(index);
      case TAIL_IN -> ways.tailPs(index);
      default -> throw new IllegalStateException("moment " + kind);
    };
  }

  /** When the last byte of a send had left its channel. */
  private long leftPs(int send) {
    int part = ways.lastPart(send);
    int entry = part < 0 ? -1 : ways.lastEntry(part);
    return entry < 0 ? log.endPs(send) : ways.tailPs(entry);
  }

  // ---- edges ----

  private void addEdge(int to, int from, Cost cost, Word word, int op) {
    if ((edgeCount + 1) * EDGE > edges.length) {
      edges = Arrays.copyOf(edges, edges.length * 2);
    }
    int at = edgeCount * EDGE;
    edges[at] = from;
    edges[at + 1] = costId(cost);
    edges[at + 2] = word.ordinal();
    edges[at + 3] = op;
    edges[at + 4] = -1;
    int last = firstEdge[to];
    if (last < 0) {
      firstEdge[to] = edgeCount;
    } else {
      while (edges[last * EDGE + 4] >= 0) {
        last = edges[last * EDGE + 4];
      }
      edges[last * EDGE + 4] = edgeCount;
    }
    edgeCount++;
  }

  private int costId(Cost cost) {
    return costIds.computeIfAbsent(
        cost,
        c -> {
          if (costs.size() == costPs.length) {
            costPs = Arrays.copyOf(costPs, costPs.length * 2);
          }
          costPs[costs.size()] = c.on(machine);
          costs.add(c);
          return costs.size() - 1;
        });
  }

  private long psOf(Cost cost) {
    int id = costId(cost); // may make the list longer
    return costPs[id];
  }

  /** Joins a moment to one before it; what the pieces do not cover is called {@code rest}. */
  private void join(int to, int before, Word rest, int restOp, Piece... pieces) {
    int from = times[before] > times[to] ? ROOT : before; // it was not this that it waited for
    long length = times[to] - times[from];
    long known = 0;
    for (Piece p : pieces) {
      known += psOf(p.cost);
    }
    if (known > length || pieces.length == 0) { // begins before the time that is explained
      Word word = pieces.length == 0 ? rest : pieces[pieces.length - 1].word;
      addEdge(to, from, new Cost.Fixed(length), word, restOp);
      return;
    }
    int at = to;
    for (int i = pieces.length - 1; i >= 0; i--) {
      boolean first = i == 0 && known == length;
      int next =
          first ? from : newMoment(key(BETWEEN, momentCount), times[at] - psOf(pieces[i].cost));
      addEdge(at, next, pieces[i].cost, pieces[i].word, pieces[i].op);
      at = next;
    }
    if (at != from) {
      addEdge(at, from, new Cost.Fixed(length - known), rest, restOp);
    }
  }

  /** Joins a moment to another at the same time. */
  private void same(int to, int from, int op) {
    join(to, from, Word.OTHER, op);
  }

  // ---- what a moment followed from ----

  private void expand(int m) {
    int i = index(keys[m]);
    switch (kind(keys[m])) {
      case END -> expandEnd(m, i);
      case LEFT -> same(m, moment(TAIL_IN, ways.lastEntry(ways.lastPart(i))), i);
      case START -> expandStart(m, i);
      case PART_END -> expandPartEnd(m, i);
      case PART_START -> expandPartStart(m, i);
      case HEAD_IN -> expandHead(m, i);
      case TAIL_IN -> expandTail(m, i);
      default -> throw new IllegalStateException("moment " + keys[m]);
    }
  }

  private void expandEnd(int m, int op) {
    int part = ways.lastPart(op);
    int start = moment(START, op);
    switch (log.kind(op)) {
      case SEND -> {
        if (part >= 0) {
          same(m, moment(PART_END, part), op);
        } else {
          join(m, start, Word.OTHER, op);
        }
      }
      case RECV -> {
        if (part < 0) {
          same(m, start, op);
        } else if (log.endPs(op) > ways.endPs(part)) {
          join(m, moment(PART_END, part), Word.OTHER, op, creditReturn(op, ways.by(part)));
        } else {
          same(m, moment(PART_END, part), op);
        }
      }
      case LOAD -> arrival(m, op, part, List.of());
      case STORE -> arrival(m, op, part, reply(op, part));
      default -> join(m, start, Word.COMPUTE, op, compute(op));
    }
  }

  private Piece[] compute(int op) {
    return log.work(op)
        .map(w -> new Piece[] {new Piece(new Cost.Compute(w), Word.COMPUTE, op)})
        .orElse(new Piece[0]);
  }

  private Piece creditReturn(int receive, int send) {
    Pe to = log.has(send) ? log.pe(send) : log.pe(receive);
    return new Piece(new Cost.CreditReturn(log.pe(receive), to), Word.CREDIT_RETURN, receive);
  }

  private List<Piece> reply(int op, int part) {
    int service = part < 0 ? -1 : ways.lastService(part);
    if (service < 0) {
      return List.of();
    }
    int memory = machine.link(ways.link(service)).toNode();
    return List.of(new Piece(new Cost.Reply(log.pe(op), memory), Word.LATENCY, op));
  }

  /** The last chunk of a part has crossed the last link, and then some. */
  private void arrival(int m, int op, int part, List<Piece> then) {
    int service = part < 0 ? -1 : ways.lastService(part);
    if (service < 0) {
      join(m, moment(START, op), Word.OTHER, op);
      return;
    }
    List<Piece> pieces = new ArrayList<>();
    pieces.add(latency(ways.link(service), op));
    pieces.addAll(then);
    join(m, moment(TAIL_IN, service), Word.OTHER, op, pieces.toArray(Piece[]::new));
  }

  private Piece latency(int link, int op) {
    return new Piece(new Cost.LinkLatency(link), Word.LATENCY, op);
  }

  private void expandPartEnd(int m, int part) {
    int op = ways.op(part);
    boolean receives = log.kind(op) == OpKind.RECV;
    int service = ways.lastService(part);
    if (receives && service < 0) {
      int start = moment(PART_START, part);
      join(m, start, Word.SLOT_ACCESS, op, slotCost(part, times[m] - ways.startPs(part)));
      return;
    }
    int after = ways.writtenAfter(part);
    if (after >= 0) {
      Piece[] access = slotCost(part, times[m] - ways.endPs(after));
      join(m, moment(PART_END, after), Word.SLOT_ACCESS, op, access);
      return;
    }
    long arrived = ways.tailPs(service) + machine.link(ways.link(service)).latencyPs();
    List<Piece> then = times[m] > arrived ? List.of(slotCost(part, times[m] - arrived)) : List.of();
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
      if (psOf(c) == ps) {
        return new Piece[] {new Piece(c, Word.SLOT_ACCESS, op)};
      }
    }
    return new Piece[0];
  }

  private void expandPartStart(int m, int part) {
    int op = ways.op(part);
    if (ways.number(part) == 0) {
      same(m, moment(START, op), op);
      return;
    }
    int previous = ways.previous(part);
    int by = ways.by(part);
    if (log.kind(op) == OpKind.SEND) {
      if (by >= 0 && log.has(by)) {
        credit(m, op, by);
      } else {
        same(m, moment(TAIL_IN, ways.lastEntry(previous)), op);
      }
      return;
    }
    int sent = ways.part(by, ways.number(part));
    if (sent >= 0 && ways.endPs(sent) == times[m]) {
      same(m, moment(PART_END, sent), op);
      if (!allTight) {
        return;
      }
    }
    if (ways.endPs(previous) == times[m] || firstEdge[m] < 0) {
      same(m, moment(PART_END, previous), op);
    }
  }

  /** A send, or its next fragment, started when a credit was back that {@code by} had freed. */
  private void credit(int m, int op, int by) {
    Piece back = new Piece(new Cost.CreditReturn(log.pe(by), log.pe(op)), Word.CREDIT_RETURN, op);
    long freed = times[m] - psOf(back.cost);
    join(m, lastOf(by, freed), Word.SLOT_HELD, by, back);
  }

  /**
   * The latest moment of an operation that is not after a time at which it was done with a slot.
   */
  private int lastOf(int op, long timePs) {
    if (log.kind(op) == OpKind.SEND && leftPs(op) <= timePs) {
      return moment(LEFT, op);
    }
    if (log.kind(op) == OpKind.RECV) {
      for (int p = ways.lastPart(op); p >= 0; p = ways.previous(p)) {
        if (ways.endPs(p) <= timePs) {
          return moment(PART_END, p);
        }
      }
    }
    return log.endPs(op) <= timePs ? moment(END, op) : moment(START, op);
  }

  private void expandHead(int m, int service) {
    int before = ways.before(service);
    int part = ways.partOf(service);
    int op = ways.op(part);
    boolean waited = before >= 0 && ways.tailPs(before) == times[m];
    boolean arrived = ways.headPs(service) == times[m];
    boolean own = waited && ways.partOf(before) == part;
    if (own || (waited && !arrived)) {
      same(m, moment(TAIL_IN, before), op);
      if (!allTight || !arrived) {
        return;
      }
    }
    comesFrom(m, service, part, op);
    if (allTight && waited && !own) {
      same(m, moment(TAIL_IN, before), op);
    }
  }

  private void comesFrom(int m, int service, int part, int op) {
    int from = ways.from(service);
    if (!ways.isEntry(service)) {
      join(m, moment(HEAD_IN, from), Word.OTHER, op, latency(ways.link(from), op));
    } else if (from >= 0) {
      same(m, moment(TAIL_IN, from), op);
    } else {
      join(m, moment(PART_START, part), inside(ways.link(service)), op, offer(service, op));
    }
  }

  /** What time on a link is called that neither its rate nor its latency explains. */
  private Word inside(int link) {
    boolean banks = machine.hbm().isBanked() && machine.linkKind(link) == LinkKind.HBM_PORT;
    return banks ? Word.MEMORY : Word.OTHER;
  }

  /** What passes from the start of a transfer until it offers its first byte. */
  private Piece[] offer(int service, int op) {
    return switch (log.kind(op)) {
      case SEND -> new Piece[] {new Piece(new Cost.MessageOverhead(), Word.MESSAGE_OVERHEAD, op)};
      case LOAD -> before(op, request(service, op));
      case RECV -> new Piece[] {request(service, op)};
      default -> before(op);
    };
  }

  /** What a load or store takes before its command or its data sets out. */
  private Piece[] before(int op, Piece... then) {
    List<Piece> pieces = new ArrayList<>();
    pieces.add(new Piece(new Cost.DmaSetup(), Word.DMA_SETUP, op));
    if (log.translationPs(op) > 0) {
      long misses = log.translationPs(op) / machine.pe().mmu().missPs();
      pieces.add(new Piece(new Cost.Translation(misses), Word.TRANSLATION, op));
    }
    pieces.addAll(Arrays.asList(then));
    return pieces.toArray(new Piece[0]);
  }

  private Piece request(int service, int op) {
    int memory = machine.link(ways.link(service)).toNode();
    return new Piece(new Cost.Request(log.pe(op), memory), Word.LATENCY, op);
  }

  private void expandTail(int m, int service) {
    int link = ways.link(service);
    int op = ways.op(ways.partOf(service));
    Cost bytes = new Cost.LinkBytes(link, ways.chunkBytes(service));
    int from = ways.from(service);
    boolean upstream =
        !ways.isEntry(service)
            && ways.tailPs(from) + machine.link(ways.link(from)).latencyPs() == times[m];
    if (upstream) {
      join(m, moment(TAIL_IN, from), Word.OTHER, op, latency(ways.link(from), op));
    }
    boolean here = ways.startPsOf(service) + psOf(bytes) == times[m];
    if (!upstream || (allTight && here)) {
      Piece serial = new Piece(bytes, Word.SERIALISATION, op);
      join(m, moment(HEAD_IN, service), inside(link), op, serial);
    }
  }

  private void expandStart(int m, int op) {
    int by = log.causeOp(op);
    if (by < 0 || !log.has(by)) {
      issued(m, ROOT, op, Word.OTHER);
      return;
    }
    if (log.kind(by) == OpKind.GEMM && log.endPs(by) > times[m]) {
      occupancy(m, by);
      return;
    }
    switch (log.cause(op)) {
      case CREDIT -> credit(m, op, by);
      case MESSAGE -> {
        int sent = ways.part(by, 0);
        if (sent >= 0) {
          same(m, moment(PART_END, sent), op);
        } else {
          same(m, moment(END, by), op);
        }
      }
      case OPERAND, MEMORY_ORDER -> same(m, moment(END, by), op);
      case ENGINE -> same(m, moment(released(by), by), op);
      case SERIAL_ISSUE ->
          issued(m, moment(log.kind(by) == OpKind.SEND ? START : END, by), op, Word.OTHER);
      case TCM_SPACE -> issued(m, moment(released(by), by), op, Word.OTHER);
      case LOOK -> issued(m, moment(END, by), op, Word.LOOK);
      default -> issued(m, moment(END, by), op, Word.OTHER);
    }
  }

  /** What the array of {@code by}, whose sums had not left it, was free for. */
  private void occupancy(int m, int by) {
    Piece[] pieces =
        log.work(by)
            .map(w -> new Piece[] {new Piece(new Cost.Occupancy(w), Word.COMPUTE, by)})
            .orElse(new Piece[0]);
    join(m, moment(START, by), Word.COMPUTE, by, pieces);
  }

  private int released(int by) {
    return log.kind(by) == OpKind.SEND ? LEFT : END;
  }

  /** Commands were issued one after the other from {@code from} on. */
  private void issued(int m, int from, int op, Word rest) {
    long length = times[m] - times[from];
    long dispatch = machine.pe().cpu().dispatchPs();
    if (length == 0) {
      same(m, from, op);
    } else if (length > 0 && dispatch > 0) {
      join(m, from, rest, op, dispatches(length, dispatch, op, rest));
    } else {
      join(m, from, rest, op);
    }
  }

  /**
   * What issued commands for a time: of a tile command its composite's dispatch, then those of tile
   * commands.
   */
  private Piece[] dispatches(long length, long dispatch, int op, Word rest) {
    long tile = machine.pe().cpu().schedulerDispatchPs();
    long tiles = log.isScheduled(op) && tile > 0 && length >= dispatch ? length - dispatch : 0;
    if (tiles > 0 && tiles % tile == 0) {
      return new Piece[] {
        new Piece(new Cost.Dispatch(1), Word.COMMAND_ISSUE, op),
        new Piece(new Cost.TileDispatch(tiles / tile), Word.COMMAND_ISSUE, op),
      };
    }
    boolean whole = rest == Word.OTHER || length % dispatch == 0;
    long commands = whole ? length / dispatch : 1;
    return new Piece[] {new Piece(new Cost.Dispatch(commands), Word.COMMAND_ISSUE, op)};
  }

  // ---- the graph as a whole ----

  /** Expands everything that the end follows from, and orders it: predecessors first. */
  private void sort() {
    int[] done = new int[64];
    int doneCount = 0;
    int[] stack = new int[64];
    int depth = 0;
    int[] nextEdge = new int[Math.max(64, momentCount)];
    boolean[] seen = new boolean[Math.max(64, momentCount)];
    stack[depth++] = end;
    seen = enter(end, seen);
    nextEdge = withEdge(nextEdge, end);
    while (depth > 0) {
      int m = stack[depth - 1];
      int e = nextEdge[m];
      if (e < 0) {
        if (doneCount == done.length) {
          done = Arrays.copyOf(done, doneCount * 2);
        }
        done[doneCount++] = m;
        depth--;
        continue;
      }
      nextEdge[m] = edges[e * EDGE + 4];
      int from = edges[e * EDGE];
      if (from >= seen.length || !seen[from]) {
        seen = enter(from, seen);
        nextEdge = withEdge(nextEdge, from);
        if (depth == stack.length) {
          stack = Arrays.copyOf(stack, depth * 2);
        }
        stack[depth++] = from;
      }
    }
    order = Arrays.copyOf(done, doneCount);
  }

  private boolean[] enter(int m, boolean[] seen) {
    if (m != ROOT && firstEdge[m] < 0) {
      expand(m);
    }
    boolean[] room = m < seen.length ? seen : Arrays.copyOf(seen, Math.max(m + 1, seen.length * 2));
    room[m] = true;
    return room;
  }

  private int[] withEdge(int[] next, int m) {
    int[] room = m < next.length ? next : Arrays.copyOf(next, Math.max(m + 1, next.length * 2));
    room[m] = firstEdge[m];
    return room;
  }

  /** The time from begin to end if each cost were what it is on another machine. */
  long lengthOn(Machine other) {
    long[] ps = new long[costs.size()];
    for (int i = 0; i < ps.length; i++) {
      ps[i] = costs.get(i).on(other);
    }
    long[] length = new long[momentCount];
    for (int m : order) {
      long longest = m == ROOT ? 0 : Long.MIN_VALUE;
      for (int e = firstEdge[m]; e >= 0; e = edges[e * EDGE + 4]) {
        longest = Math.max(longest, length[edges[e * EDGE]] + ps[edges[e * EDGE + 1]]);
      }
      length[m] = longest;
    }
    return length[end];
  }

  /**
   * Time on the shown path that goes round through a message, the slot it freed, and the credit
   * that came back to its sender: time in which a sender had used all its slots. With {@code s + 1}
   * slots instead of {@code s} the same messages take {@code s / (s + 1)} of it, as long as nothing
   * else holds them up.
   */
  long slotLimitedPs() {
    long sum = 0;
    int m = end;
    while (m != ROOT) {
      int e = firstEdge[m] * EDGE;
      boolean credit =
          edges[e + 2] == Word.CREDIT_RETURN.ordinal()
              && (kind(keys[m]) == START || kind(keys[m]) == PART_START);
      if (!credit) {
        m = edges[e];
        continue;
      }
      int freed = edges[e];
      int sent = before(freed, log.pe(edges[e + 3]));
      if (sent != ROOT) {
        sum += times[m] - times[sent];
        m = sent;
      } else {
        m = freed;
      }
    }
    return sum;
  }

  /**
   * The last moment on the way to another at which a PE started a message; the root if it did not.
   */
  private int before(int from, Pe sender) {
    int m = from;
    while (m != ROOT) {
      int kind = kind(keys[m]);
      int op = kind == START ? index(keys[m]) : kind == PART_START ? ways.op(index(keys[m])) : -1;
      if (op >= 0 && log.kind(op) == OpKind.SEND && log.pe(op).equals(sender)) {
        return m;
      }
      m = edges[firstEdge[m] * EDGE];
    }
    return ROOT;
  }

  /** Time on the shown path for which no cost is known. */
  long unexplainedPs() {
    long sum = 0;
    for (int m = end; m != ROOT; m = edges[firstEdge[m] * EDGE]) {
      int e = firstEdge[m] * EDGE;
      if (costs.get(edges[e + 1]) instanceof Cost.Fixed fixed) {
        sum += fixed.ps();
      }
    }
    return sum;
  }

  /** One critical path in the order of time, without gap or overlap. */
  List<Segment> path() {
    List<Segment> found = new ArrayList<>();
    int subject = -1;
    for (int m = end; m != ROOT; m = edges[firstEdge[m] * EDGE]) {
      int e = firstEdge[m] * EDGE;
      int from = edges[e];
      int op = edges[e + 3];
      Word word = Word.values()[edges[e + 2]];
      Cost cost = costs.get(edges[e + 1]);
      boolean waits = kind(keys[m]) == HEAD_IN && kind(keys[from]) == TAIL_IN;
      boolean others = word == Word.SERIALISATION && subject >= 0 && op != subject;
      if (times[m] > times[from]) {
        String cause = others ? "contention" : word.text;
        String line = line(op, others, subject);
        found.add(
            new Segment(
                times[from], times[m], cause, place(cost, word, op), resource(cost, op), line, op));
      }
      if (!waits && !others) {
        subject = op;
      }
    }
    Collections.reverse(found);
    return merged(found);
  }

  private String line(int op, boolean others, int subject) {
    int whose = others ? subject : op;
    return whose >= 0 && log.has(whose) ? log.line(whose) : "";
  }

  private String place(Cost cost, Word word, int op) {
    return switch (cost) {
      case Cost.LinkLatency l -> machine.link(l.link()).name();
      case Cost.LinkBytes l -> machine.link(l.link()).name();
      case Cost.CreditReturn c -> c.from() + "->" + c.to();
      case Cost.Dispatch d -> log.pe(op) + " CPU";
      case Cost.TileDispatch d -> log.pe(op) + " scheduler";
      default ->
          op < 0 || !log.has(op)
              ? "host"
              : word == Word.COMMAND_ISSUE || word == Word.LOOK
                  ? log.pe(op) + " CPU"
                  : log.pe(op) + " " + log.kind(op);
    };
  }

  private String resource(Cost cost, int op) {
    return switch (cost) {
      case Cost.LinkLatency l -> Param.fold(machine.linkKind(l.link()).name());
      case Cost.LinkBytes l -> Param.fold(machine.linkKind(l.link()).name());
      case Cost.CreditReturn c -> "slots";
      case Cost.SlotCopy c -> "slots";
      case Cost.SlotAccess c -> "slots";
      case Cost.Dispatch d -> "CPU";
      case Cost.TileDispatch d -> "CPU";
      default ->
          op < 0 || !log.has(op)
              ? "host"
              : switch (log.kind(op)) {
                case MATH, GEMM -> log.kind(op).name();
                default -> "DMA";
              };
    };
  }

  private static List<Segment> merged(List<Segment> segments) {
    List<Segment> result = new ArrayList<>();
    for (Segment s : segments) {
      if (!result.isEmpty()) {
        Segment last = result.getLast();
        if (last.cause().equals(s.cause())
            && last.place().equals(s.place())
            && last.line().equals(s.line())
            && last.op() == s.op()) {
          result.set(
              result.size() - 1,
              new Segment(
                  last.fromPs(), s.toPs(), s.cause(), s.place(), s.resource(), s.line(), s.op()));
          continue;
        }
      }
      result.add(s);
    }
    return result;
  }
}
