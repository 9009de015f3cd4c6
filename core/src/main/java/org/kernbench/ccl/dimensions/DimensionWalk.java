package org.kernbench.ccl.dimensions;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.PriorityQueue;

/**
 * What one rank does in a collective that goes by dimension ({@link ByDimension}): its chunks one
 * after the other, or several under way at once.
 *
 * <p>Of several, so many are under way along a dimension at a time, the others wait in the order in
 * which they came to it. A kernel waits for one thing at a time: for what is due first by the plan,
 * which counts messages as if they met nobody. The plan is the same on all ranks, so no two wait
 * for each other; where messages do meet, one that is late holds up what is planned behind it.
 */
final class DimensionWalk {
  private final List<DimensionChunk> chunks;
  private final int active;

  /** By dimension, chunks that wait, and the queues that are in use. */
  private final List<Deque<Integer>> waiting = new ArrayList<>();

  private final List<BitSet> lanes = new ArrayList<>();
  private final int[] lane;
  private final PriorityQueue<Due> due =
      new PriorityQueue<>(Comparator.comparingLong(Due::ps).thenComparingLong(Due::number));
  private long number;

  /** When a chunk goes on, as planned, and as the how manyth that was said. */
  private record Due(long ps, long number, int chunk) {}

  /**
   * Chunks of one rank.
   *
   * @param active how many are under way along a dimension; 0 for each to its end before the next
   */
  DimensionWalk(List<DimensionChunk> chunks, int dimensions, int active) {
    this.chunks = chunks;
    this.active = active;
    this.lane = new int[chunks.size()];
    for (int d = 0; d < dimensions; d++) {
      waiting.add(new ArrayDeque<>());
      lanes.add(new BitSet());
    }
  }

  void run() {
    if (active == 0 || chunks.size() == 1) {
      chunks.forEach(DimensionWalk::runAlone);
      return;
    }
    for (int c = 0; c < chunks.size(); c++) {
      goesOn(c, 0);
    }
    while (!due.isEmpty()) {
      Due first = due.remove();
      DimensionChunk chunk = chunks.get(first.chunk);
      long ps = chunk.step();
      if (ps != DimensionChunk.ENDED) {
        due.add(new Due(first.ps + ps, number++, first.chunk));
        continue;
      }
      int axis = chunk.axis();
      lanes.get(axis).clear(lane[first.chunk]);
      boolean more = chunk.advance();
      if (more) {
        waiting.get(chunk.axis()).add(first.chunk);
      }
      start(axis, first.ps);
      if (more) {
        start(chunk.axis(), first.ps);
      }
    }
  }

  private static void runAlone(DimensionChunk chunk) {
    while (chunk.advance()) {
      chunk.begin(0);
      while (chunk.step() != DimensionChunk.ENDED) {
        // to its end
      }
    }
  }

  /** A chunk comes to its next dimension, if there is one. */
  private void goesOn(int chunk, long ps) {
    if (chunks.get(chunk).advance()) {
      int axis = chunks.get(chunk).axis();
      waiting.get(axis).add(chunk);
      start(axis, ps);
    }
  }

  /** Those that wait for a dimension begin, as far as there is room. */
  private void start(int axis, long ps) {
    BitSet used = lanes.get(axis);
    while (!waiting.get(axis).isEmpty() && used.cardinality() < active) {
      int chunk = waiting.get(axis).remove();
      lane[chunk] = used.nextClearBit(0);
      used.set(lane[chunk]);
      chunks.get(chunk).begin(lane[chunk]);
      due.add(new Due(ps, number++, chunk));
    }
  }
}
