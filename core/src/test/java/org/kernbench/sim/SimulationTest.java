package org.kernbench.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SimulationTest {
  /** What a handler saw. */
  private record Seen(long timePs, int handler, int kind, int arg) {}

  /** A world of handlers that note what they see. */
  private static final class World {
    final List<Seen> seen = new ArrayList<>();
    final Simulation sim;

    World(EventQueue queue) {
      sim = new Simulation(queue);
    }

    World() {
      this(new WheelEventQueue());
    }

    int handler() {
      int[] id = new int[1];
      id[0] = sim.register((kind, arg) -> seen.add(new Seen(sim.nowPs(), id[0], kind, arg)));
      return id[0];
    }

    List<Integer> args() {
      return seen.stream().map(Seen::arg).toList();
    }
  }

  @Test
  void run_differentTimes_handlesInOrderOfTime() {
    World w = new World();
    int h = w.handler();
    w.sim.schedule(3_000_000_000L, h, 0, 3);
    w.sim.schedule(0, h, 0, 1);
    w.sim.schedule(1_500, h, 0, 2);
    w.sim.run();
    assertThat(w.args()).containsExactly(1, 2, 3);
    assertThat(w.sim.nowPs()).isEqualTo(3_000_000_000L);
    assertThat(w.sim.eventCount()).isEqualTo(3);
  }

  @Test
  void run_sameTime_keyedByKeyThenOthersAsScheduled() {
    World w = new World();
    int h = w.handler();
    w.sim.schedule(10, h, 0, 100);
    w.sim.scheduleKeyed(10, 7, h, 0, 7);
    w.sim.schedule(10, h, 0, 101);
    w.sim.scheduleKeyed(10, (1L << 62) - 1, h, 0, 9);
    w.sim.scheduleKeyed(10, 0, h, 0, 0);
    w.sim.run();
    assertThat(w.args()).containsExactly(0, 7, 9, 100, 101);
  }

  /**
   * Also after what is to be last and after what comes of them, then by rank, whenever scheduled.
   */
  @Test
  void run_sameTime_afterAllInOrderOfRank() {
    World w = new World();
    int h = w.handler();
    int again = w.sim.register((kind, arg) -> w.sim.scheduleLast(w.sim.nowPs(), h, 0, 101));
    w.sim.scheduleAfterAll(10, 8, h, 0, 8);
    w.sim.scheduleAfterAll(10, 3, h, 0, 3);
    w.sim.scheduleLast(10, again, 0, 0);
    w.sim.scheduleLast(10, h, 0, 100);
    w.sim.scheduleAfterAll(9, 1L << 59, h, 0, 1);
    w.sim.schedule(10, h, 0, 5);
    w.sim.run();
    assertThat(w.args()).containsExactly(1, 5, 100, 101, 3, 8);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void finishPicosecond_handlesWhatIsLeftOfItAndNoMore(boolean wheel) {
    World w = new World(wheel ? new WheelEventQueue() : new HeapEventQueue());
    int h = w.handler();
    int again = w.sim.register((kind, arg) -> w.sim.schedule(w.sim.nowPs(), h, 0, 3));
    for (long time : new long[] {10, 5_000_000_000L}) {
      w.seen.clear();
      w.sim.schedule(time, h, 0, 1);
      w.sim.schedule(time, again, 0, 0);
      w.sim.scheduleKeyed(time + 1, 0, h, 0, 9);
      w.sim.step();
      w.sim.scheduleAfterAll(time, 0, h, 0, 4);
      w.sim.schedule(time, h, 0, 2);
      w.sim.finishPicosecond();
      assertThat(w.args()).containsExactly(1, 2, 3, 4);
      w.sim.finishPicosecond();
      assertThat(w.args()).hasSize(4);
      w.sim.run();
      assertThat(w.args()).containsExactly(1, 2, 3, 4, 9);
    }
  }

  @Test
  void run_sameTime_lastOnesAfterAllOthers() {
    World w = new World();
    int h = w.handler();
    int again = w.sim.register((kind, arg) -> w.sim.schedule(w.sim.nowPs(), h, 0, 5));
    w.sim.scheduleLast(10, h, 0, 100);
    w.sim.scheduleLast(10, h, 0, 101);
    w.sim.schedule(10, again, 0, 0);
    w.sim.scheduleLast(9, h, 0, 1);
    w.sim.scheduleKeyed(10, 7, h, 0, 7);
    w.sim.run();
    assertThat(w.args()).containsExactly(1, 7, 5, 100, 101);
  }

  @Test
  void run_handlerKindAndArg_arriveUnchanged() {
    World w = new World();
    int last = 0;
    for (int i = 0; i < 256; i++) {
      last = w.handler();
    }
    assertThat(last).isEqualTo(255);
    w.sim.schedule(1, 0, 0, Integer.MIN_VALUE);
    w.sim.schedule(2, last, 255, -1);
    w.sim.scheduleKeyed(3, 5, 17, 128, Integer.MAX_VALUE);
    w.sim.run();
    assertThat(w.seen)
        .containsExactly(
            new Seen(1, 0, 0, Integer.MIN_VALUE),
            new Seen(2, 255, 255, -1),
            new Seen(3, 17, 128, Integer.MAX_VALUE));
    assertThatThrownBy(w::handler)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("256");
  }

  @Test
  void schedule_beforeNow_isAnErrorThatNamesBothTimes() {
    Simulation sim = new Simulation();
    List<Throwable> thrown = new ArrayList<>();
    int h =
        sim.register((kind, arg) -> {
          if (kind == 0) {
            try {
              sim.schedule(4_999, 0, 1, 0);
            } catch (IllegalArgumentException e) {
              thrown.add(e);
            }
            sim.schedule(5_000, 0, 1, 0);
          }
        });
    sim.schedule(5_000, h, 0, 0);
    sim.run();
    assertThat(thrown).singleElement().asString().contains("4999 ps").contains("5000 ps");
    assertThat(sim.eventCount()).isEqualTo(2);
    assertThatThrownBy(() -> sim.scheduleKeyed(0, 0, h, 1, 0))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 256, Integer.MAX_VALUE})
  void schedule_kindOutOfRange_isRefused(int kind) {
    World w = new World();
    int h = w.handler();
    assertThatThrownBy(() -> w.sim.schedule(0, h, kind, 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("event kind: got " + kind + "; expected 0 to 255");
    w.sim.schedule(0, h, 255, 7);
    w.sim.run();
    assertThat(w.seen).containsExactly(new Seen(0, h, 255, 7));
  }

  @Test
  void step_nothingQueued_isFalseAndChangesNothing() {
    World w = new World();
    int h = w.handler();
    assertThat(w.sim.step()).isFalse();
    assertThat(w.sim.isQuiet()).isTrue();
    w.sim.schedule(8, h, 0, 0);
    assertThat(w.sim.isQuiet()).isFalse();
    assertThat(w.sim.step()).isTrue();
    assertThat(w.sim.step()).isFalse();
    assertThat(w.sim.nowPs()).isEqualTo(8);
    assertThat(w.sim.eventCount()).isEqualTo(1);
  }

  /** The rule in words, as slow as it gets: the next event is found by looking at all. */
  private static final class ObviousWorld {
    private record Pending(long timePs, boolean keyed, long keyOrTurn, int arg) {
      boolean before(Pending other) {
        if (timePs != other.timePs) {
          return timePs < other.timePs;
        }
        return keyed == other.keyed ? keyOrTurn < other.keyOrTurn : keyed;
      }
    }

    private final List<Pending> pending = new ArrayList<>();
    private long turn;

    void add(long timePs, int arg) {
      pending.add(new Pending(timePs, isKeyed(arg), isKeyed(arg) ? key(arg) : turn++, arg));
    }

    Pending next() {
      int first = 0;
      for (int i = 1; i < pending.size(); i++) {
        if (pending.get(i).before(pending.get(first))) {
          first = i;
        }
      }
      return pending.remove(first);
    }
  }

  private static boolean isKeyed(int arg) {
    return arg % 3 == 0;
  }

  private static long key(int arg) {
    return arg * 0x9E37_79B9_7F4A_7C15L & (1L << 62) - 1;
  }

  /** Event {@code arg} schedules up to two more; delays are short, so that times coincide. */
  private static long[] children(long seed, int arg) {
    SplittableRandom random = new SplittableRandom(seed * 1_000_003 + arg);
    long[] delays = new long[arg < 40 ? 2 : random.nextInt(3)];
    for (int i = 0; i < delays.length; i++) {
      delays[i] = random.nextInt(50) == 0 ? 5_000_000 : 500L * random.nextInt(6);
    }
    return delays;
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void run_randomCascade_matchesTheRuleLookedUpOneByOne(long seed) {
    List<Seen> expected = obviousCascade(seed);
    assertThat(expected).hasSize(3_000);
    assertThat(cascade(seed, new WheelEventQueue())).isEqualTo(expected);
    assertThat(cascade(seed, new HeapEventQueue())).isEqualTo(expected);
  }

  private static List<Seen> obviousCascade(long seed) {
    ObviousWorld world = new ObviousWorld();
    List<Seen> seen = new ArrayList<>();
    int scheduled = 0;
    world.add(0, scheduled++);
    while (!world.pending.isEmpty()) {
      ObviousWorld.Pending e = world.next();
      seen.add(new Seen(e.timePs, 0, 0, e.arg));
      for (long delay : children(seed, e.arg)) {
        if (scheduled < 3_000) {
          world.add(e.timePs + delay, scheduled++);
        }
      }
      if (world.pending.isEmpty() && scheduled < 3_000) {
        world.add(e.timePs, scheduled++);
      }
    }
    return seen;
  }

  private static List<Seen> cascade(long seed, EventQueue queue) {
    List<Seen> seen = new ArrayList<>();
    Simulation sim = new Simulation(queue);
    int[] scheduled = {0};
    sim.register((kind, arg) -> {
      seen.add(new Seen(sim.nowPs(), 0, kind, arg));
      for (long delay : children(seed, arg)) {
        if (scheduled[0] < 3_000) {
          add(sim, sim.nowPs() + delay, scheduled[0]++);
        }
      }
      if (sim.isQuiet() && scheduled[0] < 3_000) {
        add(sim, sim.nowPs(), scheduled[0]++);
      }
    });
    add(sim, 0, scheduled[0]++);
    sim.run();
    return seen;
  }

  private static void add(Simulation sim, long timePs, int arg) {
    if (isKeyed(arg)) {
      sim.scheduleKeyed(timePs, key(arg), 0, 0, arg);
    } else {
      sim.schedule(timePs, 0, 0, arg);
    }
  }
}
