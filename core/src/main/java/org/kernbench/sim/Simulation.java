package org.kernbench.sim;

import org.jspecify.annotations.Nullable;

/**
 * The clock and the run loop of one simulated world.
 *
 * <p>Time is a {@code long} in picoseconds (about 106 days). Events are totally ordered by (time,
 * priority, key): at one time all <em>keyed</em> events run first, in ascending key, then all
 * others in the order in which they were scheduled, those scheduled to be <em>last</em> when no
 * other is left at that time, and those <em>after all</em> when none of these is either, in
 * ascending rank. The key lets a model state its own tie rule (the fabric: transfer id, then chunk
 * number) instead of inheriting one from the accident of scheduling. The order is tested by {@code
 * SimulationTest} and, against an obvious twin, by {@code EventQueueTest}.
 *
 * <p>In a world that runs {@linkplain ApartSimulation apart} each place has a clock of its own,
 * events are in that order at each place, and {@link #nowPs} is the time at the place of the event
 * that is being handled.
 */
public final class Simulation {
  private static final long UNKEYED = 1L << 62;
  private static final long LAST = UNKEYED | 1L << 61;
  private static final long AFTER_ALL = LAST | 1L << 60;
  private static final long FIRST = 1L << 48;
  private static final int MAX_HANDLERS = 256;
  private static final int KIND_BITS = 8;

  /** Of a world on one clock, or else the part of it whose places run apart. */
  private @Nullable EventQueue queue;

  private final @Nullable Partition partition;

  private final EventHandler[] handlers = new EventHandler[MAX_HANDLERS];
  private int handlerCount;

  private long nowPs;
  private long sequence = FIRST;

  /**
   * As {@code sequence}, while something catches up: what is scheduled then goes before all else.
   */
  private long earlySequence;

  private long eventCount;

  /** A world at time 0 with the default queue. */
  public Simulation() {
    this(new WheelEventQueue());
  }

  /** A world at time 0 with the given queue, which must be empty. */
  public Simulation(EventQueue queue) {
    this.queue = queue;
    this.partition = null;
  }

  /** Some places of a world, which run ahead of each other. */
  Simulation(Partition partition, long nowPs) {
    this.queue = null;
    this.partition = partition;
    this.nowPs = nowPs;
  }

  private EventQueue queue() {
    EventQueue q = queue;
    if (q == null) {
      throw new IllegalStateException("bug: places run apart, there is no next event of all");
    }
    return q;
  }

  /** The current time in picoseconds. */
  public long nowPs() {
    return nowPs;
  }

  /** Events handled so far. */
  public long eventCount() {
    return eventCount;
  }

  /** Whether no event is queued: nothing will ever happen again unless somebody schedules it. */
  public boolean isQuiet() {
    return queue().isEmpty();
  }

  /**
   * Registers a receiver of events.
   *
   * @return its id for {@link #schedule}
   */
  public int register(EventHandler handler) {
    if (handlerCount == MAX_HANDLERS) {
      throw new IllegalStateException("more than " + MAX_HANDLERS + " event handlers");
    }
    handlers[handlerCount] = handler;
    return handlerCount++;
  }

  /**
   * Schedules an event behind all events already scheduled for that time.
   *
   * @param timePs when; not before {@link #nowPs}
   * @param handler id from {@link #register}
   * @param kind 0 to 255, passed through
   * @param arg passed through
   * @throws IllegalArgumentException if {@code timePs} or {@code kind} is out of range
   */
  public void schedule(long timePs, int handler, int kind, int arg) {
    schedule(0, timePs, handler, kind, arg);
  }

  /**
   * Schedules an event at a place, behind all events already scheduled for that time.
   *
   * @param place where its effects are; matters only while places run apart
   */
  public void schedule(int place, long timePs, int handler, int kind, int arg) {
    push(place, timePs, UNKEYED | sequence++, handler, kind, arg);
  }

  /**
   * Schedules an event that runs before the unkeyed events of its time, in ascending key among the
   * keyed ones.
   *
   * @param key 0 to 2^62 - 1; unique among the keyed events of one time
   */
  public void scheduleKeyed(long timePs, long key, int handler, int kind, int arg) {
    scheduleKeyed(0, timePs, key, handler, kind, arg);
  }

  /**
   * Schedules a keyed event at a place.
   *
   * @param place where its effects are; matters only while places run apart
   */
  public void scheduleKeyed(int place, long timePs, long key, int handler, int kind, int arg) {
    push(place, timePs, key, handler, kind, arg);
  }

  /**
   * Schedules an event that runs after all others of its time, save those of its own sort that were
   * scheduled before it: for a choice that needs to know everything that happens then. Not while
   * places run apart.
   */
  public void scheduleLast(long timePs, int handler, int kind, int arg) {
    if (isApart()) {
      throw new IllegalStateException("bug: places run apart, nobody knows all that happens then");
    }
    push(0, timePs, LAST | sequence++, handler, kind, arg);
  }

  /**
   * Schedules an event that runs when all else of its time has happened, in ascending rank: for
   * what may not depend on the order of what happens then. Not while places run apart.
   *
   * @param rank 0 to 2^60 - 1; unique among the events of one time that are scheduled so
   */
  public void scheduleAfterAll(long timePs, long rank, int handler, int kind, int arg) {
    if (isApart()) {
      throw new IllegalStateException("bug: places run apart, nobody knows all that happens then");
    }
    push(0, timePs, AFTER_ALL | rank, handler, kind, arg);
  }

  private void push(int place, long timePs, long order, int handler, int kind, int arg) {
    if (timePs < nowPs) {
      throw new IllegalArgumentException(
          "event scheduled at " + timePs + " ps, before the current time " + nowPs + " ps");
    }
    if (kind >>> KIND_BITS
        != 0) { // callers pass constants, for which the compiled code has no check
      throw new IllegalArgumentException("event kind: got " + kind + "; expected 0 to 255");
    }
    long payload = ((long) handler << 40) | ((long) kind << 32) | (arg & 0xFFFF_FFFFL);
    final Partition p = partition;
    if (p == null) {
      queue().push(timePs, order, payload);
    } else {
      p.push(place, timePs, order, payload);
    }
  }

  /**
   * Handles the next event.
   *
   * @return false if there was none
   */
  public boolean step() {
    final EventQueue q = queue();
    if (q.isEmpty()) {
      return false;
    }
    q.pop();
    handle(q.timePs(), q.payload());
    return true;
  }

  /** Handles all events that are left of the present picosecond, and those that come of them. */
  public void finishPicosecond() {
    while (queue().isNextAt(nowPs)) {
      step();
    }
  }

  /**
   * Goes back to an earlier time for something that was left out since, does it, and all that
   * follows from it up to the event that is being handled or was handled last; what follows later
   * is queued with all else. Unkeyed events that are scheduled meanwhile go before those scheduled
   * otherwise, among themselves in their order. Only for what nothing since could notice and what
   * notices nothing that was done since. Not while places run apart.
   *
   * @param fromPs when it begins; not after now
   * @param begin does it, at that time
   */
  public void catchUp(long fromPs, Runnable begin) {
    final EventQueue whole = queue();
    final EventQueue left = new HeapEventQueue();
    final long untilPs = nowPs;
    final long untilOrder = whole.order();
    final long after = sequence;
    final boolean within = after < FIRST;
    if (!within) {
      sequence = earlySequence;
    }
    nowPs = fromPs;
    queue = left;
    try {
      begin.run();
      while (!left.isEmpty()) {
        left.pop();
        if (left.timePs() > untilPs || (left.timePs() == untilPs && left.order() >= untilOrder)) {
          whole.push(left.timePs(), left.order(), left.payload());
          break; // those that are left come later still
        }
        handle(left.timePs(), left.payload());
      }
      while (!left.isEmpty()) {
        left.pop();
        whole.push(left.timePs(), left.order(), left.payload());
      }
    } finally {
      queue = whole;
      nowPs = untilPs;
      if (!within) {
        earlySequence = sequence;
        sequence = after;
      }
    }
  }

  /** Handles an event. */
  void handle(long timePs, long payload) {
    nowPs = timePs;
    eventCount++;
    handlers[(int) (payload >>> 40)].onEvent((int) (payload >>> 32) & 0xFF, (int) payload);
  }

  /** Handles events until none is left. */
  public void run() {
    while (step()) {
      // each step is one event
    }
  }

  /**
   * Something has happened beside this queue, in an {@link ApartSimulation}: it is later now.
   *
   * @param timePs until when; no event is queued before that
   * @param events how many have been handled
   */
  public void passOver(long timePs, long events) {
    nowPs = Math.max(nowPs, timePs);
    eventCount += events;
  }

  // ---- places that run apart ----

  /** Whether places run apart, of which these are some. */
  public boolean isApart() {
    return partition != null;
  }

  /** Whether events at a place are scheduled here. */
  public boolean holds(int place) {
    return partition == null || partition.holds(place);
  }

  /**
   * Has something done where the events of a place are scheduled, which is elsewhere; what it does
   * there must keep the promise of {@link Places}. It finds the time that it is here.
   */
  public void post(int place, Runnable what) {
    if (partition == null) {
      throw new IllegalStateException("bug: all places are here");
    }
    partition.post(place, what);
  }

  /** It is as late as where something was posted. */
  void at(long timePs) {
    nowPs = timePs;
  }
}
