package org.kernbench.device.log;

import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The rows of one launch, relative to its start, so that they can be written again for another that
 * does the same: operations, and how their bytes moved. Rows of one PE follow one another.
 */
public final class OpRows {
  private static final int LONGS = 6; // issue, start, end, contention, serialisation, translation
  private static final int INTS = 9;

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

  private long[] times = new long[16 * LONGS];
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
   * @param slot number of its PE; any, as long as {@link #finish} is told the same
   */
  public void add(
      int id,
      int ordinal,
      int slot,
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
   * @param slots the numbers of the PEs, in the order of the launch
   * @param ordinals the number of the first command of each
   * @param startPs of the launch
   * @param log where they are, as {@code firstMove} of it was at the start
   * @return false if an operation waited for one of another launch or PE
   */
  public boolean finish(
      List<Integer> slots, int[] ordinals, long startPs, OpLog log, int firstMove) {
    Map<Integer, Integer> slotOf = new HashMap<>();
    for (int slot = 0; slot < slots.size(); slot++) {
      slotOf.put(slots.get(slot), slot);
    }
    int[] order =
        IntStream.range(0, size)
            .boxed()
            .sorted(
                Comparator.<Integer>comparingInt(i -> slotOf.get(words[i * INTS + SLOT]))
                    .thenComparingInt(i -> words[i * INTS + ID]))
            .mapToInt(Integer::intValue)
            .toArray();
    Map<Integer, Integer> rowOf = new HashMap<>();
    for (int row = 0; row < size; row++) {
      rowOf.put(words[order[row] * INTS + ID], row);
    }
    int[] sorted = new int[size * INTS];
    long[] relative = new long[size * LONGS];
    first = new int[slots.size() + 1];
    for (int row = 0; row < size; row++) {
      int w = row * INTS;
      int t = row * LONGS;
      System.arraycopy(words, order[row] * INTS, sorted, w, INTS);
      System.arraycopy(times, order[row] * LONGS, relative, t, LONGS);
      int slot = slotOf.getOrDefault(sorted[w + SLOT], -1);
      sorted[w + SLOT] = slot;
      sorted[w + ORDINAL] -= ordinals[slot];
      first[slot + 1]++;
      if (sorted[w + CAUSE_OP] >= 0) {
        Integer cause = rowOf.get(sorted[w + CAUSE_OP]);
        if (cause == null || slotOf.getOrDefault(words[order[cause] * INTS + SLOT], -1) != slot) {
          return false;
        }
        sorted[w + CAUSE_OP] = cause;
      }
      for (int i = 0; i < 3; i++) {
        relative[t + i] -= startPs;
      }
    }
    for (int slot = 0; slot < slots.size(); slot++) {
      first[slot + 1] += first[slot];
    }
    moves = log.transfers().excerpt(rowOf, firstMove, startPs);
    words = sorted;
    times = relative;
    return true;
  }

  /** The row of an operation of {@link #finish}, as counted for its PE; -1 for none. */
  public int indexIn(int slot, int id) {
    for (int row = first[slot]; row < first[slot + 1]; row++) {
      if (words[row * INTS + ID] == id) {
        return row - first[slot];
      }
    }
    return -1;
  }

  /**
   * Writes the rows of a PE, or takes them back.
   *
   * @param firstId id of the first; the others follow
   * @param firstOrdinal number of the first command
   * @param pe its index in the machine
   */
  public void write(
      OpLog log,
      OpTally tally,
      int slot,
      int firstId,
      int firstOrdinal,
      int pe,
      int launch,
      long startPs,
      boolean back) {
    for (int row = first[slot]; row < first[slot + 1]; row++) {
      int w = row * INTS;
      int t = row * LONGS;
      int id = firstId + row - first[slot];
      OpKind kind = OpLog.OpKinds.KINDS[words[w + WHAT] & 0xFF];
      Cause cause = OpLog.OpKinds.CAUSES[words[w + WHAT] >>> 8];
      int causeOp = words[w + CAUSE_OP];
      if (back) {
        log.takeBack(
            tally,
            id,
            words[w + ORDINAL] + firstOrdinal,
            pe,
            kind,
            cause,
            words[w + BYTES],
            words[w + PLACE],
            times[t] + startPs,
            times[t + 1] + startPs,
            times[t + 2] + startPs,
            times[t + 3]);
      } else {
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
            launch,
            false,
            times[t] + startPs,
            times[t + 1] + startPs,
            times[t + 2] + startPs,
            times[t + 3],
            times[t + 4],
            times[t + 5]);
      }
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
