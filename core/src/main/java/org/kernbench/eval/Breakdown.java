package org.kernbench.eval;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
  private final Launch launch;
  private final List<Segment> segments;
  private @Nullable CausalGraph all;

  private Breakdown(Machine machine, OpLog log, Launch launch) {
    this.machine = machine;
    this.log = log;
    this.launch = launch;
    this.segments =
        CausalGraph.pathOf(machine, log, launch.startPs(), launch.endPs(), launch.criticalOp())
            .path();
  }

  /**
   * The breakdown of a finished launch.
   *
   * @throws IllegalArgumentException if the op log did not keep every operation: the path could be
   *     guessed but not known
   */
  public static Breakdown of(Machine machine, OpLog log, Launch launch, IpcqSpec ipcq) {
    if (!log.isComplete() || !log.transfers().isComplete()) {
      throw new IllegalArgumentException(
          "the op log did not keep every operation; expected a complete one");
    }
    return new Breakdown(machine, log, launch);
  }

  /** The longest of all critical paths that the log knows, on another machine, in picoseconds. */
  public long lengthOn(Machine other) {
    return all().lengthOn(other);
  }

  private CausalGraph all() {
    CausalGraph graph = all;
    if (graph == null) {
      graph =
          CausalGraph.allOf(machine, log, launch.startPs(), launch.endPs(), launch.criticalOp());
      all = graph;
    }
    return graph;
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
