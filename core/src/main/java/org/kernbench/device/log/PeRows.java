package org.kernbench.device.log;

import java.util.Arrays;
import java.util.function.IntUnaryOperator;

/**
 * The operations of one PE in {@link OpRows}: as they end, with their ids and times of the clock;
 * then in the order in which they were issued, with times relative to a start.
 */
final class PeRows {
  static final int ISSUE = 0;
  static final int START = 1;
  static final int END = 2;
  static final int CONTENTION = 3;
  private static final int TIMES = 4;

  private static final int INTS = 4; // as they end: id, ordinal, kind, operation of the cause
  private static final int ID = 0;
  private static final int ORDINAL = 1;
  private static final int KIND = 2;
  private static final int CAUSE = 3;
  private static final int KEPT = 2; // then: kind, row of the cause

  /** What is added to a row of another PE, so that it is below -1, which stands for none. */
  private static final int ELSEWHERE = Integer.MIN_VALUE;

  private int[] words = new int[4 * INTS];
  private long[] times = new long[4 * TIMES];

  /** The times once they are relative, unless one is too long for that. */
  private int[] shortTimes = new int[0];

  private int[] ids = new int[0];
  private int size;

  void add(
      int id,
      int ordinal,
      int kind,
      int causeOp,
      long issuePs,
      long startPs,
      long endPs,
      long contentionPs) {
    if (size * INTS == words.length) {
      words = Arrays.copyOf(words, words.length * 2);
      times = Arrays.copyOf(times, times.length * 2);
    }
    int w = size * INTS;
    words[w + ID] = id;
    words[w + ORDINAL] = ordinal;
    words[w + KIND] = kind;
    words[w + CAUSE] = causeOp;
    int t = size * TIMES;
    times[t + ISSUE] = issuePs;
    times[t + START] = startPs;
    times[t + END] = endPs;
    times[t + CONTENTION] = contentionPs;
    size++;
  }

  int size() {
    return size;
  }

  /** The row that an operation will have, which has been added, mostly as one of the last. */
  int rowToBe(int id, int firstOrdinal) {
    for (int w = (size - 1) * INTS; w >= 0; w -= INTS) {
      if (words[w + ID] == id) {
        return words[w + ORDINAL] - firstOrdinal;
      }
    }
    return -1;
  }

  /**
   * Puts them in order; what they waited for is then said by {@link #find}.
   *
   * @return false if a command is missing
   */
  boolean finish(int firstOrdinal, long startPs) {
    long[] order = new long[size];
    for (int i = 0; i < size; i++) {
      order[i] = ((long) words[i * INTS + ID] << 32) | i;
    }
    Arrays.sort(order);
    ids = new int[size];
    for (int row = 0; row < size; row++) {
      ids[row] = (int) (order[row] >> 32);
    }
    int[] kept = new int[size * KEPT];
    long[] relative = new long[size * TIMES];
    boolean isShort = true;
    for (int row = 0; row < size; row++) {
      int w = (int) order[row] * INTS;
      if (words[w + ORDINAL] != firstOrdinal + row) {
        return false;
      }
      kept[row * KEPT] = words[w + KIND];
      kept[row * KEPT + 1] = words[w + CAUSE];
      int t = (int) order[row] * TIMES;
      for (int i = 0; i < TIMES; i++) {
        long time = times[t + i] - (i == CONTENTION ? 0 : startPs);
        relative[row * TIMES + i] = time;
        isShort &= time == (int) time;
      }
    }
    words = kept;
    times = relative;
    if (isShort) {
      shortTimes = new int[relative.length];
      for (int i = 0; i < relative.length; i++) {
        shortTimes[i] = (int) relative[i];
      }
      times = new long[0];
    }
    return true;
  }

  /**
   * Rows instead of the operations that they waited for: those of the PE as counted there, others
   * as {@link #elsewhere} says.
   *
   * @param others the row of an operation among those of all PEs; negative if it has none
   * @return false if one waited for an operation that is not among them
   */
  boolean find(IntUnaryOperator others) {
    for (int row = 0; row < size; row++) {
      int causeOp = words[row * KEPT + 1];
      int cause = causeOp < 0 ? causeOp : indexOf(causeOp);
      if (causeOp >= 0 && cause < 0) {
        int other = others.applyAsInt(causeOp);
        if (other < 0) {
          return false;
        }
        cause = ELSEWHERE + other;
      }
      words[row * KEPT + 1] = cause;
    }
    return true;
  }

  /** The row of a cause among those of all PEs, if it is of another PE; else negative. */
  static int elsewhere(int cause) {
    return cause < -1 ? cause - ELSEWHERE : -1;
  }

  int id(int row) {
    return ids[row];
  }

  /** The row of an operation; -1 for none. */
  int indexOf(int id) {
    return Math.max(-1, Arrays.binarySearch(ids, id));
  }

  void forgetIds() {
    ids = new int[0];
  }

  int kind(int row) {
    return words[row * KEPT];
  }

  int cause(int row) {
    return words[row * KEPT + 1];
  }

  long time(int row, int which) {
    int at = row * TIMES + which;
    return times.length == 0 ? shortTimes[at] : times[at];
  }
}
