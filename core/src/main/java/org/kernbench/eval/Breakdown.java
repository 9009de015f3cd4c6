package org.kernbench.eval;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.OpLog;
import org.kernbench.machine.IpcqSpec;
import org.kernbench.machine.Machine;

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

  private final Machine machine;
  private final OpLog log;
  private final long beginPs;
  private final long endPs;
  private final int lastOp;
  private final int slots;
  private final List<Segment> segments;
  private @Nullable CausalGraph all;

  private Breakdown(Machine machine, OpLog log, long beginPs, long endPs, int lastOp, int slots) {
    this.machine = machine;
    this.log = log;
    this.beginPs = beginPs;
    this.endPs = endPs;
    this.lastOp = lastOp;
    this.slots = slots;
    this.segments = CausalGraph.pathOf(machine, log, beginPs, endPs, lastOp).path();
  }

  void write(DataOutput out) throws IOException {
    out.writeLong(beginPs);
    out.writeLong(endPs);
    out.writeInt(lastOp);
    out.writeInt(slots);
  }

  /** Reads what {@link #write} wrote, and the op log after it. */
  static Breakdown read(DataInput in, Machine machine) throws IOException {
    long begin = in.readLong();
    long end = in.readLong();
    int last = in.readInt();
    int slots = in.readInt();
    return new Breakdown(machine, OpLog.read(in, machine), begin, end, last, slots);
  }

  /**
   * The breakdown of a finished launch.
   *
   * @param ipcq the queues that the launch used
   * @throws IllegalArgumentException if the op log did not keep every operation: the path could be
   *     guessed but not known
   */
  public static Breakdown of(Machine machine, OpLog log, Launch launch, IpcqSpec ipcq) {
    if (!log.isComplete() || !log.transfers().isComplete()) {
      throw new IllegalArgumentException(
          "the op log did not keep every operation; expected a complete one");
    }
    return new Breakdown(
        machine, log, launch.startPs(), launch.endPs(), launch.criticalOp(), ipcq.slots());
  }

  /** The operations that the path is made of. */
  OpLog log() {
    return log;
  }

  /** When the path begins, simulated picoseconds. */
  public long beginPs() {
    return beginPs;
  }

  /** When it ends, simulated picoseconds. */
  public long endPs() {
    return endPs;
  }

  /** The longest of all critical paths that the log knows, on another machine, in picoseconds. */
  public long lengthOn(Machine other) {
    return all().lengthOn(other);
  }

  private CausalGraph all() {
    CausalGraph graph = all;
    if (graph == null) {
      graph = CausalGraph.allOf(machine, log, beginPs, endPs, lastOp);
      all = graph;
    }
    return graph;
  }

  /** Time on the critical path in which a sender had used all its slots, in picoseconds. */
  long slotLimitedPs() {
    return all().slotLimitedPs();
  }

  /** Whether the queues had as many slots as the machine says, not as a collective chose. */
  boolean hasSlotsOfTheMachine() {
    return slots == machine.ipcq().slots();
  }

  /** What the path went through, without its times: equal for runs that waited for the same. */
  int shape() {
    int hash = 1;
    for (Segment s : segments) {
      hash = 31 * hash + s.op();
      hash = 31 * hash + s.cause().hashCode();
      hash = 31 * hash + s.place().hashCode();
    }
    return hash;
  }

  /** Time on the critical path for which no cost is known. */
  long unexplainedPs() {
    return all().unexplainedPs();
  }

  /** The critical path in the order of time. */
  public List<Segment> segments() {
    return segments;
  }

  /** The time covered, in picoseconds. */
  public long totalPs() {
    return segments.isEmpty() ? 0 : segments.getLast().toPs() - segments.getFirst().fromPs();
  }

  /** The segments summed by cause, place and kernel line, the largest first. */
  public List<Share> places() {
    return by(s -> List.of(s.cause(), s.place(), s.line()));
  }

  /** The segments summed by cause and resource, which stands for the place; the largest first. */
  public List<Share> resources() {
    return by(s -> List.of(s.cause(), s.resource(), ""));
  }

  private List<Share> by(Function<Segment, List<String>> key) {
    Map<List<String>, Long> sums = new LinkedHashMap<>();
    for (Segment s : segments) {
      sums.merge(key.apply(s), s.ps(), Long::sum);
    }
    long total = Math.max(1, totalPs());
    List<Share> shares = new ArrayList<>();
    sums.forEach(
        (k, ps) -> shares.add(new Share(k.get(0), ps, (double) ps / total, k.get(1), k.get(2))));
    shares.sort(
        Comparator.comparingLong(Share::ps)
            .reversed()
            .thenComparing(Share::cause)
            .thenComparing(Share::place)
            .thenComparing(Share::line));
    return shares;
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
}
