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
 * @param reasons why, and how many times each; some say why what was noted of a launch was not kept
 * @param reasonOperations by reason, the operations of the launches that were simulated for it
 */
public record Reused(
    long launches,
    long operations,
    long simulated,
    Map<String, Long> reasons,
    Map<String, Long> reasonOperations) {
  /** Copies the maps. */
  public Reused {
    reasons = Map.copyOf(reasons);
    reasonOperations = Map.copyOf(reasonOperations);
  }

  /**
   * For example {@code 960 of 1,024 launches (99,840 operations); 64 simulated: 60 first of their
   * kind (5,214 operations), ...}.
   */
  @Override
  public String toString() {
    String why =
        reasons.entrySet().stream()
            .sorted(
                Map.Entry.<String, Long>comparingByValue()
                    .reversed()
                    .thenComparing(Map.Entry.comparingByKey()))
            .map(e -> times(e.getKey(), e.getValue()))
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

  private String times(String why, long times) {
    long did = reasonOperations.getOrDefault(why, 0L);
    String reason = String.format(Locale.ROOT, "%,d %s", times, why);
    return did == 0 ? reason : reason + String.format(Locale.ROOT, " (%,d operations)", did);
  }
}
