package org.kernbench.tensor;

import java.lang.foreign.MemorySegment;

/**
 * Memory of somebody else, for example a file that is mapped, which a {@link SparseBytes} reads
 * instead of holding a copy, until other bytes are written over it. It must not change meanwhile.
 *
 * <p>Several memories may share one; when the last has let it go it is given back. Whoever makes it
 * holds it too, until {@link #release}. Not thread-safe.
 */
public final class Loan {
  private final MemorySegment bytes;
  private final Runnable back;
  private int holders = 1;

  /**
   * Lends.
   *
   * @param back is run once, when nobody reads the memory any more
   */
  public Loan(MemorySegment bytes, Runnable back) {
    this.bytes = bytes;
    this.back = back;
  }

  /** All of it. */
  public MemorySegment bytes() {
    return bytes;
  }

  void hold() {
    holders++;
  }

  /** One holder less. */
  public void release() {
    if (--holders == 0) {
      back.run();
    }
  }
}
