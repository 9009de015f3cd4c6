package org.kernbench.eval;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kernbench.torch.CollectiveRun;

/**
 * What the collectives of a run cost: how long they took, and how much of that is exposed, that is,
 * during which some rank computes nothing else. Sums are of one rank: groups that run side by side
 * count once.
 */
final class CollectiveCosts {
  private final Map<String, Kind> kinds = new LinkedHashMap<>();
  private double busyPs;
  private double exposedPs;

  /** Collectives of one kind over groups of one size. */
  private static final class Kind {
    long calls;
    long bytes;
    long busyPs;
    long exposedPs;
  }

  /**
   * Of a run.
   *
   * @param ranks of the world
   */
  CollectiveCosts(List<CollectiveRun> history, int ranks) {
    for (CollectiveRun run : history) {
      int size = run.ranks().size();
      double share = 1.0 / Math.max(1, ranks / size);
      busyPs += share * run.durationPs();
      exposedPs += share * run.exposedPs();
      String name = run.op().name().toLowerCase(Locale.ROOT) + " of " + size;
      Kind kind = kinds.computeIfAbsent(name, n -> new Kind());
      kind.calls++;
      kind.bytes += run.bytes();
      kind.busyPs += run.durationPs();
      kind.exposedPs += run.exposedPs();
    }
  }

  long busyPs() {
    return (long) busyPs;
  }

  long exposedPs() {
    return (long) exposedPs;
  }

  /** A row for each kind, in the order of their first call; sums over all groups. */
  List<Map<String, Object>> rows() {
    return kinds.entrySet().stream().map(e -> row(e.getKey(), e.getValue())).toList();
  }

  private static Map<String, Object> row(String name, Kind kind) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("collective", name);
    row.put("calls", kind.calls);
    row.put("bytes", kind.bytes);
    row.put("time_ns", Numbers.ns(kind.busyPs));
    row.put("exposed_ns", Numbers.ns(kind.exposedPs));
    return row;
  }
}
