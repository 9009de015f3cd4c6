package org.kernbench.torch.collective;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Launch;
import org.kernbench.machine.Pe;

/** Times that devices are busy, beside a slow twin that has a bit for each picosecond. */
final class BusyTimesTest {
  private static final int END = 400;

  /** A launch of which only the time counts; it may be done later than it is added. */
  private static final class Timed implements Launch {
    private final long startPs;
    private final long endPs;
    private boolean done;

    Timed(long startPs, long endPs, boolean done) {
      this.startPs = startPs;
      this.endPs = endPs;
      this.done = done;
    }

    @Override
    public String name() {
      return "timed";
    }

    @Override
    public List<Pe> pes() {
      return List.of();
    }

    @Override
    public int id() {
      return -1;
    }

    @Override
    public int stream() {
      return 0;
    }

    @Override
    public boolean isDone() {
      return done;
    }

    @Override
    public long enqueuedPs() {
      return startPs;
    }

    @Override
    public long startPs() {
      return startPs;
    }

    @Override
    public long criticalPs() {
      return endPs - startPs;
    }

    @Override
    public long endPs() {
      return endPs;
    }

    @Override
    public int criticalOp() {
      return -1;
    }
  }

  private static void compare(BusyTimes times, int device, BitSet twin) {
    for (int from = 0; from <= END; from += 7) {
      for (int to = from; to <= END; to += 13) {
        assertThat(times.busyPs(device, from, to))
            .as("%s to %s", from, to)
            .isEqualTo(twin.get(from, to).cardinality());
      }
    }
  }

  /** Many more than are kept open, in any order, that overlap, touch and lie in one another. */
  @Test
  void randomLaunches_countAsTheirUnion() {
    Random random = new Random(3);
    for (int trial = 0; trial < 60; trial++) {
      BusyTimes times = new BusyTimes(2);
      BitSet twin = new BitSet();
      int count = 1 + random.nextInt(90);
      int longest = trial % 2 == 0 ? 5 : 60;
      for (int i = 0; i < count; i++) {
        int start = random.nextInt(END - longest);
        int end = start + 1 + random.nextInt(longest);
        times.add(1, new Timed(start, end, true));
        twin.set(start, end);
      }
      compare(times, 1, twin);
      assertThat(times.busyPs(0, 0, END)).isZero();
    }
  }

  /** One after the other, as a device runs them: touching, and apart by one. */
  @Test
  void neighbours_areCountedOnce() {
    BusyTimes times = new BusyTimes(1);
    BitSet twin = new BitSet();
    for (int start = 0; start < END - 10; start += start % 3 == 0 ? 4 : 5) {
      times.add(0, new Timed(start, start + 4, true));
      twin.set(start, start + 4);
    }
    compare(times, 0, twin);
  }

  /** What is not done counts from the moment it is, however many came after it. */
  @Test
  void launch_countsOnceItIsDone() {
    BusyTimes times = new BusyTimes(1);
    BitSet twin = new BitSet();
    List<Timed> late = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      Timed launch = new Timed(3 * i, 3 * i + 2, i % 4 != 1);
      times.add(0, launch);
      if (launch.done) {
        twin.set(3 * i, 3 * i + 2);
      } else {
        late.add(launch);
      }
    }
    compare(times, 0, twin);
    for (Timed launch : late) {
      launch.done = true;
      twin.set((int) launch.startPs, (int) launch.endPs);
    }
    compare(times, 0, twin);
  }
}
