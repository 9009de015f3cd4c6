package org.kernbench.device.log;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a stretch of launches, relative to its start, so that they can be written again for
 * another that does the same: operations, and how their bytes moved. Rows of one PE follow one
 * another.
 *
 * <p>Most rows are alike but for their times: a row is the number of its {@linkplain RowKinds
 * kind}, its cause and four times, 24 bytes where none is above 2 ms, where an {@link OpLog} takes
 * 80.
 */
public final class OpRows {
  private final RowKinds kinds = new RowKinds();
  private final List<PeRows> bySlot = new ArrayList<>();
  private int size;

  /** By PE of the launch, its first row; then their number. */
  private int[] first = new int[0];

  /** Ids and rows among those of all PEs, ascending; empty before anybody asks. */
  private long[] byId = new long[0];

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
    while (bySlot.size() <= slot) {
      bySlot.add(new PeRows());
    }
    int what =
        kinds.number(kind, cause, member, bytes, place, line, work, serialisationPs, translationPs);
    bySlot.get(slot).add(id, ordinal, what, causeOp, issuePs, startPs, endPs, contentionPs);
    size++;
  }

  /**
   * All operations have been noted: makes them relative.
   *
   * @param ordinals the number of the first command of each PE
   * @param startPs of the stretch
   * @param log where they are, as {@code firstMove} of it was at the start
   * @return false if an operation, or a part of one, waited for one of another stretch
   */
  public boolean finish(int[] ordinals, long startPs, OpLog log, int firstMove) {
    first = new int[ordinals.length + 1];
    for (int slot = 0; slot < ordinals.length; slot++) {
      if (slot == bySlot.size()) {
        bySlot.add(new PeRows());
      }
      PeRows rows = bySlot.get(slot);
      if (!rows.finish(ordinals[slot], startPs)) {
        return false;
      }
      first[slot + 1] = first[slot] + rows.size();
    }
    for (int slot = 0; slot < ordinals.length; slot++) {
      if (!bySlot.get(slot).find(this::indexOf)) {
        return false;
      }
    }
    TransferLog transfers = log.transfers();
    if (transfers.isComplete() && !transfers.isFull()) {
      moves = transfers.excerpt(ids(), this::indexOf, firstMove, startPs);
      return moves != null; // else a part has waited for an operation of another stretch
    }
    return true;
  }

  private IntStream ids() {
    return bySlot.stream().flatMapToInt(rows -> IntStream.range(0, rows.size()).map(rows::id));
  }

  /**
   * The row that an operation will have, as counted for its PE; -1 if it has not ended. Asked as
   * operations end, mostly for one of the last.
   *
   * @param firstOrdinal the number of the first command of the PE
   */
  public int rowToBe(int slot, int id, int firstOrdinal) {
    return id >= 0 && slot < bySlot.size() ? bySlot.get(slot).rowToBe(id, firstOrdinal) : -1;
  }

  /**
   * The row of an operation of {@link #finish}, as counted for its PE; -1 for none. Not to be asked
   * after {@link #forgetIds}.
   */
  public int indexIn(int slot, int id) {
    return bySlot.get(slot).indexOf(id);
  }

  /**
   * The row of an operation of {@link #finish} among those of all PEs; -1 for none. Not to be asked
   * after {@link #forgetIds}.
   */
  public int indexOf(int id) {
    if (byId.length == 0) {
      byId = new long[size];
      int row = 0;
      for (int slot = 0; slot + 1 < first.length; slot++) {
        for (int k = 0; k < size(slot); k++) {
          byId[row] = ((long) bySlot.get(slot).id(k) << 32) | row++;
        }
      }
      Arrays.sort(byId);
    }
    int at = Arrays.binarySearch(byId, (long) id << 32);
    int next = at < 0 ? -at - 1 : at;
    return next < byId.length && byId[next] >> 32 == id ? (int) byId[next] : -1;
  }

  /** Nobody asks any more which row an operation is. */
  public void forgetIds() {
    kinds.close();
    byId = new long[0];
    bySlot.forEach(PeRows::forgetIds);
  }

  /** How bytes moved is kept no longer: the log in which it would be written is not complete. */
  public void forgetMoves() {
    moves = null;
  }

  /**
   * Writes the rows of a PE.
   *
   * @param ids of the rows
   * @param firstOrdinal number of the first command
   * @param pe its index in the machine
   * @param launches ids of the launches of the stretch
   * @param linksOn what is added to the numbers of links
   */
  public void write(
      OpLog log,
      OpTally tally,
      int slot,
      RowIds ids,
      int firstOrdinal,
      int pe,
      int[] launches,
      int linksOn,
      long startPs) {
    PeRows rows = bySlot.get(slot);
    for (int row = 0; row < rows.size(); row++) {
      int what = rows.kind(row);
      int link = kinds.place(what);
      log.complete(
          tally,
          ids.id(slot, row),
          firstOrdinal + row,
          pe,
          kinds.kind(what),
          kinds.cause(what),
          causeId(slot, rows.cause(row), ids),
          kinds.bytes(what),
          link < 0 ? link : link + linksOn,
          kinds.line(what),
          kinds.work(what),
          launches[kinds.member(what)],
          false,
          rows.time(row, PeRows.ISSUE) + startPs,
          rows.time(row, PeRows.START) + startPs,
          rows.time(row, PeRows.END) + startPs,
          rows.time(row, PeRows.CONTENTION),
          kinds.serialisationPs(what),
          kinds.translationPs(what));
    }
  }

  /**
   * Writes how the bytes moved, of all PEs.
   *
   * @param linksOn what is added to the numbers of links
   */
  public void writeMoves(OpLog log, RowIds ids, int linksOn, long startPs) {
    log.transfers().write(moves, row -> id(row, ids), linksOn, startPs);
  }

  private int causeId(int slot, int cause, RowIds ids) {
    int elsewhere = PeRows.elsewhere(cause);
    return elsewhere < 0 ? ids.id(slot, cause) : id(elsewhere, ids);
  }

  /** The id under which a row among those of all PEs is written. */
  public int id(int row, RowIds ids) {
    int found = Arrays.binarySearch(first, row);
    int slot = found < 0 ? -found - 2 : found;
    while (first[slot + 1] == row) { // of PEs without rows, the first that has any
      slot++;
    }
    return ids.id(slot, row - first[slot]);
  }
}
