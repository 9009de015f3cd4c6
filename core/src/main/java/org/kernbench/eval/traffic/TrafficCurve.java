package org.kernbench.eval.traffic;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.DoubleFunction;

/**
 * Latency over load, and the load at which it runs away.
 *
 * @param points by load, ascending
 * @param zeroLoadPs mean latency at the lowest load; if that is saturated already, what it would be
 *     if no packet met another
 * @param saturation load at which the mean latency is three times that; 0 if it is nowhere
 */
record TrafficCurve(List<TrafficPoint> points, double zeroLoadPs, double saturation) {
  /** Saturated is what takes so many times as long as with no load. */
  static final double SATURATED = 3;

  /** Part of the packets that is missing where more are offered than can arrive, at least. */
  static final double BEHIND = 0.1;

  private static final double LOWEST = 0.02;

  /** Nobody looks for saturation below that. */
  private static final double LEAST = 1e-4;

  private static final double STEP = 0.1;
  private static final int HALVINGS = 5;

  /** At these loads, ascending. */
  static TrafficCurve at(List<Double> loads, DoubleFunction<TrafficPoint> run) {
    List<TrafficPoint> points = loads.stream().map(run::apply).toList();
    return new TrafficCurve(points, zeroLoadPs(points.getFirst()), 0);
  }

  private static double zeroLoadPs(TrafficPoint lowest) {
    return lowest.isOverloaded() ? lowest.alonePs() : lowest.meanPs();
  }

  /**
   * From almost no load in steps until it is saturated, and closer to that by halves.
   *
   * @param run a run at a load, long enough to tell whether it is saturated
   * @param quiet one whose mean all others are held against
   * @param most the largest load that can be offered
   */
  static TrafficCurve toSaturation(
      DoubleFunction<TrafficPoint> run, DoubleFunction<TrafficPoint> quiet, double most) {
    List<TrafficPoint> points = new ArrayList<>();
    double high = 0; // saturated; 0: not found yet
    TrafficPoint lowest = quiet.apply(Math.min(LOWEST, most));
    points.add(lowest);
    while (lowest.isOverloaded() && lowest.load() > LEAST) {
      high = lowest.load();
      lowest = quiet.apply(high / 2);
      points.add(lowest);
    }
    double low = lowest.load();
    if (high > 0) { // near saturation a packet waits already
      TrafficPoint far = quiet.apply(low * STEP);
      points.add(far);
      if (lowest.isSaturated(zeroLoadPs(far))) {
        high = low;
        low = far.load();
      }
      lowest = far;
    }
    double zero = zeroLoadPs(lowest);
    for (int i = 1; i <= 10 && high == 0; i++) {
      double load = Math.round(i * STEP * 10) / 10.0;
      if (load > most) {
        break;
      }
      TrafficPoint next = run.apply(load);
      points.add(next);
      if (next.isSaturated(zero)) {
        high = next.load();
      } else {
        low = next.load();
      }
    }
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
    return new TrafficCurve(List.copyOf(points), zero, high == 0 ? 0 : (low + high) / 2);
  }
}
