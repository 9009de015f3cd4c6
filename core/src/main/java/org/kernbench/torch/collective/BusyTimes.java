package org.kernbench.torch.collective;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;

/** When kernels that are no collectives ran on each device. */
public final class BusyTimes {
  private final @Nullable Spans[] devices;

  public BusyTimes(int devices) {
    this.devices = new Spans[devices];
  }

  /** A kernel runs on a device. */
  public void add(int device, Launch launch) {
    Spans spans = devices[device];
    if (spans == null) {
      spans = new Spans();
      devices[device] = spans;
    }
    spans.add(launch);
  }

  /** How much of the time from {@code startPs} to {@code endPs} a kernel ran on a device. */
  long busyPs(int device, long startPs, long endPs) {
    Spans spans = devices[device];
    return spans == null ? 0 : spans.busyPs(startPs, endPs);
  }

  /** The times of one device: disjoint, ascending. */
  private static final class Spans {
    private static final int OPEN = 32;

    private final List<Launch> open = new ArrayList<>();
    private long[] bounds = new long[4]; // start, end, start, end, ...
    private int count;

    void add(Launch launch) {
      if (open.size() >= OPEN) {
        settle();
      }
      open.add(launch);
    }

    /** Turns launches that are done into times. */
    private void settle() {
      for (Launch l : open) {
        if (l.isDone()) {
          insert(l.startPs(), l.endPs());
        }
      }
      open.removeIf(Launch::isDone);
    }

    /** Almost always at the end: a device runs its kernels one after the other. */
    private void insert(long start, long end) {
      int at = count;
      while (at > 0 && bounds[at - 2] > start) {
        at -= 2;
      }
      if (count + 2 > bounds.length) {
        bounds = Arrays.copyOf(bounds, 2 * bounds.length);
      }
      System.arraycopy(bounds, at, bounds, at + 2, count - at);
      bounds[at] = start;
      bounds[at + 1] = end;
      count += 2;
      if (at > 0 && bounds[at - 1] >= start) {
        at -= 2;
      }
      while (at + 2 < count && bounds[at + 2] <= bounds[at + 1]) {
        bounds[at + 1] = Math.max(bounds[at + 1], bounds[at + 3]);
        System.arraycopy(bounds, at + 4, bounds, at + 2, count - at - 4);
        count -= 2;
      }
    }

    long busyPs(long from, long to) {
      settle();
      long busy = 0;
      for (int i = firstEndingAfter(from); i < count && bounds[i] < to; i += 2) {
        busy += Math.min(to, bounds[i + 1]) - Math.max(from, bounds[i]);
      }
      return busy;
    }

    private int firstEndingAfter(long time) {
      int low = 0;
      int high = count / 2;
      while (low < high) {
        int mid = (low + high) >>> 1;
        if (bounds[2 * mid + 1] > time) {
          high = mid;
        } else {
          low = mid + 1;
        }
      }
      return 2 * low;
    }
  }
}
