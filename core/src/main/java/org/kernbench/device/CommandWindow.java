package org.kernbench.device;

import java.util.Arrays;

/**
 * The commands of one program in flight, as a window that moves in program order: a command leaves
 * when it and all before it are complete. A program that finds the window full goes on when half of
 * it is free. Which command completes first does not matter for that, so a completion may be told
 * ahead of its time.
 */
final class CommandWindow {
  private static final long OPEN = Long.MAX_VALUE;

  private final int size;
  private int mask;

  /** By command number: its end, or once it has left the window, the time at which it left. */
  private long[] timePs;

  /** By command number: itself, or once it has left the window, the one that let it leave. */
  private int[] operation;

  private long entered;
  private long left;

  CommandWindow(int size) {
    this.size = size;
    int capacity = Integer.highestOneBit(size) * 2;
    this.mask = capacity - 1;
    this.timePs = new long[capacity];
    this.operation = new int[capacity];
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
    timePs[(int) entered & mask] = OPEN;
    return entered++;
  }

  /** A command is complete at a time, past or to come. */
  void complete(long number, long endPs, int op) {
    timePs[(int) number & mask] = endPs;
    operation[(int) number & mask] = op;
    while (left < entered && timePs[(int) left & mask] != OPEN) {
      int at = (int) left & mask;
      int before = (int) (left - 1) & mask;
      if (left > 0 && timePs[before] > timePs[at]) {
        timePs[at] = timePs[before];
        operation[at] = operation[before];
      }
      left++;
    }
  }

  /** When half of the window became free for a program that had found it full. */
  long halfFreePs() {
    return timePs[lastOfOldHalf()];
  }

  /** The operation whose end made that room. */
  int halfFreeOp() {
    return operation[lastOfOldHalf()];
  }

  private int lastOfOldHalf() {
    return (int) (entered - size / 2 - 1) & mask;
  }

  private void grow() {
    int capacity = timePs.length;
    long[] times = Arrays.copyOf(timePs, capacity * 2);
    int[] ops = Arrays.copyOf(operation, capacity * 2);
    int wider = capacity * 2 - 1;
    for (long n = Math.max(0, entered - capacity); n < entered; n++) {
      times[(int) n & wider] = timePs[(int) n & mask];
      ops[(int) n & wider] = operation[(int) n & mask];
    }
    timePs = times;
    operation = ops;
    mask = wider;
  }
}
