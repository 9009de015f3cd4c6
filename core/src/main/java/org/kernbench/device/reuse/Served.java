package org.kernbench.device.reuse;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.kernbench.device.log.OpRows;
import org.kernbench.device.log.RowIds;

/**
 * When an engine served last, relative to the start of a stretch; before it if negative.
 *
 * @param startedPs by stream
 */
record Served(long freedPs, int freedBy, long drainedPs, int lastProduct, long[] startedPs) {
  /** When engines served last, in the time of the machine. */
  static List<Served> of(List<? extends MemoEngine> engines, int streams) {
    List<Served> served = new ArrayList<>();
    for (MemoEngine e : engines) {
      long[] started = new long[streams];
      for (int stream = 0; stream < started.length; stream++) {
        started[stream] = e.startedPs(stream);
      }
      served.add(new Served(e.freedPs(), e.freedBy(), e.drainedPs(), e.lastProduct(), started));
    }
    return served;
  }

  /** For each engine and each two streams, which it served first. */
  static long order(List<? extends MemoEngine> engines, int streams) {
    long order = 0;
    for (MemoEngine e : engines) {
      for (int a = 0; a < streams; a++) {
        for (int b = a + 1; b < streams; b++) {
          order = order * 3 + 1 + Long.compare(e.startedPs(a), e.startedPs(b));
        }
      }
    }
    return order;
  }

  /** This, relative to the start of a stretch, with rows of a PE instead of operations. */
  Served relative(OpRows rows, int slot, long startPs) {
    return new Served(
        freedPs - startPs,
        freedPs < startPs ? -1 : rows.indexIn(slot, freedBy),
        drainedPs - startPs,
        drainedPs < startPs ? -1 : rows.indexIn(slot, lastProduct),
        Arrays.stream(startedPs).map(t -> t - startPs).toArray());
  }

  /**
   * An engine is left as it was.
   *
   * @param ids of the rows
   * @param slot number of the PE in the stretch
   */
  void leave(MemoEngine e, long startPs, RowIds ids, int slot) {
    if (freedPs >= 0) {
      e.freed(startPs + freedPs, ids.id(slot, freedBy));
    }
    if (drainedPs >= 0) {
      e.drained(startPs + drainedPs, ids.id(slot, lastProduct));
    }
    for (int stream = 0; stream < startedPs.length; stream++) {
      if (startedPs[stream] >= 0) {
        e.served(stream, startPs + startedPs[stream]);
      }
    }
  }
}
