package org.kernbench.eval.measured;

import java.util.List;

/**
 * One run that somebody measured, and how to simulate the same.
 *
 * @param where file and line, for messages
 * @param bench what to run
 * @param params {@code name=value} for it
 * @param overrides {@code path=value} over the machine
 * @param metric what was measured
 * @param ps the time, in picoseconds, above 0
 * @param weight in means, above 0
 * @param size what errors are shown by, such as bytes; 0 if not said
 * @param source where the number comes from; empty if not said
 */
public record MeasuredRow(
    String where,
    String bench,
    List<String> params,
    List<String> overrides,
    Metric metric,
    double ps,
    double weight,
    double size,
    String source) {
  /** What a time is of. */
  public enum Metric {
    /** The kernels alone: {@code crit_ns}. */
    KERNEL,
    /** The host's call until it knows: {@code observed_ns}. */
    OBSERVED,
    /**
     * One of many calls back to back, as benchmarks average them: the host's work for a call hides
     * behind the kernel before it, so each takes the longer of the two.
     */
    REPEATED
  }

  /** Copies the lists. */
  public MeasuredRow {
    params = List.copyOf(params);
    overrides = List.copyOf(overrides);
  }

  private static final int MOST_SHOWN = 2;

  /** Parameters and overrides in one line; of many overrides their number. */
  public String shown() {
    String all = String.join(" ", params);
    if (overrides.size() > MOST_SHOWN) {
      return all + " (" + overrides.size() + " values of the machine set)";
    }
    return overrides.isEmpty() ? all : all + " " + String.join(" ", overrides);
  }
}
