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
  /** Blocks at once beside other kernels: half the channels of the default machine's DMA. */
  private static final int BESIDE = 2;

  private final Tl tl;
  private final boolean beside;
  private final Deque<Handle> underWay = new ArrayDeque<>();

  /** For a copy that has the PE for itself, or goes on beside other kernels. */
  Pace(Tl tl, boolean beside) {
    this.tl = tl;
    this.beside = beside;
  }

  /** A block will have arrived; the next ones may have to wait for it. */
  void stored(Handle block) {
    if (!beside) {
      return;
    }
    underWay.addLast(block);
    if (underWay.size() >= BESIDE) {
      tl.await(underWay.removeFirst());
    }
  }
}
