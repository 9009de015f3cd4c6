package org.kernbench.machine.spec;

import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import org.kernbench.config.ConfigMap;
import org.kernbench.config.Quantity;
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

  /** Reads {@code pe.math}. */
  public static MathSpec read(ConfigMap map) {
    long clock = map.frequency("clock");
    long width = map.quantity("width", Quantity.SIZE, 1);
    if (width > 1 << 20) {
      map.problem("width", "got " + width + " B per cycle; expected at most 1 MiB");
      width = 1;
    }
    int startup = map.integer("startup_cycles", 0, 1 << 20);
    ConfigMap slow = map.map("slowdown");
    Map<MathRate, Integer> slowdown = new EnumMap<>(MathRate.class);
    slowdown.put(MathRate.DIVIDE, slow.integer("divide", 1, 1 << 20));
    slowdown.put(MathRate.SQUARE_ROOT, slow.integer("square_root", 1, 1 << 20));
    slowdown.put(MathRate.TRANSCENDENTAL, slow.integer("transcendental", 1, 1 << 20));
    slow.done();
    Optional<Rate> operands = Optional.empty();
    if (!map.isText("operand_bandwidth", "unlimited")) {
      operands = Optional.of(Rate.ofBytesPerSecond(map.bandwidth("operand_bandwidth")));
    }
    map.done();
    return new MathSpec(clock, (int) width, startup, slowdown, operands);
  }

  MathSpec atClock(long hz) {
    return new MathSpec(hz, lanesBytesPerCycle, startupCycles, slowdown, operandRate);
  }
}
