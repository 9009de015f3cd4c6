package org.kernbench.device.fabric;

import org.kernbench.sim.Rate;

/** The edges of a clock: edge k is at {@code ceil(k / hz)} seconds, worked out from k. */
final class RouterClock {
  private static final long PS_PER_SECOND = 1_000_000_000_000L;

  private final Rate cycles;
  private final long hz;

  /** Picoseconds of a cycle; 0 if that is no whole number. */
  private final long periodPs;

  RouterClock(long hz) {
    this.hz = hz;
    this.cycles = Rate.ofBytesPerSecond(hz);
    this.periodPs = PS_PER_SECOND % hz == 0 ? PS_PER_SECOND / hz : 0;
  }

  /** When a cycle begins. */
  long ps(long cycle) {
    return periodPs > 0 ? cycle * periodPs : cycles.durationPs(cycle);
  }

  /** The first cycle that does not begin before a time. */
  long cycle(long ps) {
    if (periodPs > 0) {
      return Math.ceilDiv(ps, periodPs);
    }
    long cycle = Math.max(0, (long) (ps * (hz / (double) PS_PER_SECOND)) - 2);
    while (ps(cycle) < ps) {
      cycle++;
    }
    return cycle;
  }
}
