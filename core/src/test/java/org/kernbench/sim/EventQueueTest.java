package org.kernbench.sim;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The wheel against the heap against {@code java.util.PriorityQueue} of records: three queues fed
 * with the same random operations must pop the same events. The orders of one time are unique, as
 * {@link Simulation} makes them, so the answer is unique too.
 */
class EventQueueTest {
  /** The wheel's slot and horizon, restated: the interesting times lie at their edges. */
  private static final long SLOT_PS = 1 << 10;

  private static final long HORIZON_PS = SLOT_PS << 12;

  private record Event(long timePs, long order, long payload) {}

  /** Three queues in one: every operation is done on all, every answer is compared. */
  private static final class Triple {
    private final EventQueue wheel = new WheelEventQueue();
    private final EventQueue heap = new HeapEventQueue();
    private final PriorityQueue<Event> reference =
        new PriorityQueue<>(
            Comparator.comparingLong(Event::timePs).thenComparingLong(Event::order));
    private long nowPs;
    private long pops;

    void push(long timePs, long order, long payload) {
      wheel.push(timePs, order, payload);
      heap.push(timePs, order, payload);
      reference.add(new Event(timePs, order, payload));
    }

    void pop() {
      wheel.pop();
      heap.pop();
      Event expected = reference.remove();
      pops++;
      if (!same(wheel, expected) || !same(heap, expected)) {
        assertThat(read(wheel)).as("wheel, pop %d", pops).isEqualTo(expected);
        assertThat(read(heap)).as("heap, pop %d", pops).isEqualTo(expected);
      }
      assertThat(expected.timePs >= nowPs).as("monotone").isTrue();
      nowPs = expected.timePs;
      if (wheel.size() != reference.size() || heap.size() != reference.size()) {
        assertThat(wheel.size()).as("wheel size, pop %d", pops).isEqualTo(reference.size());
        assertThat(heap.size()).as("heap size, pop %d", pops).isEqualTo(reference.size());
      }
    }

    void drain() {
      while (!reference.isEmpty()) {
        assertThat(wheel.isEmpty() || heap.isEmpty()).isFalse();
        pop();
      }
      assertThat(wheel.isEmpty()).isTrue();
      assertThat(heap.isEmpty()).isTrue();
    }

    private static boolean same(EventQueue queue, Event e) {
      return queue.timePs() == e.timePs && queue.order() == e.order && queue.payload() == e.payload;
    }

    private static Event read(EventQueue queue) {
      return new Event(queue.timePs(), queue.order(), queue.payload());
    }
  }

  /** Where the next event lies, seen from the current time. */
  private enum Delays {
    SAME_TIME {
      @Override
      long next(SplittableRandom random, long nowPs) {
        return random.nextInt(8) == 0 ? 1000 : 0;
      }
    },
    NANOSECOND_GRID {
      @Override
      long next(SplittableRandom random, long nowPs) {
        long toGrid = Math.floorMod(-nowPs, 1000L);
        return toGrid + 1000L * random.nextInt(40);
      }
    },
    PICOSECONDS {
      @Override
      long next(SplittableRandom random, long nowPs) {
        return random.nextInt(100_000);
      }
    },
    EDGES {
      @Override
      long next(SplittableRandom random, long nowPs) {
        long edge =
            switch (random.nextInt(4)) {
              case 0 -> SLOT_PS * (1 + random.nextInt(3)) - Math.floorMod(nowPs, SLOT_PS);
              case 1 -> HORIZON_PS - Math.floorMod(nowPs, SLOT_PS);
              case 2 -> HORIZON_PS * (1 + random.nextInt(3));
              default -> HORIZON_PS - SLOT_PS;
            };
        return Math.max(0, edge + random.nextInt(5) - 2);
      }
    },
    FAR {
      @Override
      long next(SplittableRandom random, long nowPs) {
        return random.nextLong() >>> (20 + random.nextInt(44));
      }
    },
    MIXED {
      @Override
      long next(SplittableRandom random, long nowPs) {
        Delays[] simple = {SAME_TIME, NANOSECOND_GRID, NANOSECOND_GRID, PICOSECONDS, EDGES, FAR};
        return simple[random.nextInt(simple.length)].next(random, nowPs);
      }
    };

    abstract long next(SplittableRandom random, long nowPs);
  }

  /** Unique per event: half of them keyed in scrambled order, half in the order of pushing. */
  private static long order(SplittableRandom random, long sequence) {
    long scrambled = sequence * 0x9E37_79B9_7F4A_7C15L & (1L << 62) - 1;
    return random.nextBoolean() ? scrambled : 1L << 62 | sequence;
  }

  @ParameterizedTest
  @EnumSource(Delays.class)
  void queues_randomPushesAndPops_popTheSameEvents(Delays delays) {
    SplittableRandom random = new SplittableRandom(delays.ordinal());
    Triple queues = new Triple();
    long sequence = 0;
    int target = 1;
    for (int i = 0; i < 500_000; i++) {
      if (random.nextInt(5_000) == 0) {
        target = 1 << random.nextInt(14);
      }
      boolean grow = random.nextInt(2 * target) >= queues.reference.size();
      if (queues.reference.isEmpty() || grow) {
        long timePs = queues.nowPs + delays.next(random, queues.nowPs);
        queues.push(timePs, order(random, sequence), random.nextLong());
        sequence++;
      } else {
        queues.pop();
      }
      if (queues.nowPs > 1L << 61) {
        queues.drain();
        queues = new Triple();
      }
    }
    queues.drain();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 24, 25, 26, 1000, 30_000})
  void queues_manyEventsInOneSlot_leaveInTimeThenOrder(int count) {
    SplittableRandom random = new SplittableRandom(count);
    Triple queues = new Triple();
    int rounds = Math.clamp(100_000 / count, 4, 20);
    for (int round = 0; round < rounds; round++) {
      long base = queues.nowPs + SLOT_PS * (1 + random.nextInt(10_000));
      for (int i = 0; i < count; i++) {
        long timePs = base + (round % 2 == 0 ? 0 : random.nextInt(700));
        queues.push(timePs, order(random, (long) round * count + i), i);
      }
      for (int i = 0; i < count / 2; i++) {
        queues.pop();
        long sequence = 1L << 40 | (long) round * count + i;
        queues.push(queues.nowPs, order(random, sequence), i);
      }
      queues.drain();
    }
  }

  /**
   * Two ascending kinds of order at one time, keyed and running, and now and then one that fits
   * neither.
   */
  @ParameterizedTest
  @ValueSource(ints = {2, 5, 6, 11, 100, 5_000})
  void queues_keyedAndRunningOrdersInterleaved_leaveKeyedFirst(int count) {
    SplittableRandom random = new SplittableRandom(count);
    for (int misfits = 0; misfits <= 2; misfits++) {
      Triple queues = new Triple();
      for (int round = 0; round < 10; round++) {
        long base = queues.nowPs + SLOT_PS * (2 + random.nextInt(3));
        for (int i = 0; i < count; i++) {
          long order = random.nextBoolean() ? 1_000L + 2 * i : 1L << 62 | i;
          queues.push(base + (i < count / 2 ? 0 : 5), order, i);
          if (random.nextInt(count) < misfits) {
            queues.push(base, 2 * random.nextInt(1_000) + 1L + 2_000_000L * i, i);
          }
        }
        queues.drain();
      }
    }
  }

  /**
   * Chains of events that each cause another at once: the current slot is pushed to for as long as
   * it is popped from.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 63, 64, 65, 3_000})
  void queues_chainsWithoutDelay_leaveInOrderOfPushing(int chains) {
    Triple queues = new Triple();
    long sequence = 0;
    for (int i = 0; i < chains; i++) {
      queues.push(700, 1L << 62 | sequence++, i);
    }
    for (int i = 0; i < 20 * chains; i++) {
      queues.pop();
      if (i % 7 != 0) {
        queues.push(queues.nowPs, 1L << 62 | sequence++, i);
      }
      if (i % 5 == 0) {
        queues.push(queues.nowPs + i % 3, 1L << 62 | sequence++, i);
        queues.push(queues.nowPs, sequence++, i);
      }
    }
    queues.drain();
  }

  @Test
  void queues_smallerOrderAtTheTimeOfTheLastPop_isNext() {
    Triple queues = new Triple();
    queues.push(5_000, 10, 1);
    queues.push(5_000, 20, 2);
    queues.pop();
    queues.push(5_000, 3, 3);
    queues.push(5_000, 15, 4);
    queues.drain();
    assertThat(queues.pops).isEqualTo(4);
  }

  @Test
  void queues_largestTimesAndOrders_areKept() {
    Triple queues = new Triple();
    queues.push(Long.MAX_VALUE, Long.MAX_VALUE, -1);
    queues.push(Long.MAX_VALUE, 0, Long.MIN_VALUE);
    queues.push(Long.MAX_VALUE - 1, Long.MAX_VALUE, 7);
    queues.push(0, Long.MIN_VALUE, 8);
    queues.drain();
    assertThat(queues.nowPs).isEqualTo(Long.MAX_VALUE);
  }
}
