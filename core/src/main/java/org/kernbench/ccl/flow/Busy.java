package org.kernbench.ccl.flow;

import java.util.Arrays;

/**
 * When a link is taken: intervals without overlap, in order, those that touch made one. Requests
 * come in any order of time; each gets the first gap that is long enough.
 *
 * <p>A forecast asks some ten thousand links in turn, so each question finds its link's intervals
 * out of the caches: what belongs to one interval lies side by side.
 */
final class Busy {
  /** From, to, and until when its last chunk lets no other begin, which is at least its end. */
  private static final int FIELDS = 3;

  private static final int TO = 1;
  private static final int HELD = 2;
  private static final long[] NONE = {};

  private long[] spans = NONE;
  private int count;
  private long waitedPs;

  void clear() {
    count = 0;
    waitedPs = 0;
  }

  /** Forgets all that was taken, and gives up the room for intervals. */
  void forget() {
    clear();
    spans = NONE;
  }

  /** Intervals for which there is room. */
  int room() {
    return spans.length / FIELDS;
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
    long start = at > 0 ? Math.max(earliest, held(at - 1)) : earliest;
    while (at < count && from(at) < start + duration) {
      start = Math.max(start, to(at++));
    }
    long tail = Math.max(start + duration, until);
    waitedPs += start - earliest + (at < count ? Math.max(0, tail - from(at)) : 0);
    insert(at, start, start + duration, tail);
    return start;
  }

  private long from(int at) {
    return spans[FIELDS * at];
  }

  private long to(int at) {
    return spans[FIELDS * at + TO];
  }

  private long held(int at) {
    return spans[FIELDS * at + HELD];
  }

  /** Requests come roughly in order of time, so it looks back from the end in growing strides. */
  private int firstEndingAfter(long time) {
    int high = count;
    int stride = 1;
    int low = high - 1;
    while (low >= 0 && to(low) > time) {
      high = low;
      low -= stride;
      stride *= 2;
    }
    low = Math.max(low + 1, 0);
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (to(middle) > time) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  private void insert(int at, long start, long end, long until) {
    boolean touchesBefore = at > 0 && to(at - 1) == start;
    boolean touchesBehind = at < count && from(at) == end;
    int here = FIELDS * at;
    int before = here - FIELDS;
    if (touchesBefore && touchesBehind) {
      spans[before + TO] = spans[here + TO];
      spans[before + HELD] = Math.max(spans[here + HELD], until);
      System.arraycopy(spans, here + FIELDS, spans, here, FIELDS * (--count - at));
    } else if (touchesBefore) {
      spans[before + TO] = end;
      spans[before + HELD] = Math.max(spans[before + HELD], until);
    } else if (touchesBehind) {
      spans[here] = start;
      spans[here + HELD] = Math.max(spans[here + HELD], until);
    } else {
      add(at, start, end, until);
    }
  }

  private void add(int at, long start, long end, long until) {
    if (FIELDS * count == spans.length) {
      spans = Arrays.copyOf(spans, FIELDS * Math.max(4, 2 * count));
    }
    int here = FIELDS * at;
    System.arraycopy(spans, here, spans, here + FIELDS, FIELDS * (count - at));
    spans[here] = start;
    spans[here + TO] = end;
    spans[here + HELD] = until;
    count++;
  }
}
