package org.kernbench.torch.collective;

import java.util.Arrays;
import java.util.List;

/**
 * How many elements each rank of an all-to-all sends to each rank. A rank's input holds its blocks
 * in the order of the ranks they go to, its output in the order of those they come from.
 */
public final class Splits {
  /** Of operations that have none. */
  public static final Splits NONE = new Splits(0, 0, new long[0][]);

  private final int ranks;
  private final long even;
  private final long[][] sends; // empty if all blocks are even

  private Splits(int ranks, long even, long[][] sends) {
    this.ranks = ranks;
    this.even = even;
    this.sends = sends;
  }

  /** Every rank sends as much to each. */
  public static Splits even(int ranks, long elements) {
    return new Splits(ranks, elements, new long[0][]);
  }

  /**
   * What each rank sends.
   *
   * @param sends by sender: elements for each rank
   */
  public static Splits of(List<long[]> sends) {
    long[][] rows = new long[sends.size()][];
    for (int src = 0; src < rows.length; src++) {
      rows[src] = sends.get(src).clone();
      if (rows[src].length != rows.length) {
        throw new IllegalArgumentException(
            "rank " + src + " sends " + rows[src].length + " blocks; expected " + rows.length);
      }
      for (long count : rows[src]) {
        if (count < 0) {
          throw new IllegalArgumentException("rank " + src + " sends " + count + " elements");
        }
      }
    }
    return new Splits(rows.length, 0, rows);
  }

  /** Number of ranks; 0 for {@link #NONE}. */
  public int ranks() {
    return ranks;
  }

  /** Elements that one rank sends to another. */
  public long count(int src, int dst) {
    return sends.length == 0 ? even : sends[src][dst];
  }

  /** All that a rank sends. */
  public long sent(int src) {
    return sendStart(src, ranks);
  }

  /** All that a rank receives. */
  public long received(int dst) {
    return receiveStart(dst, ranks);
  }

  /** Where in {@code src}'s input the block for {@code dst} begins. Takes {@code dst} steps. */
  public long sendStart(int src, int dst) {
    if (sends.length == 0) {
      return even * dst;
    }
    long start = 0;
    for (int i = 0; i < dst; i++) {
      start += sends[src][i];
    }
    return start;
  }

  /** Where in {@code dst}'s output the block from {@code src} begins. Takes {@code src} steps. */
  public long receiveStart(int dst, int src) {
    if (sends.length == 0) {
      return even * src;
    }
    long start = 0;
    for (int i = 0; i < src; i++) {
      start += sends[i][dst];
    }
    return start;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Splits s
        && s.ranks == ranks
        && s.even == even
        && Arrays.deepEquals(s.sends, sends);
  }

  @Override
  public int hashCode() {
    return Arrays.deepHashCode(sends) * 31 + Long.hashCode(even) + ranks;
  }

  /** For example {@code even 4} or {@code [[1, 0], [2, 3]]}. */
  @Override
  public String toString() {
    return sends.length == 0 ? "even " + even : Arrays.deepToString(sends);
  }
}
