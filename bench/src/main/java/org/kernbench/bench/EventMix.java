package org.kernbench.bench;

import java.util.SplittableRandom;

/**
 * The mixed workload: many events at one time, mostly short delays, a nanosecond grid.
 *
 * <p>Of 1,000 delays 250 are zero (a completion that wakes somebody at once), 500 are 1 to 16 ns (a
 * hop, a cycle or a few), 200 are 17 to 500 ns (a chunk or a memory access), 49 are 0.5 to 4 us (a
 * tile, a message) and one is 10 to 100 us (host, refresh). The mean is about 220 ns, so with
 * 10,000 pending events some 45 happen at each nanosecond. On the picosecond grid each delay but
 * zero gets a random remainder below 1 ns, so that times hardly ever coincide.
 */
public final class EventMix {
  private static final int TABLE = 1 << 16;

  /** Whether times are multiples of a nanosecond. */
  public enum Grid {
    NANOSECOND,
    PICOSECOND
  }

  private final long[] delaysPs = new long[TABLE];
  private int next;

  EventMix(Grid grid) {
    SplittableRandom random = new SplittableRandom(42);
    for (int i = 0; i < TABLE; i++) {
      long delayPs = 1_000L * delayNs(random);
      boolean remainder = grid == Grid.PICOSECOND && delayPs > 0;
      delaysPs[i] = remainder ? delayPs - random.nextInt(1_000) : delayPs;
    }
  }

  private static long delayNs(SplittableRandom random) {
    int kind = random.nextInt(1_000);
    if (kind < 250) {
      return 0;
    }
    if (kind < 750) {
      return random.nextLong(1, 17);
    }
    if (kind < 950) {
      return random.nextLong(17, 501);
    }
    return kind < 999 ? random.nextLong(501, 4_001) : random.nextLong(10_000, 100_001);
  }

  /** The next delay; costs one load from a table that fits the second-level cache. */
  long nextDelayPs() {
    return delaysPs[next++ & TABLE - 1];
  }
}
