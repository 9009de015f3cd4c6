package org.kernbench.eval;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.device.Cause;
import org.kernbench.device.Launch;
import org.kernbench.device.OpKind;
import org.kernbench.device.OpLog;
import org.kernbench.machine.Backpressure;
import org.kernbench.machine.IpcqSpec;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SlotAccess;

/**
 * Where the time of a launch went: its critical path, cut into segments that cover the time from
 * the common start to the completion of the last PE exactly, without a gap or an overlap.
 *
 * <p>The path is walked backwards. It begins at the operation that ended last. Each operation
 * contributes the time from its start to the moment that mattered, split by what moving or
 * computing consists of; then the walk goes on at the operation whose end (or freed channel, or
 * credit) let it start, and the time between the two, such as the return flight of a credit, is a
 * segment of its own.
 */
public final class Breakdown {
  /**
   * The part of the time that one cause took.
   *
   * @param cause the cause
   * @param ps picoseconds on the critical path
   * @param share of the whole, 0 to 1; the shares of a breakdown sum to 1
   * @param place where most of it was spent
   * @param line the kernel's source line where most of it was spent; empty if lines were not
   *     captured
   */
  public record Share(String cause, long ps, double share, String place, String line) {}

  private final List<Segment> segments;

  private Breakdown(List<Segment> segments) {
    this.segments = List.copyOf(segments);
  }

  /**
   * The breakdown of a finished launch.
   *
   * @param ipcq the queues that the launch used
   * @throws IllegalArgumentException if the op log did not keep every operation: the path could be
   *     guessed but not known
   */
  public static Breakdown of(Machine machine, OpLog log, Launch launch, IpcqSpec ipcq) {
    if (!log.isComplete()) {
      throw new IllegalArgumentException(
          "the op log did not keep every operation; expected a complete one");
    }
    return new Breakdown(new Walk(machine, log, launch, ipcq).run());
  }

  /** The critical path in the order of time. */
  public List<Segment> segments() {
    return segments;
  }

  /** The time covered, in picoseconds. */
  public long totalPs() {
    return segments.isEmpty() ? 0 : segments.getLast().toPs() - segments.getFirst().fromPs();
  }

  /** The segments summed by cause, the largest first. */
  public List<Share> shares() {
    Map<String, List<Segment>> byCause = new LinkedHashMap<>();
    for (Segment s : segments) {
      byCause.computeIfAbsent(s.cause(), c -> new ArrayList<>()).add(s);
    }
    long total = Math.max(1, totalPs());
    List<Share> shares = new ArrayList<>();
    byCause.forEach((cause, all) -> {
      long ps = all.stream().mapToLong(Segment::ps).sum();
      Segment most = mostOf(all);
      shares.add(new Share(cause, ps, (double) ps / total, most.place(), most.line()));
    });
    shares.sort(Comparator.comparingLong(Share::ps).reversed().thenComparing(Share::cause));
    return shares;
  }

  /** A segment at the place and line where the most time was spent; the first of equals. */
  private static Segment mostOf(List<Segment> segments) {
    Map<List<String>, Long> sums = new LinkedHashMap<>();
    Map<List<String>, Segment> samples = new LinkedHashMap<>();
    for (Segment s : segments) {
      List<String> key = List.of(s.place(), s.line());
      sums.merge(key, s.ps(), Long::sum);
      samples.putIfAbsent(key, s);
    }
    List<String> best = Collections.max(sums.entrySet(), Map.Entry.comparingByValue()).getKey();
    for (Map.Entry<List<String>, Long> e : sums.entrySet()) {
      if (e.getValue().equals(sums.get(best))) {
        best = e.getKey();
        break;
      }
    }
    return samples.getOrDefault(best, segments.getFirst());
  }

  /** One walk from the end to the start; segments are found last to first. */
  private static final class Walk {
    private final Machine machine;
    private final OpLog log;
    private final IpcqSpec ipcq;
    private final long beginPs;
    private final List<Segment> found = new ArrayList<>();

    /** What is explained from here to the end. */
    private long atPs;

    private int op;

    /**
     * The PE whose receive made the walk come to a send; meaningful while {@link #op} is that send.
     */
    private int receiver = -1;

    Walk(Machine machine, OpLog log, Launch launch, IpcqSpec ipcq) {
      this.machine = machine;
      this.log = log;
      this.ipcq = ipcq;
      this.beginPs = launch.startPs();
      this.atPs = launch.endPs();
      this.op = launch.criticalOp();
    }

    List<Segment> run() {
      while (atPs > beginPs && op >= 0 && log.has(op)) {
        if (followMessage()) {
          continue;
        }
        ownTime();
        wait(log.cause(op), log.causeOp(op));
      }
      if (atPs > beginPs) {
        add(beginPs, atPs, "command issue", "host", "", -1);
      }
      Collections.reverse(found);
      return found;
    }

    /**
     * A receive of several fragments starts with the first and then waits for the others: up to the
     * arrival of the last one the time belongs to the send.
     */
    private boolean followMessage() {
      int send = log.causeOp(op);
      boolean longer =
          log.cause(op) == Cause.MESSAGE && log.has(send) && log.endPs(send) > log.startPs(op);
      if (!longer || log.endPs(send) > atPs) {
        return false;
      }
      String copy = ipcq.slotAccess() == SlotAccess.SERIAL ? "slot access" : "message copy";
      add(log.endPs(send), atPs, copy, place(op), log.line(op), op);
      goTo(send, log.endPs(send));
      return true;
    }

    private void goTo(int next, long timePs) {
      receiver = next >= 0 && log.has(next) && op >= 0 ? op : -1;
      op = next;
      atPs = Math.min(atPs, timePs);
    }

    // ---- the operation itself ----

    private void ownTime() {
      long start = log.startPs(op);
      switch (log.kind(op)) {
        case MATH, GEMM -> add(start, atPs, "compute", place(op), log.line(op), op);
        case LOAD, STORE ->
            transfer(start, "DMA setup", machine.pe().dma().setupPs(), Long.MAX_VALUE, "latency");
        case SEND -> sendTime(start);
        case RECV -> receiveTime(start);
      }
      atPs = Math.min(atPs, Math.max(beginPs, start));
    }

    private void sendTime(long start) {
      long fragments = Math.max(1, Math.ceilDiv(log.bytes(op), ipcq.slotBytes()));
      long overhead = fragments * machine.pe().dma().messageOverheadPs();
      long latency = hasReceiver() ? latencyPs(log.pe(op), log.pe(receiver)) : Long.MAX_VALUE;
      String rest =
          ipcq.slotAccess() == SlotAccess.SERIAL ? "slot access" : "credit inside a message";
      transfer(start, "message overhead", overhead, latency, rest);
    }

    private void receiveTime(long start) {
      boolean overFabric = log.serialisationPs(op) > 0;
      long awaited = ipcq.recvAwaitsCredit() ? creditPs(op) : 0;
      long credit = Math.max(start, atPs - awaited);
      if (awaited > 0) {
        add(credit, atPs, "credit return", place(op), log.line(op), op);
        atPs = credit;
      }
      if (overFabric) {
        transfer(start, "slot access", 0, Long.MAX_VALUE, "latency");
      } else {
        add(start, atPs, "slot access", place(op), log.line(op), op);
      }
    }

    /**
     * Time awaited by a receive that blocks until its credit has arrived; its sender is its cause.
     */
    private long creditPs(int receive) {
      int send = log.causeOp(receive);
      return log.cause(receive) == Cause.MESSAGE && log.has(send)
          ? creditPs(log.pe(receive), log.pe(send))
          : 0;
    }

    /** Cuts a transfer's time: overhead, serialisation, contention, latency, and what remains. */
    private void transfer(
        long start, String overheadName, long overhead, long latency, String rest) {
      String link = log.link(op) >= 0 ? machine.link(log.link(op)).name() : place(op);
      long afterOverhead = step(start, overhead);
      long afterSerialisation = step(afterOverhead, log.serialisationPs(op));
      long afterContention = step(afterSerialisation, log.contentionPs(op));
      long afterLatency = step(afterContention, latency);
      String line = log.line(op);
      add(afterLatency, atPs, rest, place(op), line, op);
      add(afterContention, afterLatency, "latency", way(), line, op);
      add(afterSerialisation, afterContention, "contention", link, line, op);
      add(afterOverhead, afterSerialisation, "serialisation", link, line, op);
      add(start, afterOverhead, overheadName, place(op), line, op);
    }

    private long step(long from, long length) {
      return length >= atPs - from ? atPs : from + length;
    }

    /** Latency of a message's way to the slot of the PE that receives it. */
    private long latencyPs(Pe from, Pe to) {
      int slot = ipcq.slotAccess() == SlotAccess.STREAMED ? slotNode(to) : machine.peNode(to);
      return machine.latencyPs(machine.route(machine.peNode(from), slot));
    }

    private int slotNode(Pe pe) {
      return switch (ipcq.bufferKind()) {
        case TCM -> machine.tcmNode(pe);
        case SRAM -> machine.sramNode(pe.sip(), pe.cube());
        case HBM -> machine.hbmNode(pe);
      };
    }

    // ---- what it waited for ----

    private void wait(Cause cause, int by) {
      if (atPs <= beginPs) {
        return;
      }
      if (!log.has(by)) {
        add(beginPs, atPs, "command issue", cpu(op), log.line(op), op);
        atPs = beginPs;
        return;
      }
      long ended = Math.min(atPs, log.endPs(by));
      switch (cause) {
        case OPERAND, ENGINE, MESSAGE, MEMORY_ORDER -> ended = atPs;
        case CREDIT -> ended = Math.min(ended, atPs - creditPs(log.pe(by), log.pe(op)));
        case SERIAL_ISSUE -> ended = Math.min(ended, serialEnd(by));
        case KERNEL_START, TCM_SPACE, FENCE, LOOK, WINDOW -> {}
      }
      ended = Math.max(ended, beginPs);
      if (cause == Cause.CREDIT) {
        long freed = Math.max(ended, atPs - creditPs(log.pe(by), log.pe(op)));
        add(freed, atPs, "credit return", log.pe(by) + "->" + log.pe(op), log.line(op), op);
        add(
            ended,
            freed,
            ipcq.backpressure() == Backpressure.POLL ? "credit poll" : "slot held",
            log.pe(by).toString(),
            log.line(by),
            by);
      } else {
        add(ended, atPs, "command issue", cpu(op), log.line(op), op);
      }
      goTo(by, ended);
    }

    /** A machine that issues serially goes on as soon as a send has its channel. */
    private long serialEnd(int by) {
      return log.kind(by) == OpKind.SEND ? log.startPs(by) : log.endPs(by);
    }

    private long creditPs(Pe receiverPe, Pe senderPe) {
      if (receiverPe.equals(senderPe)) {
        return 0;
      }
      int[] route = machine.route(machine.peNode(receiverPe), machine.peNode(senderPe));
      long narrowest = 0;
      for (int link : route) {
        narrowest = Math.max(narrowest, machine.link(link).rate().durationPs(ipcq.creditBytes()));
      }
      return machine.latencyPs(route) + narrowest + ipcq.creditOverheadPs();
    }

    // ---- words ----

    private String place(int id) {
      return log.pe(id) + " " + log.kind(id);
    }

    private String cpu(int id) {
      return log.pe(id) + " CPU";
    }

    private String way() {
      return log.kind(op) == OpKind.SEND && hasReceiver()
          ? log.pe(op) + "->" + log.pe(receiver)
          : place(op);
    }

    private boolean hasReceiver() {
      return receiver >= 0 && log.kind(receiver) == OpKind.RECV;
    }

    private void add(long from, long to, String cause, String place, String line, int by) {
      long begin = Math.max(from, beginPs);
      if (to > begin) {
        found.add(new Segment(begin, to, cause, place, line, by));
      }
    }
  }
}
