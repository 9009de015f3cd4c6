package org.kernbench.ccl.algorithms;

import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.Payload;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/**
 * Reads a rank's own vector backwards, in commands of at least {@value #BYTES} bytes where there is
 * so much: a DMA command for every short segment would cost its set-up each time.
 */
final class ReadAhead {
  private static final int BYTES = 16 << 10;

  private final Tl tl;
  private final Payload vector;
  private final int least;
  private @Nullable Value block;
  private int from;
  private int to;

  ReadAhead(Tl tl, Payload vector, int elementBytes) {
    this.tl = tl;
    this.vector = vector;
    this.least = BYTES / elementBytes;
  }

  /**
   * Elements {@code [start, start + count)}, a view that the next call may end.
   *
   * @param lowest no element below this will be wanted before a higher one is
   */
  Value elements(int start, int count, int lowest) {
    Value b = block;
    if (b == null || start < from || start + count > to) {
      close();
      to = start + count;
      from = Math.max(Math.min(lowest, start), Math.min(start, to - least));
      b = vector.read(tl, from, to - from);
      block = b;
    }
    return b.range(start - from, count);
  }

  /** The last block will not be used again. */
  void close() {
    if (block != null) {
      vector.giveBack(tl, block);
      block = null;
    }
  }
}
