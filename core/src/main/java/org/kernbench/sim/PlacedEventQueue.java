package org.kernbench.sim;

import java.util.Arrays;

/** Events of some neighbouring places: each place has its own, in order. */
final class PlacedEventQueue {
  private static final int STRIDE = 3; // time, order, payload

  // by place: its events, the first one last; how much of that is filled; and when the first is
  private final long[][] events;
  private final int[] ends;
  private final long[] nextPs;

  /** By place, the time of the event popped last. */
  private final long[] clocksPs;

  private final int firstPlace;

  /**
   * No events, at a time.
   *
   * @param firstPlace the number of the first of the places, for messages; here they begin at 0
   */
  PlacedEventQueue(int firstPlace, int count, long nowPs) {
    this.firstPlace = firstPlace;
    this.events = new long[count][8 * STRIDE];
    this.ends = new int[count];
    this.nextPs = new long[count];
    this.clocksPs = new long[count];
    Arrays.fill(nextPs, Long.MAX_VALUE);
    Arrays.fill(clocksPs, nowPs);
  }

  /**
   * Adds an event.
   *
   * @throws IllegalStateException if the place has gone beyond that time, which its lookahead
   *     promised that it could
   */
  void push(int place, long timePs, long eventOrder, long what) {
    if (timePs < clocksPs[place]) {
      throw new IllegalStateException(
          "bug: an event for %s ps comes to place %s, which is at %s ps already"
              .formatted(timePs, firstPlace + place, clocksPs[place]));
    }
    long[] e = events[place];
    int end = ends[place];
    if (end == e.length) {
      e = Arrays.copyOf(e, end * 2);
      events[place] = e;
    }
    int i = end;
    while (i > 0 && isBefore(e, i - STRIDE, timePs, eventOrder)) {
      e[i] = e[i - STRIDE];
      e[i + 1] = e[i - STRIDE + 1];
      e[i + 2] = e[i - STRIDE + 2];
      i -= STRIDE;
    }
    e[i] = timePs;
    e[i + 1] = eventOrder;
    e[i + 2] = what;
    ends[place] = end + STRIDE;
    if (i == end) {
      nextPs[place] = timePs;
    }
  }

  private static boolean isBefore(long[] e, int i, long time, long order) {
    return e[i] < time || (e[i] == time && e[i + 1] < order);
  }

  /** When the next event of a place is; {@link Long#MAX_VALUE} if it has none. */
  long nextPs(int place) {
    return nextPs[place];
  }

  /** Removes the next event of a place, which has one, and returns its payload. */
  long pop(int place) {
    final long[] e = events[place];
    final int end = ends[place] - STRIDE;
    ends[place] = end;
    clocksPs[place] = e[end];
    nextPs[place] = end == 0 ? Long.MAX_VALUE : e[end - STRIDE];
    return e[end + 2];
  }

  /** The latest time of all events popped, or that it began with. */
  long latestPs() {
    long latest = Long.MIN_VALUE;
    for (long clock : clocksPs) {
      latest = Math.max(latest, clock);
    }
    return latest;
  }
}
