package org.kernbench.device.simulator;

import java.util.Optional;
import java.util.function.Consumer;
import org.kernbench.device.Reused;
import org.kernbench.device.Watch;

/**
 * How much a run records about itself; never changes times or values.
 *
 * @param opLogLimit operations kept in the op log; beyond it only the hash and the counts go on (0
 *     keeps none)
 * @param captureLines whether each command remembers the kernel's source line (about a microsecond
 *     each)
 * @param watch sees the execution as it goes, to judge it; empty: nobody does
 * @param shown is shown which kernel has control and how far the run is; empty: nobody looks
 * @param reuse whether what came of a launch is used again for others, in mode {@code time}
 * @param told hears at the end what became of launches of a simulation in which one may stand for
 *     others; empty: nobody does
 */
public record SimulatorOptions(
    int opLogLimit,
    boolean captureLines,
    Optional<Watch.Source> watch,
    Optional<RunWatch> shown,
    boolean reuse,
    Optional<Consumer<Reused>> told) {
  /** Keeps the first million operations and no source lines; nobody watches. */
  public static final SimulatorOptions DEFAULT = new SimulatorOptions(1 << 20, false);

  /** Checks the ranges. */
  public SimulatorOptions {
    if (opLogLimit < 0) {
      throw new IllegalArgumentException("opLogLimit: got " + opLogLimit + "; expected 0 or more");
    }
  }

  /** Options of a run that nobody watches. */
  public SimulatorOptions(int opLogLimit, boolean captureLines) {
    this(opLogLimit, captureLines, Optional.empty(), Optional.empty(), false, Optional.empty());
  }

  /** A copy that captures source lines. */
  public SimulatorOptions withLines() {
    return new SimulatorOptions(opLogLimit, true, watch, shown, reuse, told);
  }

  /** A copy with another limit of the op log. */
  public SimulatorOptions withOpLogLimit(int limit) {
    return new SimulatorOptions(limit, captureLines, watch, shown, reuse, told);
  }

  /**
   * A copy whose execution is watched, for example by {@code Findings}: races, reads of memory that
   * nobody has written, messages left over. Captures lines; times and values stay the same, the run
   * takes up to twice the processor time.
   *
   * @param source may serve several simulators
   */
  public SimulatorOptions checkedBy(Watch.Source source) {
    return new SimulatorOptions(opLogLimit, true, Optional.of(source), shown, reuse, told);
  }

  /** A copy that shows which kernel has control, and how far the run is. */
  public SimulatorOptions showing(RunWatch to) {
    return new SimulatorOptions(opLogLimit, captureLines, watch, Optional.of(to), reuse, told);
  }

  /** A copy that uses again what came of launches, or does not. */
  public SimulatorOptions reusing(boolean again) {
    return new SimulatorOptions(opLogLimit, captureLines, watch, shown, again, told);
  }

  /** A copy that tells at the end what became of launches. */
  public SimulatorOptions telling(Consumer<Reused> whom) {
    return new SimulatorOptions(opLogLimit, captureLines, watch, shown, reuse, Optional.of(whom));
  }
}
