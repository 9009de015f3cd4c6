package org.kernbench.sim;

import java.util.Arrays;

/**
 * The obvious event queue: a 4-ary implicit heap over one flat array. It is the twin that tests
 * compare {@link WheelEventQueue} with, and the part of the wheel that holds events beyond its
 * horizon.
 */
public final class HeapEventQueue implements EventQueue {
  private static final int STRIDE = 3;
  private static final int ARITY = 4;

  private long[] heap = new long[64 * STRIDE];
  private int size;
  private long timePs;
  private long order;
  private long payload;

  /** An empty queue. */
  public HeapEventQueue() {}

  @Override
  public void push(long timePs, long order, long payload) {
    if ((size + 1) * STRIDE > heap.length) {
      heap = Arrays.copyOf(heap, heap.length * 2);
    }
    final long[] h = heap;
    int hole = size++;
    while (hole > 0) {
      int parent = (hole - 1) / ARITY;
      int p = parent * STRIDE;
      if (h[p] < timePs || (h[p] == timePs && h[p + 1] <= order)) {
        break;
      }
      copy(h, p, hole * STRIDE);
      hole = parent;
    }
    set(h, hole * STRIDE, timePs, order, payload);
  }

  @Override
  public boolean isEmpty() {
    return size == 0;
  }

  @Override
  public boolean isNextAt(long atPs) {
    return size > 0 && heap[0] == atPs;
  }

  @Override
  public int size() {
    return size;
  }

  /** Time of the first event; the queue must not be empty. */
  long firstTimePs() {
    return heap[0];
  }

  /** Order of the first event; the queue must not be empty. */
  long firstOrder() {
    return heap[1];
  }

  @Override
  public void pop() {
    final long[] h = heap;
    timePs = h[0];
    order = h[1];
    payload = h[2];
    int n = --size;
    if (n > 0) {
      int last = n * STRIDE;
      siftDown(h, n, h[last], h[last + 1], h[last + 2]);
    }
  }

  private static void siftDown(long[] h, int n, long time, long ord, long load) {
    int hole = 0;
    while (true) {
      int child = hole * ARITY + 1;
      if (child >= n) {
        break;
      }
      int best = child;
      int end = Math.min(child + ARITY, n);
      for (int c = child + 1; c < end; c++) {
        if (before(h, c * STRIDE, best * STRIDE)) {
          best = c;
        }
      }
      int b = best * STRIDE;
      if (h[b] > time || (h[b] == time && h[b + 1] >= ord)) {
        break;
      }
      copy(h, b, hole * STRIDE);
      hole = best;
    }
    set(h, hole * STRIDE, time, ord, load);
  }

  private static boolean before(long[] h, int a, int b) {
    return h[a] < h[b] || (h[a] == h[b] && h[a + 1] < h[b + 1]);
  }

  private static void copy(long[] h, int from, int to) {
    h[to] = h[from];
    h[to + 1] = h[from + 1];
    h[to + 2] = h[from + 2];
  }

  private static void set(long[] h, int at, long time, long order, long payload) {
    h[at] = time;
    h[at + 1] = order;
    h[at + 2] = payload;
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
