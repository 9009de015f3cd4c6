package org.kernbench.sim;

import java.util.Arrays;

/**
 * Events by place, which leave in order at each place, but not across places.
 *
 * <p>Problem: in a large world where all places are in step, the next event is always at another
 * place than the last, and between two visits to a place the records of all others go through the
 * cache. A thousand packages miss it at every access.
 *
 * <p>Choice: a place may run ahead of others as far as its {@link Places#horizonPs horizon}: no
 * place can schedule anything there that comes earlier. So each place still sees its own events in
 * the order that one queue would give them, and everything that follows from that is the same; only
 * which place goes first is different. (One exception: unkeyed events of one time at one place,
 * some of them scheduled from elsewhere, are in the order in which they were scheduled, which is
 * then another.) This is conservative parallel simulation (Chandy and Misra 1979, Bryant 1977) on
 * one thread, for locality instead of for cores.
 *
 * <p>Each place has a <em>bound</em>, a time before which nothing more will be done there: its next
 * event, or its horizon if that is nearer. Places are visited round and round in a group of
 * neighbours until their bounds have risen as far as the edges of the group let them, then in the
 * next group, which shares half of them; so the records of a group stay in the cache meanwhile.
 * Where nothing happens for long, bounds would rise by one lookahead a round: when all groups have
 * been idle, all bounds rise at once to the first event that is left. That is before the horizon of
 * its place, so there is always an event to handle while one is left.
 *
 * <p>What it saves is measured in docs/validation/speed.md.
 */
final class PlacedEventQueue {
  /** Places per group: with some kilobytes each they fit a second-level cache. */
  private static final int GROUP = 128;

  /** Rounds in a group without an event, bounds rising, after which the next group has its turn. */
  private static final int PATIENCE = 8;

  private static final int STRIDE = 3; // time, order, payload

  private final Places places;
  private final int count;

  // by place: its events, the first one last; and how much of that is filled
  private final long[][] events;
  private final int[] ends;

  private final long[] nextPs;
  private final long[] boundsPs;

  /** By place, the time of the event popped last. */
  private final long[] clocksPs;

  private int size;

  // the place that is visited, and its group: the first place, and how many are left in this round
  private int place;
  private long horizonPs;
  private int groupStart;
  private int groupLeft;

  // what has come of this round, and since when nothing has
  private boolean hasPopped;
  private boolean hasRisen;
  private int idleRounds;
  private int idlePlaces;

  private long timePs;
  private long order;
  private long payload;
  private long latestPs;

  /** No events, at a time. */
  PlacedEventQueue(Places places, long nowPs) {
    this.places = places;
    this.count = places.count();
    this.events = new long[count][8 * STRIDE];
    this.ends = new int[count];
    this.nextPs = new long[count];
    this.boundsPs = new long[count];
    this.clocksPs = new long[count];
    this.groupLeft = Math.min(count, GROUP);
    this.latestPs = nowPs;
    Arrays.fill(nextPs, Long.MAX_VALUE);
    Arrays.fill(boundsPs, nowPs);
    Arrays.fill(clocksPs, nowPs);
    this.horizonPs = places.horizonPs(0, boundsPs);
  }

  boolean isEmpty() {
    return size == 0;
  }

  /**
   * Adds an event.
   *
   * @throws IllegalStateException if the place has gone beyond that time, which its lookahead
   *     promised that it could
   */
  void push(int at, long time, long order, long what) {
    if (time < clocksPs[at]) {
      throw new IllegalStateException(
          "bug: an event for "
              + time
              + " ps comes to place "
              + at
              + ", which is at "
              + clocksPs[at]
              + " ps already");
    }
    long[] e = events[at];
    int end = ends[at];
    if (end == e.length) {
      e = Arrays.copyOf(e, end * 2);
      events[at] = e;
    }
    int i = end;
    while (i > 0 && isBefore(e, i - STRIDE, time, order)) {
      e[i] = e[i - STRIDE];
      e[i + 1] = e[i - STRIDE + 1];
      e[i + 2] = e[i - STRIDE + 2];
      i -= STRIDE;
    }
    e[i] = time;
    e[i + 1] = order;
    e[i + 2] = what;
    ends[at] = end + STRIDE;
    if (i == end) {
      nextPs[at] = time;
    }
    size++;
  }

  private static boolean isBefore(long[] e, int i, long time, long order) {
    return e[i] < time || (e[i] == time && e[i + 1] < order);
  }

  /** Removes the next event of some place; there is one. */
  void pop() {
    while (nextPs[place] >= horizonPs) {
      leave();
    }
    final long[] e = events[place];
    final int end = ends[place] - STRIDE;
    ends[place] = end;
    timePs = e[end];
    order = e[end + 1];
    payload = e[end + 2];
    nextPs[place] = end == 0 ? Long.MAX_VALUE : e[end - STRIDE];
    clocksPs[place] = timePs;
    latestPs = Math.max(latestPs, timePs);
    hasPopped = true;
    size--;
  }

  /** Nothing more is to be done at this place before its horizon. */
  private void leave() {
    hasRisen |= horizonPs > boundsPs[place];
    boundsPs[place] = horizonPs;
    place = place + 1 == count ? 0 : place + 1;
    groupLeft--;
    if (groupLeft == 0) {
      endRound();
    }
    horizonPs = places.horizonPs(place, boundsPs);
  }

  private void endRound() {
    idleRounds = hasPopped ? 0 : idleRounds + 1;
    idlePlaces = hasPopped ? 0 : idlePlaces;
    if (!hasRisen || idleRounds == PATIENCE) {
      idleRounds = 0;
      groupStart = (groupStart + GROUP / 2) % count;
      idlePlaces += GROUP / 2;
      if (idlePlaces > count) {
        idlePlaces = 0;
        raiseToFirstEvent();
      }
    }
    hasPopped = false;
    hasRisen = false;
    place = groupStart;
    groupLeft = Math.min(count, GROUP);
  }

  private void raiseToFirstEvent() {
    long first = Long.MAX_VALUE;
    for (long next : nextPs) {
      first = Math.min(first, next);
    }
    for (int p = 0; p < count; p++) {
      boundsPs[p] = Math.max(boundsPs[p], first);
    }
  }

  long timePs() {
    return timePs;
  }

  long order() {
    return order;
  }

  long payload() {
    return payload;
  }

  /** The latest time of all events popped. */
  long latestPs() {
    return latestPs;
  }
}
