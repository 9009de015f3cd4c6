package org.kernbench.machine.spec;

import java.util.Map;
import java.util.Optional;
import org.kernbench.sim.Rate;

/**
 * The vector engine of a PE.
 *
 * @param clockHz clock in Hz
 * @param lanesBytesPerCycle bytes of one operand per cycle, e.g. 256: 128 lanes of f16, 64 of f32
 * @param startupCycles cycles before the first vector
 * @param slowdown cycles per vector of each slower class, at least 1
 * @param operandRate rate at which TCM moves operands and results of this engine; empty if that
 *     never binds
 */
public record MathSpec(
    long clockHz,
    int lanesBytesPerCycle,
    int startupCycles,
    Map<MathRate, Integer> slowdown,
    Optional<Rate> operandRate) {
  /** Copies the map. */
  public MathSpec {
    slowdown = Map.copyOf(slowdown);
  }

  MathSpec atClock(long hz) {
    return new MathSpec(hz, lanesBytesPerCycle, startupCycles, slowdown, operandRate);
  }
}
