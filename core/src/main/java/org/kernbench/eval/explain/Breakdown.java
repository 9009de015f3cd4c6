package org.kernbench.eval.explain;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.io.StreamCorruptedException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.IpcqSpec;

/**
 * Where the time of a launch or of several went: the critical path, cut into segments that cover
 * the time from a beginning to an end exactly, without a gap or an overlap.
 *
 * <p>The path is walked backwards. It begins at the operation that ended last. Each operation
 * contributes the time from its start to the moment that mattered, split by what moving or
 * computing consists of; then the walk goes on at the operation whose end (or freed channel, or
 * credit) let it start, and the time between the two, such as the return flight of a credit, is a
 * segment of its own. From the start of a kernel it goes on at the launch that it had to wait for,
 * or at the host's call and the launch that the host had waited for.
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
  public record Share(PathCause cause, long ps, double share, String place, String line) {}

  /**
   * The part of the time that went through one kernel.
   *
   * @param kernel its name; {@code (host)}: calls on their way to the device
   * @param launches of that name that the path goes through
   * @param ps picoseconds on the critical path
   * @param share of the whole, 0 to 1
   */
  public record KernelShare(String kernel, int launches, long ps, double share) {}

  private static final Comparator<Share> LARGEST_FIRST =
      Comparator.comparingLong(Share::ps).reversed().thenComparing(s -> s.cause().text());

  private final Machine machine;
  private final OpLog log;
  private final long beginPs;
  private final long endPs;
  private final int lastOp;
  private final int lastLaunch;
  private final int slots;
  private final List<Segment> segments;
  private @Nullable CausalGraph all;

  /**
   * @param lastOp whose end is the end; -1: that of {@code lastLaunch} is
   * @param lastLaunch of the launch log; -1 if {@code lastOp} is given
   */
  private Breakdown(
      Machine machine, OpLog log, long beginPs, long endPs, int lastOp, int lastLaunch, int slots) {
    this.machine = machine;
    this.log = log;
    this.beginPs = beginPs;
    this.endPs = endPs;
    this.lastOp = lastOp;
    this.lastLaunch = lastLaunch;
    this.slots = slots;
    this.segments = new CriticalPath(graph(false), machine, log).segments();
  }

  private CausalGraph graph(boolean allTight) {
    return new CausalGraph(
        machine, beginPs, graph -> new Causes(graph, machine, log, allTight), endKey());
  }

  private long endKey() {
    if (lastOp < 0) {
      return Moment.DONE.of(lastLaunch);
    }
    boolean left = log.kind(lastOp) == OpKind.SEND && log.endPs(lastOp) != endPs;
    return (left ? Moment.LEFT : Moment.END).of(lastOp);
  }

  public void write(DataOutput out) throws IOException {
    out.writeLong(beginPs);
    out.writeLong(endPs);
    out.writeInt(lastOp);
    out.writeInt(lastLaunch);
    out.writeInt(slots);
  }

  /** Reads what {@link #write} wrote, and the op log after it. */
  public static Breakdown read(DataInput in, Machine machine) throws IOException {
    long begin = in.readLong();
    long end = in.readLong();
    int last = in.readInt();
    int lastLaunch = in.readInt();
    int slots = in.readInt();
    OpLog log = OpLog.read(in, machine);
    if (last < 0 ? lastLaunch < 0 || lastLaunch >= log.launches().size() : !log.has(last)) {
      throw new StreamCorruptedException("a path that ends nowhere");
    }
    return new Breakdown(machine, log, begin, end, last, lastLaunch, slots);
  }

  /**
   * The breakdown of a finished launch.
   *
   * @param ipcq the queues that the launch used
   * @throws IllegalArgumentException if the op log did not keep every operation: the path could be
   *     guessed but not known
   */
  public static Breakdown of(Machine machine, OpLog log, Launch launch, IpcqSpec ipcq) {
    return of(machine, log, launch.startPs(), launch, ipcq);
  }

  /**
   * The breakdown of several launches, from a moment to the end of the last of them.
   *
   * @param fromPs when it begins, simulated picoseconds
   * @param last the launch whose end is the end
   * @param ipcq the queues that messages used
   * @throws IllegalArgumentException if the op log did not keep every operation
   */
  public static Breakdown of(Machine machine, OpLog log, long fromPs, Launch last, IpcqSpec ipcq) {
    checkComplete(log);
    int op = last.criticalOp();
    int launch = op < 0 ? last.id() : LaunchLog.NONE;
    return new Breakdown(machine, log, fromPs, last.endPs(), op, launch, ipcq.slots());
  }

  /**
   * The breakdown of operations on a machine whose queues they do not use, from a moment to the end
   * of the last of them.
   *
   * @param fromPs when it begins, simulated picoseconds
   * @param lastOp an id of the log
   * @throws IllegalArgumentException if the op log did not keep every operation
   */
  public static Breakdown of(Machine machine, OpLog log, long fromPs, int lastOp) {
    checkComplete(log);
    return new Breakdown(
        machine, log, fromPs, log.endPs(lastOp), lastOp, LaunchLog.NONE, machine.ipcq().slots());
  }

  /**
   * The breakdown of a whole run, from the host's first call, at time 0, until all launches are
   * done.
   *
   * @param ipcq the queues that messages used
   * @throws IllegalArgumentException if the op log did not keep every operation
   */
  public static Breakdown ofRun(Machine machine, OpLog log, IpcqSpec ipcq) {
    checkComplete(log);
    LaunchLog launches = log.launches();
    int last = 0;
    for (int launch = 1; launch < launches.size(); launch++) {
      last = launches.donePs(launch) > launches.donePs(last) ? launch : last;
    }
    return new Breakdown(machine, log, 0, launches.donePs(last), -1, last, ipcq.slots());
  }

  private static void checkComplete(OpLog log) {
    if (!log.isComplete()) {
      throw new IllegalArgumentException(
          "the op log did not keep every operation; expected a complete one");
    }
  }

  /** The operations that the path is made of. */
  public OpLog log() {
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
      graph = graph(true);
      all = graph;
    }
    return graph;
  }

  /** Time on the critical path in which a sender had used all its slots, in picoseconds. */
  long slotLimitedPs() {
    return new CriticalPath(all(), machine, log).slotLimitedPs();
  }

  /** Time on the critical path in which a kernel was held up by its full command window. */
  CriticalPath.Held windowLimited() {
    return new CriticalPath(all(), machine, log).windowLimited();
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
      hash = 31 * hash + s.cause().text().hashCode();
      hash = 31 * hash + s.place().hashCode();
    }
    return hash;
  }

  /** Time on the critical path for which no cost is known. */
  public long unexplainedPs() {
    return new CriticalPath(all(), machine, log).unexplainedPs();
  }

  /** The machine of the run. */
  public Machine machine() {
    return machine;
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
    return by(s -> new Key(s.cause(), s.place(), s.line()));
  }

  /** The segments summed by cause and resource, which stands for the place; the largest first. */
  public List<Share> resources() {
    return by(s -> new Key(s.cause(), s.resource(), ""));
  }

  /** The segments summed by kernel, the largest first. */
  public List<KernelShare> kernels() {
    Map<String, Set<Integer>> launches = new LinkedHashMap<>();
    Map<String, Long> sums = new LinkedHashMap<>();
    for (Segment s : segments) {
      int launch = s.op() < 0 ? LaunchLog.NONE : log.launch(s.op());
      String name = launch == LaunchLog.NONE ? "(host)" : log.launches().name(launch);
      launches.computeIfAbsent(name, n -> new HashSet<>()).add(launch);
      sums.merge(name, s.ps(), Long::sum);
    }
    long total = Math.max(1, totalPs());
    List<KernelShare> shares = new ArrayList<>();
    launches.forEach((name, which) -> {
      long ps = sums.getOrDefault(name, 0L);
      shares.add(new KernelShare(name, which.size(), ps, (double) ps / total));
    });
    shares.sort(
        Comparator.comparingLong(KernelShare::ps).reversed().thenComparing(KernelShare::kernel));
    return shares;
  }

  private record Key(PathCause cause, String place, String line) {}

  private List<Share> by(Function<Segment, Key> key) {
    Map<Key, Long> sums = new LinkedHashMap<>();
    for (Segment s : segments) {
      sums.merge(key.apply(s), s.ps(), Long::sum);
    }
    long total = Math.max(1, totalPs());
    List<Share> shares = new ArrayList<>();
    sums.forEach(
        (k, ps) -> shares.add(new Share(k.cause, ps, (double) ps / total, k.place, k.line)));
    shares.sort(LARGEST_FIRST.thenComparing(Share::place).thenComparing(Share::line));
    return shares;
  }

  /** The segments summed by cause, the largest first. */
  public List<Share> shares() {
    Map<PathCause, List<Segment>> byCause = new LinkedHashMap<>();
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
    shares.sort(LARGEST_FIRST);
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
