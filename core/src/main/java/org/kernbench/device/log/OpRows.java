package org.kernbench.device.log;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a stretch of launches, relative to its start, so that they can be written again for
 * another that does the same: operations, and how their bytes moved. Rows of one PE follow one
 * another.
 */
public final class OpRows {
  private static final int LONGS = 6; // issue, start, end, contention, serialisation, translation
  private static final int INTS = 10;

  // words of a row
  private static final int ID = 0;
  private static final int ORDINAL = 1;
  private static final int SLOT = 2;
  private static final int WHAT = 3; // kind | cause << 8
  private static final int CAUSE_OP = 4;
  private static final int BYTES = 5;
  private static final int PLACE = 6;
  private static final int LINE = 7;
  private static final int WORK = 8;
  private static final int MEMBER = 9;

  private long[] times = new long[16 * LONGS];

  /** The same once they are relative, unless one is too long for that; it has half the size. */
  private int[] shortTimes = new int[0];

  private int[] words = new int[16 * INTS];
  private int size;

  /** By PE of the launch, its first row; then their number. */
  private int[] first = new int[0];

  private TransferLog.@Nullable Excerpt moves;

  /** Number of operations. */
  public int size() {
    return size;
  }

  /** Operations of a PE of the launch. */
  public int size(int slot) {
    return first[slot + 1] - first[slot];
  }

  /**
   * Notes an operation as the log has it.
   *
   * @param slot number of its PE in the stretch
   * @param member number of its launch in the stretch
   */
  public void add(
      int id,
      int ordinal,
      int slot,
      int member,
      OpKind kind,
      Cause cause,
      int causeOp,
      int bytes,
      int place,
      int line,
      int work,
      long issuePs,
      long startPs,
      long endPs,
      long contentionPs,
      long serialisationPs,
      long translationPs) {
    if (size * INTS == words.length) {
      words = Arrays.copyOf(words, words.length * 2);
      times = Arrays.copyOf(times, times.length * 2);
    }
    int w = size * INTS;
    words[w + ID] = id;
    words[w + ORDINAL] = ordinal;
    words[w + SLOT] = slot;
    words[w + WHAT] = kind.ordinal() | cause.ordinal() << 8;
    words[w + CAUSE_OP] = causeOp;
    words[w + BYTES] = bytes;
    words[w + PLACE] = place;
    words[w + LINE] = line;
    words[w + WORK] = work;
    words[w + MEMBER] = member;
    int t = size * LONGS;
    times[t] = issuePs;
    times[t + 1] = startPs;
    times[t + 2] = endPs;
    times[t + 3] = contentionPs;
    times[t + 4] = serialisationPs;
    times[t + 5] = translationPs;
    size++;
  }

  /**
   * All operations have been noted: makes them relative.
   *
   * @param ordinals the number of the first command of each PE
   * @param startPs of the stretch
   * @param log where they are, as {@code firstMove} of it was at the start
   * @return false if an operation waited for one of another stretch or PE
   */
  public boolean finish(int[] ordinals, long startPs, OpLog log, int firstMove) {
    int[] order = order(ordinals.length);
    int[] rowOf = new int[idsNoted];
    Arrays.fill(rowOf, -1);
    for (int row = 0; row < size; row++) {
      rowOf[words[order[row] * INTS + ID] - firstId] = row;
    }
    int[] sorted = new int[size * INTS];
    long[] relative = new long[size * LONGS];
    for (int row = 0; row < size; row++) {
      int w = row * INTS;
      int t = row * LONGS;
      System.arraycopy(words, order[row] * INTS, sorted, w, INTS);
      System.arraycopy(times, order[row] * LONGS, relative, t, LONGS);
      int slot = sorted[w + SLOT];
      sorted[w + ORDINAL] -= ordinals[slot];
      if (sorted[w + CAUSE_OP] >= 0) {
        int id = sorted[w + CAUSE_OP] - firstId;
        int cause = id < 0 || id >= idsNoted ? -1 : rowOf[id];
        if (cause < first[slot] || cause >= first[slot + 1]) {
          return false;
        }
        sorted[w + CAUSE_OP] = cause;
      }
      for (int i = 0; i < 3; i++) {
        relative[t + i] -= startPs;
      }
    }
    if (log.transfers().isComplete()) {
      moves = log.transfers().excerpt(rowsById(sorted), firstMove, startPs);
    }
    words = sorted;
    times = relative;
    shorten();
    return true;
  }

  private void shorten() {
    for (long time : times) {
      if (time != (int) time) {
        return;
      }
    }
    shortTimes = new int[times.length];
    for (int i = 0; i < times.length; i++) {
      shortTimes[i] = (int) times[i];
    }
    times = new long[0];
  }

  private long time(int at) {
    return times.length == 0 ? shortTimes[at] : times[at];
  }

  /** The least id, and how many from there on reach the greatest. */
  private int firstId;

  private int idsNoted;

  /** The rows as noted, by PE and for each by id; notes where those of each PE begin. */
  private int[] order(int slots) {
    int least = Integer.MAX_VALUE;
    int greatest = -1;
    first = new int[slots + 1];
    for (int i = 0; i < size; i++) {
      least = Math.min(least, words[i * INTS + ID]);
      greatest = Math.max(greatest, words[i * INTS + ID]);
      first[words[i * INTS + SLOT] + 1]++;
    }
    firstId = size == 0 ? 0 : least;
    idsNoted = size == 0 ? 0 : greatest - least + 1;
    for (int slot = 0; slot < slots; slot++) {
      first[slot + 1] += first[slot];
    }
    int[] byId = new int[idsNoted];
    Arrays.fill(byId, -1);
    for (int i = 0; i < size; i++) {
      byId[words[i * INTS + ID] - firstId] = i;
    }
    int[] next = first.clone();
    int[] order = new int[size];
    for (int i : byId) {
      if (i >= 0) {
        order[next[words[i * INTS + SLOT]]++] = i;
      }
    }
    return order;
  }

  private Map<Integer, Integer> rowsById(int[] sorted) {
    Map<Integer, Integer> rowOf = new HashMap<>();
    for (int row = 0; row < size; row++) {
      rowOf.put(sorted[row * INTS + ID], row);
    }
    return rowOf;
  }

  /** The row of an operation of {@link #finish}, as counted for its PE; -1 for none. */
  public int indexIn(int slot, int id) {
    int low = first[slot];
    int high = first[slot + 1] - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int there = words[middle * INTS + ID];
      if (there == id) {
        return middle - first[slot];
      }
      if (there < id) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -1;
  }

  /**
   * Writes the rows of a PE.
   *
   * @param firstId id of the first; the others follow
   * @param firstOrdinal number of the first command
   * @param pe its index in the machine
   * @param launches ids of the launches of the stretch
   */
  public void write(
      OpLog log,
      OpTally tally,
      int slot,
      int firstId,
      int firstOrdinal,
      int pe,
      int[] launches,
      long startPs) {
    for (int row = first[slot]; row < first[slot + 1]; row++) {
      int w = row * INTS;
      int t = row * LONGS;
      int id = firstId + row - first[slot];
      OpKind kind = OpLog.OpKinds.KINDS[words[w + WHAT] & 0xFF];
      Cause cause = OpLog.OpKinds.CAUSES[words[w + WHAT] >>> 8];
      int causeOp = words[w + CAUSE_OP];
      log.complete(
          tally,
          id,
          words[w + ORDINAL] + firstOrdinal,
          pe,
          kind,
          cause,
          causeOp < 0 ? causeOp : firstId + causeOp - first[slot],
          words[w + BYTES],
          words[w + PLACE],
          words[w + LINE],
          words[w + WORK],
          launches[words[w + MEMBER]],
          false,
          time(t) + startPs,
          time(t + 1) + startPs,
          time(t + 2) + startPs,
          time(t + 3),
          time(t + 4),
          time(t + 5));
    }
  }

  /**
   * Writes how the bytes moved, of all PEs.
   *
   * @param firstIds by PE of the launch, id of its first operation
   */
  public void writeMoves(OpLog log, int[] firstIds, long startPs) {
    log.transfers()
        .write(
            moves,
            row -> firstIds[words[row * INTS + SLOT]] + row - first[words[row * INTS + SLOT]],
            startPs);
  }
}
