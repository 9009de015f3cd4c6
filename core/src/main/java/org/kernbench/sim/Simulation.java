package org.kernbench.sim;

/**
 * The clock and the run loop of one simulated world.
 *
 * <p>Time is a {@code long} in picoseconds (about 106 days). Events are totally ordered by (time,
 * priority, key): at one time all <em>keyed</em> events run first, in ascending key, then all
 * others in the order in which they were scheduled, and those scheduled to be <em>last</em> when no
 * other is left at that time. The key lets a model state its own tie rule (the fabric: transfer id,
 * then chunk number) instead of inheriting one from the accident of scheduling. The order is tested
 * by {@code SimulationTest} and, against an obvious twin, by {@code EventQueueTest}.
 */
public final class Simulation {
  private static final long UNKEYED = 1L << 62;
  private static final long LAST = UNKEYED | 1L << 61;
  private static final int MAX_HANDLERS = 256;
  private static final int KIND_BITS = 8;

  private final EventQueue queue;
  private final EventHandler[] handlers = new EventHandler[MAX_HANDLERS];
  private int handlerCount;
  private long nowPs;
  private long sequence;
  private long eventCount;

  /** A world at time 0 with the default queue. */
  public Simulation() {
    this(new WheelEventQueue());
  }

  /** A world at time 0 with the given queue, which must be empty. */
  public Simulation(EventQueue queue) {
    this.queue = queue;
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
    return queue.isEmpty();
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
    push(timePs, UNKEYED | sequence++, handler, kind, arg);
  }

  /**
   * Schedules an event that runs before the unkeyed events of its time, in ascending key among the
   * keyed ones.
   *
   * @param key 0 to 2^62 - 1; unique among the keyed events of one time
   */
  public void scheduleKeyed(long timePs, long key, int handler, int kind, int arg) {
    push(timePs, key, handler, kind, arg);
  }

  /**
   * Schedules an event that runs after all others of its time, save those of its own sort that were
   * scheduled before it: for a choice that needs to know everything that happens then.
   */
  public void scheduleLast(long timePs, int handler, int kind, int arg) {
    push(timePs, LAST | sequence++, handler, kind, arg);
  }

  private void push(long timePs, long order, int handler, int kind, int arg) {
    if (timePs < nowPs) {
      throw new IllegalArgumentException(
          "event scheduled at " + timePs + " ps, before the current time " + nowPs + " ps");
    }
    if (kind >>> KIND_BITS
        != 0) { // callers pass constants, for which the compiled code has no check
      throw new IllegalArgumentException("event kind: got " + kind + "; expected 0 to 255");
    }
    queue.push(timePs, order, ((long) handler << 40) | ((long) kind << 32) | (arg & 0xFFFF_FFFFL));
  }

  /**
   * Handles the next event.
   *
   * @return false if there was none
   */
  public boolean step() {
    final EventQueue q = queue;
    if (q.isEmpty()) {
      return false;
    }
    q.pop();
    nowPs = q.timePs();
    eventCount++;
    long payload = q.payload();
    handlers[(int) (payload >>> 40)].onEvent((int) (payload >>> 32) & 0xFF, (int) payload);
    return true;
  }

  /** Handles events until none is left. */
  public void run() {
    while (step()) {
      // each step is one event
    }
  }
}
