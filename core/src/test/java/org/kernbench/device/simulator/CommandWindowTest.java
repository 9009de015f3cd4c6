package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A window beside a list of all commands, searched each time. */
final class CommandWindowTest {
  @Test
  void anyOrderOfCompletions_roomIsMadeWhenHalfIsComplete() {
    Random random = new Random(7);
    for (int size : new int[] {2, 3, 8, 16, 17, 64, 1000}) {
      CommandWindow window = new CommandWindow(size);
      List<Long> ends = new ArrayList<>(); // by command; null while it is under way
      List<Integer> open = new ArrayList<>();
      for (int turn = 0; turn < 20; turn++) {
        while (!window.isFull()) {
          open.add((int) window.enter());
          ends.add(null);
        }
        assertThat(left(ends)).isEqualTo(ends.size() - size);
        while (!window.isHalfFree()) {
          int number = open.remove(random.nextInt(open.size()));
          long end = random.nextInt(1_000_000);
          ends.set(number, end);
          window.complete(number, end, number);
          assertThat(window.isHalfFree()).isEqualTo(ends.size() - left(ends) <= size / 2);
        }
        long latest = 0;
        for (int i = 0; i < ends.size() - size / 2; i++) {
          latest = Math.max(latest, ends.get(i));
        }
        assertThat(window.halfFreePs()).isEqualTo(latest);
      }
    }
  }

  /** Commands that are complete, and all before them. */
  private static int left(List<Long> ends) {
    int left = 0;
    while (left < ends.size() && ends.get(left) != null) {
      left++;
    }
    return left;
  }

  @Test
  void largeWindow_ofFewCommands_takesNoMemory() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes(); // other threads allocate meanwhile
    CommandWindow[] windows = new CommandWindow[10_000];
    for (int i = 0; i < windows.length; i++) {
      windows[i] = new CommandWindow(1 << 20);
      windows[i].enter();
    }
    long used = threads.getCurrentThreadAllocatedBytes() - before;
    assertThat(used / windows.length).isLessThan(2048); // 32 MiB each if it were taken at once
    assertThat(windows[0].isFull()).isFalse();
  }
}
