package org.kernbench.ccl.flow;

import java.util.Arrays;

/**
 * When a link is taken: intervals without overlap, in order, those that touch made one. Requests
 * come in any order of time; each gets the first gap that is long enough.
 */
final class Busy {
  private long[] from = new long[4];
  private long[] to = new long[4];

  /** Until when the last chunk of each interval lets no other begin; at least its end. */
  private long[] held = new long[4];

  private int count;
  private long waitedPs;

  void clear() {
    count = 0;
    waitedPs = 0;
  }

  /** What chunks waited in all, those too that were there before one that asked later. */
  long waitedPs() {
    return waitedPs;
  }

  /**
   * Takes the link for a time, as soon as it can be from {@code earliest} on; returns the start.
   *
   * <p>A chunk whose tail is still on its way when the link would be done with it, because a link
   * before was slower, lets no other begin until {@code until}, but costs it nothing else: a chunk
   * that waits meanwhile is complete and follows at once. So the time of the tail is no work of the
   * link, and one that asks later for a time before finds its gap.
   */
  long take(long earliest, long duration, long until) {
    int at = firstEndingAfter(earliest);
    long start = at > 0 ? Math.max(earliest, held[at - 1]) : earliest;
    while (at < count && from[at] < start + duration) {
      start = Math.max(start, to[at++]);
    }
    long tail = Math.max(start + duration, until);
    waitedPs += start - earliest + (at < count ? Math.max(0, tail - from[at]) : 0);
    insert(at, start, start + duration, tail);
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

  private void insert(int at, long start, long end, long until) {
    boolean touchesBefore = at > 0 && to[at - 1] == start;
    boolean touchesBehind = at < count && from[at] == end;
    if (touchesBefore && touchesBehind) {
      to[at - 1] = to[at];
      held[at - 1] = Math.max(held[at], until);
      remove(at);
    } else if (touchesBefore) {
      to[at - 1] = end;
      held[at - 1] = Math.max(held[at - 1], until);
    } else if (touchesBehind) {
      from[at] = start;
      held[at] = Math.max(held[at], until);
    } else {
      add(at, start, end, until);
    }
  }

  private void add(int at, long start, long end, long until) {
    if (count == from.length) {
      from = Arrays.copyOf(from, 2 * count);
      to = Arrays.copyOf(to, 2 * count);
      held = Arrays.copyOf(held, 2 * count);
    }
    System.arraycopy(from, at, from, at + 1, count - at);
    System.arraycopy(to, at, to, at + 1, count - at);
    System.arraycopy(held, at, held, at + 1, count - at);
    from[at] = start;
    to[at] = end;
    held[at] = until;
    count++;
  }

  private void remove(int at) {
    System.arraycopy(from, at + 1, from, at, count - at - 1);
    System.arraycopy(to, at + 1, to, at, count - at - 1);
    System.arraycopy(held, at + 1, held, at, count - at - 1);
    count--;
  }
}
