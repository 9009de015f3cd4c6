package org.kernbench.eval.explain;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.kernbench.config.Suggest;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.TransferLog;
import org.kernbench.machine.Link;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * How busy engines and links were between two moments, from the records of operations and chunks;
 * what began before or ended after counts with the part that lies inside.
 */
public final class Utilisation {
  /**
   * One engine of one PE.
   *
   * @param pe where
   * @param engine its name: {@code DMA read}, {@code DMA write}, {@code message channel}, {@code
   *     receive}, {@code MATH} or {@code GEMM}
   * @param operations that it worked on in the window
   * @param busyPs time in which it worked on at least one, picoseconds
   * @param occupiedPs times of its operations summed: above {@code busyPs} where it has several
   *     channels
   * @param bytes of its operations, those half inside counted in full
   */
  public record EngineUse(
      Pe pe, String engine, int operations, long busyPs, long occupiedPs, long bytes) {}

  /**
   * One link.
   *
   * @param link which
   * @param bytes that entered it in the window; a chunk counts when its head enters
   * @param busyPs time in which it was taken, picoseconds
   * @param waitedPs times that chunks waited for it behind another transfer's, summed
   */
  public record LinkUse(Link link, long bytes, long busyPs, long waitedPs) {}

  private final long fromPs;
  private final long toPs;
  private final List<EngineUse> engines;
  private final List<LinkUse> links;

  private Utilisation(long fromPs, long toPs, List<EngineUse> engines, List<LinkUse> links) {
    this.fromPs = fromPs;
    this.toPs = toPs;
    this.engines = List.copyOf(engines);
    this.links = List.copyOf(links);
  }

  /**
   * Utilisation in the window from {@code fromPs} to {@code toPs}.
   *
   * @throws IllegalArgumentException if the op log did not keep every operation
   */
  public static Utilisation of(Machine machine, OpLog log, long fromPs, long toPs) {
    checkWhole(log);
    return new Utilisation(
        fromPs, toPs, engines(log, fromPs, toPs), links(machine, log.transfers(), fromPs, toPs));
  }

  /** What a cut log lacks would look idle. */
  private static void checkWhole(OpLog log) {
    if (!log.isComplete()) {
      throw new IllegalArgumentException(
          "the op log " + log.lack() + "; expected one with every operation");
    }
  }

  /** Length of the window in picoseconds. */
  public long windowPs() {
    return toPs - fromPs;
  }

  /** Engines that worked, the busiest first. */
  public List<EngineUse> engines() {
    return engines;
  }

  /** Links that carried anything, the busiest first. */
  public List<LinkUse> links() {
    return links;
  }

  /** A part of the window, 0 to 1. */
  public double share(long ps) {
    return windowPs() == 0 ? 0 : (double) ps / windowPs();
  }

  /** The engine that operations of a kind run on; empty for those that need none. */
  static String engine(OpKind kind) {
    return switch (kind) {
      case LOAD -> "DMA read";
      case STORE -> "DMA write";
      case SEND -> "message channel";
      case RECV -> "receive";
      case MATH, GEMM -> kind.name();
    };
  }

  // ---- engines ----

  private static final class Busy {
    private final Pe pe;
    private final String engine;
    private final List<long[]> spans = new ArrayList<>();
    private long bytes;

    Busy(Pe pe, String engine) {
      this.pe = pe;
      this.engine = engine;
    }

    /** The stretches in which it worked on at least one operation, in order, none touching. */
    List<long[]> apart() {
      spans.sort(Comparator.comparingLong(s -> s[0]));
      List<long[]> apart = new ArrayList<>();
      for (long[] s : spans) {
        if (apart.isEmpty() || s[0] > apart.getLast()[1]) {
          apart.add(s.clone());
        } else {
          apart.getLast()[1] = Math.max(apart.getLast()[1], s[1]);
        }
      }
      return apart;
    }

    EngineUse use() {
      long busy = apart().stream().mapToLong(s -> s[1] - s[0]).sum();
      long occupied = spans.stream().mapToLong(s -> s[1] - s[0]).sum();
      return new EngineUse(pe, engine, spans.size(), busy, occupied, bytes);
    }
  }

  private static List<EngineUse> engines(OpLog log, long fromPs, long toPs) {
    return busy(log, fromPs, toPs).stream()
        .map(Busy::use)
        .sorted(Comparator.comparingLong(EngineUse::busyPs).reversed())
        .toList();
  }

  private static List<Busy> busy(OpLog log, long fromPs, long toPs) {
    Map<List<Object>, Busy> byEngine = new LinkedHashMap<>();
    for (int id = 0; id < log.size(); id++) {
      if (!log.has(id) || log.work(id).filter(ComputeOp.Elapsed.class::isInstance).isPresent()) {
        continue; // a time that was said beforehand needs no engine
      }
      long from = Math.max(fromPs, log.startPs(id));
      long to = Math.min(toPs, releasedPs(log, id));
      if (to > from) {
        Pe pe = log.pe(id);
        String engine = engine(log.kind(id));
        Busy b = byEngine.computeIfAbsent(List.of(pe, engine), k -> new Busy(pe, engine));
        b.spans.add(new long[] {from, to});
        b.bytes += log.bytes(id);
      }
    }
    return List.copyOf(byEngine.values());
  }

  /** A message holds its channel until its last byte has left. */
  private static long releasedPs(OpLog log, int id) {
    TransferLog ways = log.transfers();
    int part = log.kind(id) == OpKind.SEND ? ways.lastSent(id) : TransferLog.NONE;
    int entry = part == TransferLog.NONE ? TransferLog.NONE : ways.lastEntry(part);
    return entry == TransferLog.NONE ? log.endPs(id) : ways.tailPs(entry);
  }

  // ---- links ----

  private static List<LinkUse> links(Machine machine, TransferLog ways, long fromPs, long toPs) {
    long[] bytes = new long[machine.linkCount()];
    long[] busy = new long[machine.linkCount()];
    long[] waited = new long[machine.linkCount()];
    for (int s = 0; s < ways.services(); s++) {
      int link = ways.link(s);
      long start = ways.startPsOf(s);
      busy[link] += Math.max(0, Math.min(toPs, ways.tailPs(s)) - Math.max(fromPs, start));
      if (start >= fromPs && start < toPs) {
        bytes[link] += ways.chunkBytes(s);
        int before = ways.before(s);
        if (before >= 0 && ways.partOf(before) != ways.partOf(s)) {
          waited[link] += start - ways.headPs(s);
        }
      }
    }
    List<LinkUse> used = new ArrayList<>();
    for (int id = 0; id < bytes.length; id++) {
      if (busy[id] > 0 || bytes[id] > 0) {
        used.add(new LinkUse(machine.link(id), bytes[id], busy[id], waited[id]));
      }
    }
    used.sort(busiestFirst(Math.max(1, toPs - fromPs)));
    return used;
  }

  /**
   * Of links that are as busy, to a tenth of a percent, the slowest first: it holds up the rest.
   */
  private static Comparator<LinkUse> busiestFirst(long windowPs) {
    return Comparator.comparingLong((LinkUse u) -> -Math.round(1000.0 * u.busyPs() / windowPs))
        .thenComparingLong(u -> u.link().rate().bytesPerSecond())
        .thenComparing(Comparator.comparingLong(LinkUse::busyPs).reversed());
  }

  // ---- over time ----

  /** Equal parts of a stretch of time, and how much of each was busy, by kind of thing. */
  private static final class Windows {
    private final long fromPs;
    private final long toPs;
    private final int count;
    private final double width;
    private final Map<String, double[]> busy = new LinkedHashMap<>();
    private final Map<String, Set<Object>> users = new LinkedHashMap<>();

    Windows(long fromPs, long toPs, int count) {
      this.fromPs = fromPs;
      this.toPs = toPs;
      this.count = count;
      this.width = Math.max(1, (double) (toPs - fromPs) / count);
    }

    void add(String kind, Object user, long startPs, long endPs) {
      double from = Math.max(fromPs, startPs) - fromPs;
      double to = Math.min(toPs, endPs) - fromPs;
      if (to <= from) {
        return;
      }
      users.computeIfAbsent(kind, k -> new HashSet<>()).add(user);
      double[] of = busy.computeIfAbsent(kind, k -> new double[count]);
      for (int w = (int) (from / width); w < count && w * width < to; w++) {
        of[w] += Math.max(0, Math.min(to, (w + 1) * width) - Math.max(from, w * width)) / width;
      }
    }

    /** The mean over those of a kind that were busy at all. */
    Map<String, double[]> means() {
      busy.forEach((kind, of) -> {
        int all = users.getOrDefault(kind, Set.of()).size();
        Arrays.setAll(of, w -> of[w] / Math.max(1, all));
      });
      return busy;
    }
  }

  /**
   * How busy the links of each kind were over time.
   *
   * @param windows equal parts of the time from {@code fromPs} to {@code toPs}, at least 1
   * @return by kind, such as {@code sip_to_sip}, for each window the mean over the links of that
   *     kind that carried anything, 0 to 1
   * @throws IllegalArgumentException if the op log did not keep every operation
   */
  public static Map<String, double[]> linksOverTime(
      Machine machine, OpLog log, long fromPs, long toPs, int windows) {
    checkWhole(log);
    TransferLog ways = log.transfers();
    Windows all = new Windows(fromPs, toPs, windows);
    for (int s = 0; s < ways.services(); s++) {
      int link = ways.link(s);
      String kind = Suggest.fold(machine.linkKind(link).name());
      all.add(kind, link, ways.startPsOf(s), ways.tailPs(s));
    }
    return all.means();
  }

  /**
   * How busy the engines of each kind were over time.
   *
   * @param windows equal parts of the time from {@code fromPs} to {@code toPs}, at least 1
   * @return by the engine's name, for each window the mean over the PEs where it worked at all, 0
   *     to 1
   * @throws IllegalArgumentException if the op log did not keep every operation
   */
  public static Map<String, double[]> enginesOverTime(
      OpLog log, long fromPs, long toPs, int windows) {
    checkWhole(log);
    Windows all = new Windows(fromPs, toPs, windows);
    for (Busy b : busy(log, fromPs, toPs)) {
      for (long[] span : b.apart()) {
        all.add(b.engine, b.pe, span[0], span[1]);
      }
    }
    return all.means();
  }
}
