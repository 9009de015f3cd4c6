package org.kernbench.device.simulator;

import java.util.Arrays;

/**
 * The commands of one program in flight, as a window that moves in program order: a command leaves
 * when it and all before it are complete. A program that finds the window full goes on when half of
 * it is free. Which command completes first does not matter for that, so a completion may be told
 * ahead of its time.
 */
final class CommandWindow {
  private static final long OPEN = Long.MAX_VALUE;

  /** Commands for which there is room at first. */
  private static final int FIRST = 16;

  // a command's record: its end, or once it has left the window, the time at which it left; and the
  // operation: itself, or the one that let it leave
  private static final int STRIDE = 2;

  private final int size;
  private int mask;
  private long[] records;
  private long entered;
  private long left;

  /**
   * An empty window.
   *
   * @param size commands that it holds; takes memory only for those that were in it at a time
   */
  CommandWindow(int size) {
    this.size = size;
    int capacity = Integer.highestOneBit(Math.min(size, FIRST)) * 2;
    this.mask = capacity - 1;
    this.records = new long[capacity * STRIDE];
  }

  private int at(long number) {
    return ((int) number & mask) * STRIDE;
  }

  /** Whether a command would enter before there is room. */
  boolean isFull() {
    return entered - left >= size;
  }

  /** Whether a program that found the window full should go on: half of it is free. */
  boolean isHalfFree() {
    return entered - left <= size / 2;
  }

  /** The next command enters; returns its number. */
  long enter() {
    if (entered - left >= mask) { // the last that left is still needed
      grow();
    }
    records[at(entered)] = OPEN;
    return entered++;
  }

  /** A command is complete at a time, past or to come. */
  void complete(long number, long endPs, int op) {
    final long[] r = records;
    r[at(number)] = endPs;
    r[at(number) + 1] = op;
    while (left < entered && r[at(left)] != OPEN) {
      int now = at(left);
      int before = at(left - 1);
      if (left > 0 && r[before] > r[now]) {
        r[now] = r[before];
        r[now + 1] = r[before + 1];
      }
      left++;
    }
  }

  /** When half of the window became free for a program that had found it full. */
  long halfFreePs() {
    return records[at(entered - size / 2 - 1)];
  }

  /** The operation whose end made that room. */
  int halfFreeOp() {
    return (int) records[at(entered - size / 2 - 1) + 1];
  }

  private void grow() {
    int capacity = mask + 1;
    long[] wider = Arrays.copyOf(records, records.length * 2);
    for (long n = Math.max(0, entered - capacity); n < entered; n++) {
      int to = ((int) n & (capacity * 2 - 1)) * STRIDE;
      wider[to] = records[at(n)];
      wider[to + 1] = records[at(n) + 1];
    }
    records = wider;
    mask = capacity * 2 - 1;
  }
}
