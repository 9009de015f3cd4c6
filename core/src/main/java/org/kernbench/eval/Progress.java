package org.kernbench.eval;

import java.util.Optional;
import org.kernbench.device.simulator.RunWatch;

/** Hears how far a run of many points is. */
@FunctionalInterface
public interface Progress {
  /** Hears nothing. */
  Progress SILENT = (done, total, what) -> {};

  /**
   * A point has begun or all are done.
   *
   * @param done points finished
   * @param total points in all
   * @param what the point that begins; empty at the end
   */
  void at(int done, int total, String what);

  /** What is shown a simulation as it goes, if somebody looks; empty if nobody does. */
  default Optional<RunWatch> watch() {
    return Optional.empty();
  }
}
