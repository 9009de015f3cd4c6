package org.kernbench.eval.traffic;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.kernbench.eval.output.Numbers;

/**
 * What became of the packets that were offered at one load, between warm-up and end.
 *
 * @param load asked for, as a part of what the first link of a node passes
 * @param offered what chance made of it
 * @param accepted delivered in the same time, in the same unit
 * @param latenciesPs of each packet, from offered to the arrival of the last byte, or to the moment
 *     when the run was given up; ascending, at least one
 * @param late packets that had not arrived then
 * @param alonePs mean latency if none had met another
 * @param early part of the time measured before all that is offered could have arrived alone, if
 *     the warm-up is shorter than that takes
 */
record TrafficPoint(
    double load,
    double offered,
    double accepted,
    long[] latenciesPs,
    long late,
    double alonePs,
    double early,
    long events) {
  /** Arithmetic mean, ps; more if packets are late. */
  double meanPs() {
    return Arrays.stream(latenciesPs).average().orElseThrow();
  }

  /** What that part of the packets does not exceed, by nearest rank. */
  long percentilePs(double share) {
    int n = latenciesPs.length;
    return latenciesPs[Math.max(0, (int) Math.ceil(share * n) - 1)];
  }

  /**
   * Whether latency has run away: beyond three times that of no load, packets are late, or fewer
   * arrive than are offered, so that it grows for as long as the run lasts.
   */
  boolean isSaturated(double zeroLoadPs) {
    return isOverloaded() || meanPs() > TrafficCurve.SATURATED * zeroLoadPs;
  }

  /** Whether packets are late, or fewer arrive than are offered, whatever one takes alone. */
  boolean isOverloaded() {
    return late > 0 || isBehind();
  }

  /** Whether fewer arrive than are offered, by a tenth and by more than chance makes of it. */
  private boolean isBehind() {
    double packets = latenciesPs.length;
    double missing = packets * (1 - accepted / offered - early);
    return missing > Math.max(TrafficCurve.BEHIND * packets, 3 * Math.sqrt(packets));
  }

  Map<String, Object> row(double zeroLoadPs) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("load", Numbers.rounded(load));
    row.put("offered", Numbers.rounded(offered));
    row.put("accepted", Numbers.rounded(accepted));
    row.put("mean_ns", Numbers.ns(Math.round(meanPs())));
    row.put("p50_ns", Numbers.ns(percentilePs(0.50)));
    row.put("p95_ns", Numbers.ns(percentilePs(0.95)));
    row.put("p99_ns", Numbers.ns(percentilePs(0.99)));
    row.put("max_ns", Numbers.ns(percentilePs(1)));
    row.put("packets", latenciesPs.length);
    row.put("late", late);
    row.put("saturated", isSaturated(zeroLoadPs) ? "yes" : "no");
    return row;
  }
}
