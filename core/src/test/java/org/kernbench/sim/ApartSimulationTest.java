package org.kernbench.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Places that run ahead of each other see what they would see on one clock. */
final class ApartSimulationTest {
  @ParameterizedTest
  @CsvSource({
    "2, 1, 1",
    "2, 1, 2",
    "3, 1, 3",
    "40, 64, 1",
    "40, 5, 2",
    "300, 7, 4",
    "300, 64, 2",
    "1000, 64, 1",
    "1000, 64, 2"
  })
  void randomWorlds_apart_everyPlaceSeesTheSame(int places, int perPartition, int threads) {
    for (int seed = 0; seed < 12; seed++) {
      World together = new World(seed, places);
      Simulation clock = together.onOneClock();
      clock.run();

      World apart = new World(seed, places);
      ApartSimulation sim = apart.apart(perPartition);
      sim.run(threads);
      assertThat(apart.seen).isEqualTo(together.seen);
      assertThat(sim.latestPs()).isEqualTo(clock.nowPs());
      assertThat(sim.eventCount()).isEqualTo(clock.eventCount()).isGreaterThan(places);
    }
  }

  /**
   * Two partitions that tell each other of every step, each in a thread that does nothing else: one
   * that read how far the other is after what it has sent would miss something before long.
   */
  @Test
  void twoThreadsSideBySide_missNothing() throws InterruptedException {
    Places places = Places.of(2, new int[] {0, 1}, new int[] {1, 0}, new long[] {1, 1});
    ApartSimulation sim = new ApartSimulation(places, 1, 0);
    AtomicInteger running = new AtomicInteger(2);
    Thread[] threads = new Thread[2];
    int[] handlers = new int[2];
    for (int p = 0; p < 2; p++) {
      int other = 1 - p;
      Simulation part = sim.simulation(p);
      Simulation there = sim.simulation(other);
      handlers[p] =
          part.register((kind, own) -> {
            long next = part.nowPs() + 1;
            if (kind == 0 && next < 300_000) {
              part.schedule(own, next, handlers[own], 0, own);
              part.post(other, () -> there.schedule(other, next, handlers[other], 1, other));
            } else if (kind == 0) {
              running.decrementAndGet();
            }
          });
      part.schedule(p, 0, handlers[p], 0, p);
      Partition partition = sim.partitionAt(p);
      threads[p] =
          new Thread(() -> {
            while (running.get() > 0 && partition.failures().isEmpty()) {
              if (partition.round() == Partition.Progress.NONE) {
                Thread.yield(); // there may be one core only
              }
            }
            running.decrementAndGet(); // also if it has failed
          });
    }
    for (Thread thread : threads) {
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(sim.partitionAt(0).failures()).isEmpty();
    assertThat(sim.partitionAt(1).failures()).isEmpty();
    assertThat(sim.latestPs()).isGreaterThan(299_000);
  }

  /** Running ahead is what it is for: events of one partition are handled many at a time. */
  @Test
  void ring_apart_runsAheadByManyLookaheads() {
    int n = 256;
    int[] all = IntStream.range(0, n).toArray();
    int[] next = IntStream.range(0, n).map(i -> (i + 1) % n).toArray();
    int[] from = IntStream.concat(IntStream.of(all), IntStream.of(next)).toArray();
    int[] to = IntStream.concat(IntStream.of(next), IntStream.of(all)).toArray();
    long[] tenPs = LongStream.generate(() -> 10).limit(2L * n).toArray();
    ApartSimulation sim = new ApartSimulation(Places.of(n, from, to, tenPs), 64, 0);
    AtomicLong ahead = new AtomicLong();
    long[] clocks = new long[n];
    for (int i = 0; i < sim.partitions(); i++) {
      Simulation part = sim.simulation(i);
      int[] h = {0};
      h[0] =
          part.register((kind, p) -> {
            clocks[p] = part.nowPs();
            ahead.accumulateAndGet(clocks[p] - clocks[(p + n / 2) % n], Math::max);
            if (part.nowPs() < 50_000) {
              part.schedule(p, part.nowPs() + 10, h[0], 0, p);
            }
          });
      for (int p = i * 64; p < (i + 1) * 64; p++) {
        part.schedule(p, 0, h[0], 0, p);
      }
    }
    sim.run(1);
    assertThat(ahead.get()).isGreaterThan(10 * 50);
  }

  /** Bounds do not creep through a long silence, and none rises for ever. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void silence_ofAMillisecond_costsNoTime(int threads) {
    int[] ring = IntStream.range(0, 500).toArray();
    int[] next = IntStream.range(0, 500).map(i -> (i + 1) % 500).toArray();
    long[] onePs = LongStream.generate(() -> 1).limit(500).toArray();
    Places places = Places.of(501, ring, next, onePs); // the last has no neighbours
    ApartSimulation sim = new ApartSimulation(places, 64, 0);
    List<Integer> handled = Collections.synchronizedList(new ArrayList<>());
    schedule(sim, 400, 1_000_000_000, handled);
    schedule(sim, 7, 2_000_000_000, handled);
    schedule(sim, 500, 3_000_000_000L, handled);
    sim.run(threads);
    assertThat(handled).containsExactlyInAnyOrder(400, 7, 500);
    assertThat(sim.latestPs()).isEqualTo(3_000_000_000L);
  }

  /** Places that only tell each other that nothing happens do not keep the others waiting. */
  @Test
  void idleRing_besideOthers_letsThemGoOn() {
    int[] ring = IntStream.range(0, 128).toArray();
    int[] next = IntStream.range(0, 128).map(i -> (i + 1) % 128).toArray();
    long[] onePs = LongStream.generate(() -> 1).limit(128).toArray();
    ApartSimulation sim = new ApartSimulation(Places.of(400, ring, next, onePs), 64, 0);
    List<Integer> handled = new ArrayList<>();
    schedule(sim, 300, 10, handled);
    sim.run(1);
    assertThat(handled).containsExactly(300);
  }

  private static void schedule(ApartSimulation sim, int place, long timePs, List<Integer> handled) {
    Simulation part = sim.simulation(sim.partitionOf(place));
    int h = part.register((kind, arg) -> handled.add(arg));
    part.schedule(place, timePs, h, 0, place);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 4})
  void nothingToDo_ends(int perPartition) {
    Places places = Places.of(4, new int[] {0, 1}, new int[] {1, 0}, new long[] {5, 5});
    ApartSimulation sim = new ApartSimulation(places, perPartition, 77);
    sim.run(2);
    assertThat(sim.latestPs()).isEqualTo(77);
    assertThat(sim.eventCount()).isZero();
  }

  @Test
  void brokenPromise_isABug() {
    Places places = Places.of(2, new int[] {1, 0}, new int[] {0, 1}, new long[] {1000, 1000});
    ApartSimulation sim = new ApartSimulation(places, 2, 0);
    Simulation part = sim.simulation(0);
    int[] h = {0};
    h[0] =
        part.register((kind, arg) -> {
          if (arg == 1) {
            part.schedule(0, 11, h[0], 0, 2); // place 0 has been told of 1,000 at the soonest
          }
        });
    part.schedule(0, 20, h[0], 0, 0);
    part.schedule(1, 10, h[0], 0, 1);
    assertThatThrownBy(() -> sim.run(1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("event for 11 ps comes to place 0, which is at 20 ps already");
  }

  /** What a handler throws on whichever thread ends the run, and the caller hears of it. */
  @ParameterizedTest
  @ValueSource(ints = {5, 100, 195})
  void handlerThatThrows_onAnyThread_endsTheRun(int where) {
    World world = new World(1, 200);
    ApartSimulation sim = world.apart(10);
    Simulation part = sim.simulation(sim.partitionOf(where));
    int h =
        part.register((kind, arg) -> {
          throw new AssertionError("at place " + where);
        });
    part.schedule(where, 5_000, h, 0, 0);
    assertThatThrownBy(() -> sim.run(3))
        .isInstanceOf(AssertionError.class)
        .hasMessage("at place " + where);
  }

  /** Also what another place has sent may throw, and no event of that place is handled then. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void postedAction_thatThrows_endsTheRun(int threads) {
    Places places = Places.of(2, new int[] {0, 1}, new int[] {1, 0}, new long[] {100, 100});
    ApartSimulation sim = new ApartSimulation(places, 1, 0);
    Simulation sender = sim.simulation(0);
    int h =
        sender.register((kind, arg) ->
            sender.post(
                1,
                () -> {
                  throw new IllegalArgumentException("sent at " + sender.nowPs());
                }));
    sender.schedule(0, 40, h, 0, 0);
    List<Integer> handled = Collections.synchronizedList(new ArrayList<>());
    schedule(sim, 1, 500, handled);
    assertThatThrownBy(() -> sim.run(threads))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("sent at 40");
    assertThat(handled).isEmpty();
  }

  /** Whoever comes to them first, of several failures the one that is first in time is told. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4})
  void severalHandlersThrow_theFirstInTimeThenByPlaceIsTold(int threads) {
    for (int seed = 0; seed < 30; seed++) {
      World world = new World(seed, 200);
      ApartSimulation sim = world.apart(10);
      SplittableRandom random = new SplittableRandom(seed);
      String first = "";
      long earliest = Long.MAX_VALUE;
      for (int i = 0; i < 6; i++) {
        int where = random.nextInt(200);
        long timePs = 1000 * random.nextInt(2, 5);
        String what = timePs + " ps at place " + where;
        Simulation part = sim.simulation(sim.partitionOf(where));
        int h =
            part.register((kind, arg) -> {
              throw new IllegalArgumentException(what);
            });
        part.schedule(where, timePs, h, 0, 0);
        if (timePs * 1000 + where < earliest) {
          earliest = timePs * 1000 + where;
          first = what;
        }
      }
      assertThatThrownBy(() -> sim.run(threads)).hasMessage(first);
    }
  }

  /** A place may fail long before, on the clock of the simulator, another fails that is behind. */
  @ParameterizedTest
  @CsvSource({"64, 1", "64, 2", "1024, 1", "16, 3"})
  void failureFarAhead_doesNotHideAnEarlierOne(int perPartition, int threads) {
    int n = 1024;
    int[] all = IntStream.range(0, n).toArray();
    int[] next = IntStream.range(0, n).map(i -> (i + 1) % n).toArray();
    int[] from = IntStream.concat(IntStream.of(all), IntStream.of(next)).toArray();
    int[] to = IntStream.concat(IntStream.of(next), IntStream.of(all)).toArray();
    long[] onePs = LongStream.generate(() -> 1).limit(2L * n).toArray();
    for (int other : new int[] {100, 352, 575, 800}) {
      ApartSimulation sim = new ApartSimulation(Places.of(n, from, to, onePs), perPartition, 0);
      failsAt(sim, 63, 60);
      failsAt(sim, other, 40);
      assertThatThrownBy(() -> sim.run(threads)).hasMessage("place " + other + " at 40");
    }
  }

  /** An event every picosecond until one throws. */
  private static void failsAt(ApartSimulation sim, int place, long timePs) {
    Simulation part = sim.simulation(sim.partitionOf(place));
    int[] h = {0};
    h[0] =
        part.register((kind, arg) -> {
          if (part.nowPs() == timePs) {
            throw new IllegalArgumentException("place " + place + " at " + timePs);
          }
          part.schedule(place, part.nowPs() + 1, h[0], 0, 0);
        });
    part.schedule(place, 0, h[0], 0, 0);
  }

  @Test
  void lookaheadOfZero_isRefused() {
    assertThatThrownBy(() -> Places.of(2, new int[] {0}, new int[] {1}, new long[] {0}))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("lookahead from place 0 to place 1: got 0 ps");
  }

  /**
   * Places on a ring with some chords; times are multiples of 10, so that events often meet. What
   * an event does depends on all that its place has seen before, so that two events in the wrong
   * order change everything after them.
   */
  private static final class World {
    private static final long END_PS = 20_000;

    final List<List<Long>> seen = new ArrayList<>();
    private final int places;
    private final List<int[]> arcs = new ArrayList<>(); // from, to, lookahead
    private final long[] state;
    private final long[] count;
    private final Handler[] handlers; // by place

    World(long seed, int places) {
      this.places = places;
      this.state = new long[places];
      this.count = new long[places];
      this.handlers = new Handler[places];
      SplittableRandom random = new SplittableRandom(seed);
      for (int p = 0; p < places; p++) {
        seen.add(new ArrayList<>());
        state[p] = random.nextLong();
        arc(p, (p + 1) % places, 10 + 10 * random.nextInt(40));
        arc(p, (p + places - 1) % places, 10 + 10 * random.nextInt(40));
        if (random.nextInt(10) == 0) {
          arc(p, random.nextInt(places), 10 + 10 * random.nextInt(90));
        }
      }
    }

    private void arc(int from, int to, int lookaheadPs) {
      if (from != to) {
        arcs.add(new int[] {from, to, lookaheadPs});
      }
    }

    Simulation onOneClock() {
      Simulation sim = new Simulation();
      Handler handler = new Handler(sim);
      for (int p = 0; p < places; p++) {
        handlers[p] = handler;
      }
      start();
      return sim;
    }

    ApartSimulation apart(int perPartition) {
      Places graph =
          Places.of(
              places,
              arcs.stream().mapToInt(a -> a[0]).toArray(),
              arcs.stream().mapToInt(a -> a[1]).toArray(),
              arcs.stream().mapToLong(a -> a[2]).toArray());
      ApartSimulation sim = new ApartSimulation(graph, perPartition, 0);
      Handler[] byPartition = new Handler[sim.partitions()];
      for (int i = 0; i < byPartition.length; i++) {
        byPartition[i] = new Handler(sim.simulation(i));
      }
      for (int p = 0; p < places; p++) {
        handlers[p] = byPartition[sim.partitionOf(p)];
      }
      start();
      return sim;
    }

    private void start() {
      for (int p = 0; p < places; p++) {
        handlers[p].sim.schedule(p, 0, handlers[p].id, 0, p);
      }
    }

    private final class Handler implements EventHandler {
      private final Simulation sim;
      private final int id;

      Handler(Simulation sim) {
        this.sim = sim;
        this.id = sim.register(this);
      }

      @Override
      public void onEvent(int kind, int p) {
        assertThat(handlers[p]).isSameAs(this);
        long now = sim.nowPs();
        seen.get(p).add(now << 8 | kind);
        state[p] = (state[p] ^ (now << 8 | kind)) * 0x9E3779B97F4A7C15L;
        SplittableRandom random = new SplittableRandom(state[p]);
        if (now >= END_PS) {
          return;
        }
        if (kind == 0) { // the heart beat of the place: at its own pace, now and then at once
          sim.schedule(p, now + 10 * random.nextInt(30), id, 0, p);
        }
        if (random.nextInt(3) == 0) {
          int[] arc = arcs.get(random.nextInt(arcs.size()));
          if (arc[0] == p) {
            send(arc[1], now + arc[2] + 10 * random.nextInt(2), p);
          }
        }
        for (int i = 0; i < arcs.size() && arcs.size() < 200; i++) {
          if (arcs.get(i)[0] == p && random.nextInt(8) == 0) {
            send(arcs.get(i)[1], now + arcs.get(i)[2], p);
          }
        }
      }

      private void send(int to, long timePs, int from) {
        long key = ((long) from << 32) | count[from]++;
        if (sim.holds(to)) {
          sim.scheduleKeyed(to, timePs, key, id, 1, to);
        } else {
          Handler there = handlers[to];
          sim.post(to, () -> there.sim.scheduleKeyed(to, timePs, key, there.id, 1, to));
        }
      }
    }
  }
}
