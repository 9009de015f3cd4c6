package org.kernbench.sim;

import java.util.Arrays;

/**
 * A timing wheel with exact order inside its slots.
 *
 * <p>Problem: hardware events cluster. Most lie within a few hundred nanoseconds, many share one
 * picosecond, a few (refresh, host) lie far away. A heap pays log n cache misses for each; a plain
 * wheel loses the order inside a slot; a calendar queue collapses when the spread of times changes.
 *
 * <p>Choice: slots of 2^{@value #SLOT_SHIFT} ps. A push into a later slot appends to that slot's
 * chain of small blocks, whatever the number of events pending. When a slot becomes current its
 * events are dealt out into two ascending runs and merged. That is the whole sort in the usual
 * case, where an event is later than the one pushed before it, or its time is the same and there
 * are two kinds of order, keyed and running; only what fits neither run is left to a merge sort.
 * Pushes into the current slot go to a queue when they come in ascending order (again the usual
 * case: something is to happen at once), else to a small heap; a pop takes the least of the three
 * heads. Events beyond the horizon wait in a {@link HeapEventQueue} and enter the wheel as it
 * turns. One bit per slot finds the next slot with events.
 *
 * <p>Cost: see {@code bench/} ({@code EventQueueBenchmark}) for nanoseconds per event beside {@code
 * java.util.PriorityQueue}. Dealing out instead of sorting, and the queue beside the heap, took the
 * engine from 36 to 25 ns of CPU time per event with 10,000 pending, half of them keyed; with
 * blocks instead of linked events it went from 69 to 28 ns with 100,000.
 */
public final class WheelEventQueue implements EventQueue {
  private static final int SLOT_SHIFT = 10;
  private static final int SLOTS = 1 << 12;
  private static final int MASK = SLOTS - 1;
  private static final int NIL = -1;
  private static final int STRIDE = 3; // time, order, payload

  /** Five events and, in the last place, the next block. {@code NIL} looks like a full block. */
  private static final int BLOCK = 16;

  private static final int NEXT = BLOCK - 1;

  private int size;
  private long currentSlot;

  // later slots: the first block and the place for the next event, in pairs
  private final int[] slots = new int[2 * SLOTS];
  private final long[] occupied = new long[SLOTS / 64];
  private long[] blocks = new long[256 * BLOCK];
  private int freeBlock = NIL;
  private int usedBlocks;
  private int inWheel;

  // the current slot: what was in it when it became current, and what has been pushed since
  private long[] run = new long[64 * STRIDE];
  private long[] scratch = new long[64 * STRIDE];
  private int runAt;
  private int runEnd;
  private long[] fifo = new long[64 * STRIDE];
  private int fifoAt;
  private int fifoEnd;
  private final HeapEventQueue late = new HeapEventQueue();

  private final HeapEventQueue beyond = new HeapEventQueue();

  private long timePs;
  private long order;
  private long payload;

  /** An empty queue at time 0. */
  public WheelEventQueue() {
    Arrays.fill(slots, NIL);
  }

  @Override
  public void push(long timePs, long order, long payload) {
    size++;
    insert(timePs, order, payload);
  }

  private void insert(long timePs, long order, long payload) {
    long slot = timePs >> SLOT_SHIFT;
    long ahead = slot - currentSlot;
    if (ahead <= 0) {
      pushCurrent(timePs, order, payload);
    } else if (ahead < SLOTS) {
      pushLater((int) slot & MASK, timePs, order, payload);
    } else {
      beyond.push(timePs, order, payload);
    }
  }

  private void pushCurrent(long timePs, long order, long payload) {
    int end = fifoEnd;
    if (end == fifoAt) {
      fifoAt = 0;
      end = 0;
    } else {
      long lastTimePs = fifo[end - STRIDE];
      if (timePs < lastTimePs || (timePs == lastTimePs && order < fifo[end - STRIDE + 1])) {
        late.push(timePs, order, payload);
        return;
      }
      if (end == fifo.length) {
        end = makeRoomInFifo();
      }
    }
    set(fifo, end, timePs, order, payload);
    fifoEnd = end + STRIDE;
  }

  private int makeRoomInFifo() {
    int length = fifoEnd - fifoAt;
    long[] to = length > fifo.length / 2 ? new long[fifo.length * 2] : fifo;
    System.arraycopy(fifo, fifoAt, to, 0, length);
    fifo = to;
    fifoAt = 0;
    return length;
  }

  private void pushLater(int slot, long timePs, long order, long payload) {
    int at = slots[2 * slot + 1];
    if ((at & NEXT) == NEXT) {
      at = extend(slot, at);
    }
    set(blocks, at, timePs, order, payload);
    slots[2 * slot + 1] = at + STRIDE;
    inWheel++;
  }

  private int extend(int slot, int fullAt) {
    int block = newBlock();
    if (fullAt == NIL) {
      slots[2 * slot] = block;
      occupied[slot >> 6] |= 1L << slot;
    } else {
      blocks[fullAt] = block;
    }
    return block;
  }

  private int newBlock() {
    int block = freeBlock;
    if (block != NIL) {
      freeBlock = (int) blocks[block + NEXT];
      return block;
    }
    block = usedBlocks;
    usedBlocks += BLOCK;
    if (usedBlocks > blocks.length) {
      blocks = Arrays.copyOf(blocks, blocks.length * 2);
    }
    return block;
  }

  @Override
  public boolean isEmpty() {
    return size == 0;
  }

  @Override
  public boolean isNextAt(long atPs) { // what is at the time of the last is in its slot
    return (runAt < runEnd && run[runAt] == atPs)
        || (fifoAt < fifoEnd && fifo[fifoAt] == atPs)
        || late.isNextAt(atPs);
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public void pop() {
    size--;
    if (runAt == runEnd && fifoAt == fifoEnd && late.isEmpty()) {
      advance();
    }
    int r = runAt;
    int f = fifoAt;
    boolean fromRun = f == fifoEnd || (r < runEnd && !before(fifo, f, run, r));
    long[] source = fromRun ? run : fifo;
    int at = fromRun ? r : f;
    if (!late.isEmpty() && (at == (fromRun ? runEnd : fifoEnd) || lateIsBefore(source, at))) {
      popLate();
      return;
    }
    timePs = source[at];
    order = source[at + 1];
    payload = source[at + 2];
    if (fromRun) {
      runAt = at + STRIDE;
    } else {
      fifoAt = at + STRIDE;
    }
  }

  private boolean lateIsBefore(long[] source, int at) {
    long time = late.firstTimePs();
    return time < source[at] || (time == source[at] && late.firstOrder() < source[at + 1]);
  }

  private void popLate() {
    late.pop();
    timePs = late.timePs();
    order = late.order();
    payload = late.payload();
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
    if (slots[2 * slot] != NIL) {
      unload(slot);
    }
    while (!beyond.isEmpty() && (beyond.firstTimePs() >> SLOT_SHIFT) - currentSlot < SLOTS) {
      beyond.pop();
      insert(beyond.timePs(), beyond.order(), beyond.payload());
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

  /**
   * Deals a slot's events out into two ascending runs and merges them; sorts them if two are too
   * few.
   */
  private void unload(int slot) {
    final long[] b = blocks;
    final int end = slots[2 * slot + 1];
    final int last = (end - 1) & -BLOCK;
    int block = slots[2 * slot];
    int first = 0; // end of the first run, in run
    int second = 0; // end of the second run, in scratch
    boolean dealing = true;
    while (true) {
      ensureRoom(first + second + BLOCK);
      final long[] r = run;
      final long[] s = scratch;
      final int blockEnd = block == last ? end : block + NEXT;
      for (int at = block; at < blockEnd; at += STRIDE) {
        if (dealing) {
          if (first == 0 || !before(b, at, r, first - STRIDE)) {
            copy(b, at, r, first);
            first += STRIDE;
            continue;
          }
          if (second == 0 || !before(b, at, s, second - STRIDE)) {
            copy(b, at, s, second);
            second += STRIDE;
            continue;
          }
          dealing = false;
          System.arraycopy(s, 0, r, first, second);
          first += second;
          second = 0;
        }
        copy(b, at, r, first);
        first += STRIDE;
      }
      if (block == last) {
        break;
      }
      block = (int) b[block + NEXT];
    }
    b[last + NEXT] = freeBlock;
    freeBlock = slots[2 * slot];
    slots[2 * slot] = NIL;
    slots[2 * slot + 1] = NIL;
    occupied[slot >> 6] &= ~(1L << slot);
    runEnd = first + second;
    inWheel -= runEnd / STRIDE;
    if (dealing) {
      mergeIntoRun(first, second);
    } else {
      sortRun();
    }
  }

  private void ensureRoom(int length) {
    if (length > run.length) {
      run = Arrays.copyOf(run, run.length * 2);
      scratch = Arrays.copyOf(scratch, scratch.length * 2);
    }
  }

  /**
   * Merges the second run into the first from the end, in place; done when the second is used up.
   */
  private void mergeIntoRun(int first, int second) {
    final long[] r = run;
    final long[] s = scratch;
    int a = first - STRIDE;
    int b = second - STRIDE;
    for (int at = first + second - STRIDE; b >= 0; at -= STRIDE) {
      if (a >= 0 && before(s, b, r, a)) {
        copy(r, a, r, at);
        a -= STRIDE;
      } else {
        copy(s, b, r, at);
        b -= STRIDE;
      }
    }
  }

  private void sortRun() {
    if (runEnd <= 24 * STRIDE) {
      insertionSort(run, runEnd);
    } else {
      mergeSort();
    }
  }

  private static void insertionSort(long[] r, int end) {
    for (int i = STRIDE; i < end; i += STRIDE) {
      long t = r[i];
      long o = r[i + 1];
      long p = r[i + 2];
      int j = i - STRIDE;
      while (j >= 0 && (r[j] > t || (r[j] == t && r[j + 1] > o))) {
        copy(r, j, r, j + STRIDE);
        j -= STRIDE;
      }
      set(r, j + STRIDE, t, o, p);
    }
  }

  /** Natural merge sort: finds ascending runs and merges neighbours until one is left. */
  private void mergeSort() {
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
      copy(from, source, to, at);
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

  private static void copy(long[] from, int a, long[] to, int b) {
    to[b] = from[a];
    to[b + 1] = from[a + 1];
    to[b + 2] = from[a + 2];
  }

  private static void set(long[] to, int at, long time, long order, long payload) {
    to[at] = time;
    to[at + 1] = order;
    to[at + 2] = payload;
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
