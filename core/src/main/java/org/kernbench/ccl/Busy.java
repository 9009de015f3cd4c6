package org.kernbench.ccl;

import java.util.Arrays;

/**
 * When a link is taken: intervals without overlap, in order, those that touch made one. Requests
 * come in any order of time; each gets the first gap that is long enough.
 */
final class Busy {
  private long[] from = new long[4];
  private long[] to = new long[4];
  private int count;

  void clear() {
    count = 0;
  }

  /**
   * Takes the link for a time, and at least until {@code until}, as soon as it can be from {@code
   * earliest} on; returns the start.
   */
  long take(long earliest, long duration, long until) {
    int at = firstEndingAfter(earliest);
    long start = earliest;
    while (at < count && from[at] < Math.max(start + duration, until)) {
      start = to[at++];
    }
    insert(at, start, Math.max(start + duration, until));
    return start;
  }

  /** Requests come roughly in order of time, so it looks back from the end in growing strides. */
  private int firstEndingAfter(long time) {
    int high = count;
    int stride = 1;
    int low = high - 1;
    while (low >= 0 && to[low] > time) {
      high = low;
      low -= stride;
      stride *= 2;
    }
    low = Math.max(low + 1, 0);
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (to[middle] > time) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  private void insert(int at, long start, long end) {
    boolean touchesBefore = at > 0 && to[at - 1] == start;
    boolean touchesBehind = at < count && from[at] == end;
    if (touchesBefore && touchesBehind) {
      to[at - 1] = to[at];
      remove(at);
    } else if (touchesBefore) {
      to[at - 1] = end;
    } else if (touchesBehind) {
      from[at] = start;
    } else {
      add(at, start, end);
    }
  }

  private void add(int at, long start, long end) {
    if (count == from.length) {
      from = Arrays.copyOf(from, 2 * count);
      to = Arrays.copyOf(to, 2 * count);
    }
    System.arraycopy(from, at, from, at + 1, count - at);
    System.arraycopy(to, at, to, at + 1, count - at);
    from[at] = start;
    to[at] = end;
    count++;
  }

  private void remove(int at) {
    System.arraycopy(from, at + 1, from, at, count - at - 1);
    System.arraycopy(to, at + 1, to, at, count - at - 1);
    count--;
  }
}
