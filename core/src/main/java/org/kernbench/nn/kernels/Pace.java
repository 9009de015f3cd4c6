package org.kernbench.nn.kernels;

import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/**
 * How many blocks of a copy are under way at once. A copy that runs beside other kernels has one
 * load at a time: each waits in the queue of the PE's DMA with those of the kernels beside it, and
 * takes a channel for as long as the way is; several at once would have most channels most of the
 * time (ADR 0105, 0170).
 */
final class Pace {
  private final Tl tl;
  private final boolean beside;

  /** Of a copy that goes on beside other kernels, or of one that has the machine to itself. */
  Pace(Tl tl, boolean beside) {
    this.tl = tl;
    this.beside = beside;
  }

  /** A block that is on its way; the next ones may have to wait for it. */
  Value loaded(Value block) {
    if (beside) {
      tl.await(block);
    }
    return block;
  }
}
