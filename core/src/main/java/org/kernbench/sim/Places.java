package org.kernbench.sim;

import java.util.Arrays;

/**
 * The places of a world and how soon they can matter to each other: whatever is done at one place
 * at time {@code t} schedules nothing at a neighbour before {@code t + lookahead}, and nothing at
 * any other place before {@code t} and the lookaheads of all arcs on some way there. (Logical
 * processes with lookahead, in the words of parallel simulation.)
 */
public final class Places {
  /** Later than any event, and so that a lookahead can be added. */
  static final long FAR_PS = Long.MAX_VALUE / 4;

  private final int count;

  // arcs by the place that they lead to: of place p those from start[p] to start[p + 1]
  private final int[] start;
  private final int[] from;
  private final long[] lookaheadPs;

  private Places(int count, int[] start, int[] from, long[] lookaheadPs) {
    this.count = count;
    this.start = start;
    this.from = from;
    this.lookaheadPs = lookaheadPs;
  }

  /**
   * Places and the arcs between them.
   *
   * @param count how many places, numbered from 0; at least 1
   * @param from by arc, the place where something is done
   * @param to by arc, the neighbour to which it can matter
   * @param lookaheadPs by arc, after how many picoseconds at the soonest; above 0
   * @throws IllegalArgumentException if a lookahead is not above 0
   */
  public static Places of(int count, int[] from, int[] to, long[] lookaheadPs) {
    int[] start = new int[count + 1];
    for (int arc = 0; arc < to.length; arc++) {
      if (lookaheadPs[arc] <= 0) {
        throw new IllegalArgumentException(
            "lookahead from place %s to place %s: got %s ps; expected more than 0"
                .formatted(from[arc], to[arc], lookaheadPs[arc]));
      }
      start[to[arc] + 1]++;
    }
    for (int p = 0; p < count; p++) {
      start[p + 1] += start[p];
    }
    int[] sources = new int[from.length];
    long[] delays = new long[from.length];
    int[] next = Arrays.copyOf(start, count);
    for (int arc = 0; arc < to.length; arc++) {
      int at = next[to[arc]]++;
      sources[at] = from[arc];
      delays[at] = lookaheadPs[arc];
    }
    return new Places(count, start, sources, delays);
  }

  /** How many there are. */
  public int count() {
    return count;
  }

  /** Hears of arcs. */
  interface ArcVisitor {
    void arc(int from, long lookaheadPs);
  }

  /** Names the arcs that lead to a place. */
  void arcsTo(int place, ArcVisitor visitor) {
    for (int arc = start[place]; arc < start[place + 1]; arc++) {
      visitor.arc(from[arc], lookaheadPs[arc]);
    }
  }
}
