package org.kernbench.sim;

import java.util.Arrays;

/**
 * A timing wheel with exact order inside its slots.
 *
 * <p>Problem: hardware events cluster. Most lie within a few hundred nanoseconds, many share one picosecond, a few (refresh, host) lie
 * far away. A heap pays log n cache misses for each; a plain wheel loses the order inside a slot; a calendar queue collapses when the
 * spread of times changes.
 *
 * <p>Choice: slots of 2^{@value #SLOT_SHIFT} ps. A push into a later slot is a link into that slot's list, whatever the number of events
 * pending. When a slot becomes current its events are copied out and sorted, which costs one pass when they were pushed in order (the
 * usual case: equal times, rising sequence). Pushes into the current slot go to a small heap beside the sorted run, and a pop takes the
 * lesser head of the two. Events beyond the horizon wait in a {@link HeapEventQueue} and enter the wheel as it turns. One bit per slot
 * finds the next slot with events.
 *
 * <p>Cost: see {@code bench/} ({@code EventQueueBenchmark}) for nanoseconds per event beside {@code java.util.PriorityQueue}.
 */
public final class WheelEventQueue implements EventQueue {
  private static final int SLOT_SHIFT = 10;
  private static final int SLOTS = 1 << 12;
  private static final int MASK = SLOTS - 1;
  private static final int NIL = -1;
  private static final int NODE = 4; // time, order, payload, next
  private static final int STRIDE = 3; // time, order, payload

  private final int[] slotHead = new int[SLOTS];
  private final long[] occupied = new long[SLOTS / 64];
  private long[] nodes = new long[1024 * NODE];
  private int freeNode = NIL;
  private int usedNodes;
  private int inWheel;

  private long currentSlot;
  private long[] run = new long[64 * STRIDE];
  private long[] scratch = new long[64 * STRIDE];
  private int runAt;
  private int runEnd;
  private final HeapEventQueue late = new HeapEventQueue();
  private final HeapEventQueue beyond = new HeapEventQueue();

  private long timePs;
  private long order;
  private long payload;

  /** An empty queue at time 0. */
  public WheelEventQueue() {
    Arrays.fill(slotHead, NIL);
  }

  @Override
  public void push(long timePs, long order, long payload) {
    long slot = timePs >> SLOT_SHIFT;
    long ahead = slot - currentSlot;
    if (ahead <= 0) {
      late.push(timePs, order, payload);
    } else if (ahead < SLOTS) {
      link((int) slot & MASK, timePs, order, payload);
    } else {
      beyond.push(timePs, order, payload);
    }
  }

  private void link(int slot, long timePs, long order, long payload) {
    int node = freeNode;
    if (node != NIL) {
      freeNode = (int) nodes[node + 3];
    } else {
      node = usedNodes;
      usedNodes += NODE;
      if (usedNodes > nodes.length) {
        nodes = Arrays.copyOf(nodes, nodes.length * 2);
      }
    }
    final long[] n = nodes;
    n[node] = timePs;
    n[node + 1] = order;
    n[node + 2] = payload;
    n[node + 3] = slotHead[slot];
    slotHead[slot] = node;
    occupied[slot >> 6] |= 1L << slot;
    inWheel++;
  }

  @Override
  public boolean isEmpty() {
    return size() == 0;
  }

  @Override
  public int size() {
    return (runEnd - runAt) / STRIDE + late.size() + inWheel + beyond.size();
  }

  @Override
  public void pop() {
    if (runAt == runEnd && late.isEmpty()) {
      advance();
    }
    final long[] r = run;
    int at = runAt;
    if (!late.isEmpty()
        && (at == runEnd
            || late.firstTimePs() < r[at]
            || (late.firstTimePs() == r[at] && late.firstOrder() < r[at + 1]))) {
      late.pop();
      timePs = late.timePs();
      order = late.order();
      payload = late.payload();
      return;
    }
    timePs = r[at];
    order = r[at + 1];
    payload = r[at + 2];
    runAt = at + STRIDE;
  }

  /** Makes the next slot that holds events the current one and sorts its events into the run. */
  private void advance() {
    if (inWheel == 0) {
      currentSlot = beyond.firstTimePs() >> SLOT_SHIFT;
    } else {
      currentSlot += distanceToNextOccupied();
    }
    runAt = 0;
    runEnd = 0;
    int slot = (int) currentSlot & MASK;
    if (slotHead[slot] != NIL) {
      unload(slot);
    }
    while (!beyond.isEmpty() && (beyond.firstTimePs() >> SLOT_SHIFT) - currentSlot < SLOTS) {
      beyond.pop();
      push(beyond.timePs(), beyond.order(), beyond.payload());
    }
  }

  private int distanceToNextOccupied() {
    int from = ((int) currentSlot + 1) & MASK;
    int word = from >> 6;
    long bits = occupied[word] & (-1L << from);
    while (bits == 0) {
      word = (word + 1) & (occupied.length - 1);
      bits = occupied[word];
    }
    int slot = (word << 6) + Long.numberOfTrailingZeros(bits);
    return (slot - (int) currentSlot) & MASK;
  }

  /** Copies a slot's list, newest first, backwards into the run so that it stands in the order of pushing, then sorts it. */
  private void unload(int slot) {
    final long[] n = nodes;
    int count = 0;
    int tail = NIL;
    for (int node = slotHead[slot]; node != NIL; node = (int) n[node + 3]) {
      count++;
      tail = node;
    }
    int end = count * STRIDE;
    if (end > run.length) {
      run = new long[Integer.highestOneBit(end) * 2];
    }
    final long[] r = run;
    int at = end;
    for (int node = slotHead[slot]; node != NIL; node = (int) n[node + 3]) {
      at -= STRIDE;
      r[at] = n[node];
      r[at + 1] = n[node + 1];
      r[at + 2] = n[node + 2];
    }
    n[tail + 3] = freeNode;
    freeNode = slotHead[slot];
    slotHead[slot] = NIL;
    occupied[slot >> 6] &= ~(1L << slot);
    inWheel -= count;
    runEnd = end;
    sortRun();
  }

  private void sortRun() {
    final long[] r = run;
    int unsorted = STRIDE;
    while (unsorted < runEnd && !before(r, unsorted, r, unsorted - STRIDE)) {
      unsorted += STRIDE;
    }
    if (unsorted >= runEnd) {
      return;
    }
    if (runEnd <= 24 * STRIDE) {
      insertionSort(r, unsorted, runEnd);
    } else {
      mergeSort();
    }
  }

  private static void insertionSort(long[] r, int from, int end) {
    for (int i = from; i < end; i += STRIDE) {
      long t = r[i];
      long o = r[i + 1];
      long p = r[i + 2];
      int j = i - STRIDE;
      while (j >= 0 && (r[j] > t || (r[j] == t && r[j + 1] > o))) {
        r[j + STRIDE] = r[j];
        r[j + STRIDE + 1] = r[j + 1];
        r[j + STRIDE + 2] = r[j + 2];
        j -= STRIDE;
      }
      r[j + STRIDE] = t;
      r[j + STRIDE + 1] = o;
      r[j + STRIDE + 2] = p;
    }
  }

  /** Natural merge sort: finds ascending runs and merges neighbours until one is left. */
  private void mergeSort() {
    if (scratch.length < run.length) {
      scratch = new long[run.length];
    }
    boolean sorted = false;
    while (!sorted) {
      int merges = 0;
      int start = 0;
      while (start < runEnd) {
        int middle = endOfAscent(start);
        int end = middle < runEnd ? endOfAscent(middle) : middle;
        merge(start, middle, end);
        merges++;
        start = end;
      }
      long[] swap = run;
      run = scratch;
      scratch = swap;
      sorted = merges == 1;
    }
  }

  private int endOfAscent(int from) {
    final long[] r = run;
    int at = from + STRIDE;
    while (at < runEnd && !before(r, at, r, at - STRIDE)) {
      at += STRIDE;
    }
    return at;
  }

  private void merge(int start, int middle, int end) {
    final long[] from = run;
    final long[] to = scratch;
    int a = start;
    int b = middle;
    for (int at = start; at < end; at += STRIDE) {
      boolean takeB = a == middle || (b < end && before(from, b, from, a));
      int source = takeB ? b : a;
      to[at] = from[source];
      to[at + 1] = from[source + 1];
      to[at + 2] = from[source + 2];
      if (takeB) {
        b += STRIDE;
      } else {
        a += STRIDE;
      }
    }
  }

  private static boolean before(long[] x, int a, long[] y, int b) {
    return x[a] < y[b] || (x[a] == y[b] && x[a + 1] < y[b + 1]);
  }

  @Override
  public long timePs() {
    return timePs;
  }

  @Override
  public long order() {
    return order;
  }

  @Override
  public long payload() {
    return payload;
  }
}
