package org.kernbench.eval.training;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kernbench.eval.output.Numbers;
import org.kernbench.nn.optim.Communication;

/**
 * What the collectives of a run cost, those of layers and buckets that are alike together. Times of
 * a row are of a rank that takes part, those of all collectives of any rank: means, where they
 * differ.
 */
final class CommunicationSums {
  private final Map<List<Object>, Sum> sums = new LinkedHashMap<>();
  private final Sum all = new Sum();

  /**
   * Of a run.
   *
   * @param ranks that took part
   */
  CommunicationSums(Communication communication, int ranks) {
    for (Communication.Line line : communication.lines()) {
      // layers and buckets are alike: their numbers are left out
      String place = line.place().replaceAll("\\.[0-9]+", ".*");
      List<Object> key = List.of(place, line.phase(), line.op(), line.groupSize());
      sums.computeIfAbsent(key, k -> new Sum()).add(line, line.groupSize(), line.members());
      all.add(line, line.groupSize(), ranks);
    }
  }

  /** From start to end of all, on a rank on average. */
  long timePs() {
    return all.timePs;
  }

  /** The part of it that no computation hides. */
  long exposedPs() {
    return all.exposedPs;
  }

  /** A row for each kind, in the order of their first calls. */
  List<Map<String, Object>> rows() {
    return sums.entrySet().stream().map(e -> e.getValue().row(e.getKey())).toList();
  }

  /** Collectives that are alike. */
  private static final class Sum {
    private long calls;
    private long bytes;
    private long sent;
    private boolean counted = true;
    private long timePs;
    private long exposedPs;

    /** Adds times divided by {@code of}, after they were multiplied. */
    void add(Communication.Line line, long times, long of) {
      calls += line.calls();
      bytes += line.payloadBytes();
      sent += line.sentBytes().orElse(0);
      counted &= line.sentBytes().isPresent();
      timePs += line.timePs() * times / of;
      exposedPs += line.exposedPs() * times / of;
    }

    Map<String, Object> row(List<Object> key) {
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("part", key.get(0));
      row.put("pass", key.get(1).toString().toLowerCase(Locale.ROOT));
      row.put("collective", key.get(2).toString().toLowerCase(Locale.ROOT) + " of " + key.get(3));
      row.put("calls", calls);
      row.put("bytes", bytes);
      row.put("sent_bytes", counted ? (Object) sent : "");
      row.put("time_ns", Numbers.ns(timePs));
      row.put("exposed_ns", Numbers.ns(exposedPs));
      return row;
    }
  }
}
