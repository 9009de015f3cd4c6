package org.kernbench.device;

import java.util.Arrays;

/**
 * Room in the TCM of one PE. Values take it in program order when their command is issued, which
 * cannot deadlock, and give it back when they are dead, now or at a known later time.
 */
final class TcmSpace {
  private static final int STRIDE = 3; // time, bytes, operation

  private final long size;
  private long reservedForSlots;
  private long used;

  /** Room that will be given back, by ascending time. */
  private long[] later = new long[4 * STRIDE];

  private int laterCount;

  TcmSpace(long size) {
    this.size = size;
  }

  /** Sets room aside for message slots. */
  void reserveForSlots(long bytes) {
    reservedForSlots = bytes;
  }

  long slotBytes() {
    return reservedForSlots;
  }

  /** What values may use in all. */
  long capacity() {
    return size - reservedForSlots;
  }

  long free() {
    return capacity() - used;
  }

  boolean fits(long bytes) {
    return used + bytes <= capacity();
  }

  void take(long bytes) {
    used += bytes;
  }

  void give(long bytes) {
    used -= bytes;
  }

  void giveLater(long timePs, long bytes, int op) {
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
  }

  boolean givesLater() {
    return laterCount > 0;
  }

  long firstLaterPs() {
    return later[0];
  }

  int firstLaterOp() {
    return (int) later[2];
  }

  /** Gives back what the first of the later times brings. */
  void giveFirstLater() {
    used -= later[1];
    laterCount--;
    System.arraycopy(later, STRIDE, later, 0, laterCount * STRIDE);
  }
}
