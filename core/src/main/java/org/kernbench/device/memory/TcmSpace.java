package org.kernbench.device.memory;

import java.util.Arrays;

/**
 * Room in the TCM of one PE. Values take it in program order when their command is issued, which
 * cannot deadlock, and give it back when they are dead, now or at a known later time.
 */
public final class TcmSpace {
  private static final int STRIDE = 3; // time, bytes, operation

  private final long size;
  private long reservedForSlots;
  private long used;

  /**
   * Room that is given back at a known time, by ascending time. The first {@link #counted} entries
   * count as given already, for a program that is ahead of simulated time.
   */
  private long[] later = new long[4 * STRIDE];

  private int laterCount;
  private int counted;
  private int lastGivenBy = -1;

  /** Programs that wait for room. */
  private int waiting;

  public TcmSpace(long size) {
    this.size = size;
  }

  /** A program begins to wait for room, or no longer waits. */
  public void waits(boolean now, boolean before) {
    waiting += (now ? 1 : 0) - (before ? 1 : 0);
  }

  /** Whether a program waits for room. */
  public boolean isWaitedFor() {
    return waiting > 0;
  }

  /** Sets room aside for message slots. */
  public void reserveForSlots(long bytes) {
    reservedForSlots = bytes;
  }

  public long slotBytes() {
    return reservedForSlots;
  }

  /** What values may use in all. */
  public long capacity() {
    return size - reservedForSlots;
  }

  public long free() {
    return capacity() - used;
  }

  public boolean fits(long bytes) {
    return used + bytes <= capacity();
  }

  public void take(long bytes) {
    used += bytes;
  }

  /** Gives back now. */
  public void give(long bytes, int op) {
    used -= bytes;
    lastGivenBy = op;
  }

  /** Gives back at a later time. */
  public void giveLater(long timePs, long bytes, int op) {
    if ((laterCount + 1) * STRIDE > later.length) {
      later = Arrays.copyOf(later, later.length * 2);
    }
    int at = laterCount++ * STRIDE;
    while (at > 0 && later[at - STRIDE] > timePs) {
      System.arraycopy(later, at - STRIDE, later, at, STRIDE);
      at -= STRIDE;
    }
    later[at] = timePs;
    later[at + 1] = bytes;
    later[at + 2] = op;
    if (at < counted * STRIDE) {
      used -= bytes;
      counted++;
    }
  }

  /** Whether room is given back later that does not count as given. */
  public boolean givesLater() {
    return counted < laterCount;
  }

  /** When the first of that is given back. */
  public long firstLaterPs() {
    return later[counted * STRIDE];
  }

  public int firstLaterOp() {
    return (int) later[counted * STRIDE + 2];
  }

  /** Counts the first of the later gifts as given. */
  public void countFirstLater(long nowPs) {
    used -= later[counted * STRIDE + 1];
    lastGivenBy = (int) later[counted * STRIDE + 2];
    counted++;
    int past = 0;
    while (past < counted && later[past * STRIDE] <= nowPs) {
      past++;
    }
    if (past > 0) {
      counted -= past;
      laterCount -= past;
      System.arraycopy(later, past * STRIDE, later, 0, laterCount * STRIDE);
    }
  }

  /** The operation that gave room back last, of those that count; -1 before. */
  public int lastGivenBy() {
    return lastGivenBy;
  }

  /**
   * The gift that must be waited for so that {@code bytes} fit at {@code timePs}, of those that
   * another program, which is further ahead, counts as given; -1 if none. They fit in the end.
   */
  public int heldUpBy(long bytes, long timePs) {
    long free = free() - bytes;
    for (int i = counted - 1; i >= 0 && later[i * STRIDE] > timePs; i--) {
      free -= later[i * STRIDE + 1];
      if (free < 0) {
        return i;
      }
    }
    return -1;
  }

  public long givenPs(int gift) {
    return later[gift * STRIDE];
  }

  public int givenBy(int gift) {
    return (int) later[gift * STRIDE + 2];
  }
}
