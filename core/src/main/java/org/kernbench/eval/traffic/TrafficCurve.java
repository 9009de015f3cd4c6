package org.kernbench.eval.traffic;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.DoubleFunction;

/**
 * Latency over load, and the load at which it runs away.
 *
 * @param points by load, ascending
 * @param zeroLoadPs mean latency at the lowest load
 * @param saturation load at which the mean latency is three times that; 0 if it is nowhere
 */
record TrafficCurve(List<TrafficPoint> points, double zeroLoadPs, double saturation) {
  /** Saturated is what takes so many times as long as with no load. */
  static final double SATURATED = 3;

  /** Part of the packets that is missing where more are offered than can arrive, at least. */
  static final double BEHIND = 0.1;

  private static final double LOWEST = 0.02;
  private static final double STEP = 0.1;
  private static final int HALVINGS = 5;

  /** At these loads, ascending. */
  static TrafficCurve at(List<Double> loads, DoubleFunction<TrafficPoint> run) {
    List<TrafficPoint> points = loads.stream().map(run::apply).toList();
    return new TrafficCurve(points, points.getFirst().meanPs(), 0);
  }

  /**
   * From almost no load in steps until it is saturated, and closer to that by halves.
   *
   * @param lowest a run at almost no load, long enough for a mean that all others are held against
   */
  static TrafficCurve toSaturation(
      DoubleFunction<TrafficPoint> run, DoubleFunction<TrafficPoint> lowest) {
    List<TrafficPoint> points = new ArrayList<>(List.of(lowest.apply(LOWEST)));
    double zero = points.getFirst().meanPs();
    double high = 0;
    for (int i = 1; i <= 10 && high == 0; i++) {
      TrafficPoint next = run.apply(Math.round(i * STEP * 10) / 10.0);
      points.add(next);
      high = next.isSaturated(zero) ? next.load() : 0;
    }
    double low = points.size() < 2 || high == 0 ? 0 : Math.max(LOWEST, high - STEP);
    for (int i = 0; i < HALVINGS && high > 0; i++) {
      TrafficPoint between = run.apply((low + high) / 2);
      points.add(between);
      if (between.isSaturated(zero)) {
        high = between.load();
      } else {
        low = between.load();
      }
    }
    points.sort(Comparator.comparingDouble(TrafficPoint::load));
    return new TrafficCurve(List.copyOf(points), zero, (low + high) / 2);
  }
}
