package org.kernbench.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Places that run ahead of each other see what they would see on one clock. */
final class PlacesTest {
  @ParameterizedTest
  @ValueSource(ints = {2, 3, 40, 300, 1000})
  void randomWorlds_apart_everyPlaceSeesTheSame(int places) {
    for (int seed = 0; seed < 12; seed++) {
      World together = new World(seed, places);
      World apart = new World(seed, places);
      apart.sim.runApart(apart.graph());
      together.start();
      apart.start();
      together.sim.run();
      apart.sim.run();
      assertThat(apart.largestLeadPs).isPositive();
      assertThat(together.largestLeadPs).isZero();
      apart.sim.runTogether(0);
      assertThat(apart.seen).isEqualTo(together.seen);
      assertThat(apart.sim.nowPs()).isEqualTo(together.sim.nowPs());
      assertThat(apart.sim.eventCount()).isEqualTo(together.sim.eventCount()).isGreaterThan(places);
    }
  }

  /** Bounds do not creep through a long silence, and none rises for ever. */
  @Test
  void silence_ofAMillisecond_costsNoTime() {
    Simulation sim = new Simulation();
    List<Integer> handled = new ArrayList<>();
    int h = sim.register((kind, arg) -> handled.add(arg));
    int[] ring = IntStream.range(0, 500).toArray();
    int[] next = IntStream.range(0, 500).map(i -> (i + 1) % 500).toArray();
    long[] onePs = IntStream.range(0, 500).mapToLong(i -> 1).toArray();
    sim.runApart(Places.of(501, ring, next, onePs)); // the last place has no neighbours
    sim.schedule(400, 1_000_000_000, h, 0, 1);
    sim.schedule(7, 2_000_000_000, h, 0, 2);
    sim.schedule(500, 3_000_000_000L, h, 0, 3);
    sim.run();
    assertThat(handled).containsExactlyInAnyOrder(1, 2, 3);
    assertThat(sim.nowPs()).isIn(1_000_000_000L, 2_000_000_000L, 3_000_000_000L);
    sim.runTogether(0);
    assertThat(sim.nowPs()).isEqualTo(3_000_000_000L);
  }

  /** Places that only tell each other that nothing happens do not keep the others waiting. */
  @Test
  void idleRing_besideOthers_letsThemGoOn() {
    Simulation sim = new Simulation();
    int[] handled = new int[1];
    int h = sim.register((kind, arg) -> handled[0]++);
    int[] ring = IntStream.range(0, 128).toArray();
    int[] next = IntStream.range(0, 128).map(i -> (i + 1) % 128).toArray();
    long[] onePs = IntStream.range(0, 128).mapToLong(i -> 1).toArray();
    sim.runApart(Places.of(400, ring, next, onePs));
    sim.schedule(300, 10, h, 0, 0);
    sim.run();
    assertThat(handled[0]).isEqualTo(1);
  }

  @Test
  void runTogether_laterThanAllEvents_isThatLate() {
    Simulation sim = new Simulation();
    sim.runApart(Places.of(2, new int[] {0}, new int[] {1}, new long[] {5}));
    sim.runTogether(77);
    assertThat(sim.nowPs()).isEqualTo(77);
    assertThat(sim.isApart()).isFalse();
  }

  @Test
  void brokenPromise_isABug() {
    Simulation sim = new Simulation();
    int[] h = {0};
    h[0] =
        sim.register((kind, arg) -> {
          if (arg == 1) {
            sim.schedule(0, 11, h[0], 0, 2); // place 0 has been told of 1,000 at the soonest
          }
        });
    sim.runApart(Places.of(2, new int[] {1, 0}, new int[] {0, 1}, new long[] {1000, 1000}));
    sim.schedule(0, 20, h[0], 0, 0);
    sim.schedule(1, 10, h[0], 0, 1);
    assertThatThrownBy(sim::run)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("event for 11 ps comes to place 0, which is at 20 ps already");
  }

  @Test
  void lookaheadOfZero_isRefused() {
    assertThatThrownBy(() -> Places.of(2, new int[] {0}, new int[] {1}, new long[] {0}))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("lookahead from place 0 to place 1: got 0 ps");
  }

  @Test
  void runApart_withEventsQueued_isRefused() {
    Simulation sim = new Simulation();
    sim.schedule(5, sim.register((kind, arg) -> {}), 0, 0);
    Places places = Places.of(1, new int[0], new int[0], new long[0]);
    assertThatThrownBy(() -> sim.runApart(places)).isInstanceOf(IllegalStateException.class);
  }

  /**
   * Places on a ring with some chords; times are multiples of 10, so that events often meet. What
   * an event does depends on all that its place has seen before, so that two events in the wrong
   * order change everything after them.
   */
  private static final class World implements EventHandler {
    private static final long END_PS = 20_000;

    final Simulation sim = new Simulation();
    final List<List<Long>> seen = new ArrayList<>();
    long largestLeadPs;
    private final int handler = sim.register(this);
    private final int places;
    private final List<int[]> arcs = new ArrayList<>(); // from, to, lookahead
    private final long[] state;
    private final long[] count;
    private long lastPs;

    World(long seed, int places) {
      this.places = places;
      this.state = new long[places];
      this.count = new long[places];
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

    Places graph() {
      return Places.of(
          places,
          arcs.stream().mapToInt(a -> a[0]).toArray(),
          arcs.stream().mapToInt(a -> a[1]).toArray(),
          arcs.stream().mapToLong(a -> a[2]).toArray());
    }

    void start() {
      for (int p = 0; p < places; p++) {
        sim.schedule(p, 0, handler, 0, p);
      }
    }

    @Override
    public void onEvent(int kind, int p) {
      long now = sim.nowPs();
      largestLeadPs = Math.max(largestLeadPs, lastPs - now);
      lastPs = now;
      seen.get(p).add(now << 8 | kind);
      state[p] = (state[p] ^ (now << 8 | kind)) * 0x9E3779B97F4A7C15L;
      SplittableRandom random = new SplittableRandom(state[p]);
      if (now >= END_PS) {
        return;
      }
      if (kind == 0) { // the heart beat of the place: at its own pace, now and then at once
        sim.schedule(p, now + 10 * random.nextInt(30), handler, 0, p);
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
      sim.scheduleKeyed(to, timePs, ((long) from << 32) | count[from]++, handler, 1, to);
    }
  }
}
