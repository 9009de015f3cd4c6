package org.kernbench.device;

import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What became of the launches of a run in which what came of one may stand for others.
 *
 * @param launches that were not simulated: what had come of an equal one was written again
 * @param operations of these
 * @param simulated launches that were simulated
 * @param reasons why, and how many for each
 */
public record Reused(long launches, long operations, long simulated, Map<String, Integer> reasons) {
  /** Copies the map. */
  public Reused {
    reasons = Map.copyOf(reasons);
  }

  /**
   * For example {@code 960 of 1,024 launches (99,840 operations); 64 simulated: 60 first of their
   * kind, ...}.
   */
  @Override
  public String toString() {
    String why =
        reasons.entrySet().stream()
            .sorted(
                Map.Entry.<String, Integer>comparingByValue()
                    .reversed()
                    .thenComparing(Map.Entry.comparingByKey()))
            .map(e -> String.format(Locale.ROOT, "%,d %s", e.getValue(), e.getKey()))
            .collect(Collectors.joining(", "));
    return String.format(
        Locale.ROOT,
        "%,d of %,d launches (%,d operations); %,d simulated%s",
        launches,
        launches + simulated,
        operations,
        simulated,
        why.isEmpty() ? "" : ": " + why);
  }
}
