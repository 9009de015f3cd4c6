package org.kernbench.nn.autograd;

import java.util.ArrayDeque;
import java.util.Deque;
import org.kernbench.tl.Handle;
import org.kernbench.tl.Tl;

/**
 * How many blocks of a copy are under way at once. A copy that runs beside other kernels reads from
 * far away, so each of its loads holds a channel of the PE's DMA for long; without a limit it has
 * all of them most of the time, and the kernels beside it, whose operands are near, wait (ADR
 * 0105).
 */
final class Pace {
  private final Tl tl;
  private final int most;
  private final Deque<Handle> underWay = new ArrayDeque<>();

  private Pace(Tl tl, int most) {
    this.tl = tl;
    this.most = most;
  }

  /**
   * For a copy of rows as they lie: as many blocks at once as the PE has DMA channels, or a quarter
   * of that beside other kernels.
   */
  static Pace ofRows(Compute compute, Tl tl, boolean beside) {
    return of(compute, tl, beside, 4);
  }

  /** The same for one that gathers short pieces, each of which takes longer: half of them. */
  static Pace ofPieces(Compute compute, Tl tl, boolean beside) {
    return of(compute, tl, beside, 2);
  }

  private static Pace of(Compute compute, Tl tl, boolean beside, int part) {
    int channels = compute.torch().machine().pe().dma().readQueues();
    return new Pace(tl, beside ? Math.max(1, channels / part) : Integer.MAX_VALUE);
  }

  /** A block will have arrived; the next ones may have to wait for it. */
  void stored(Handle block) {
    if (most == Integer.MAX_VALUE) {
      return;
    }
    underWay.addLast(block);
    if (underWay.size() >= most) {
      tl.await(underWay.removeFirst());
    }
  }
}
