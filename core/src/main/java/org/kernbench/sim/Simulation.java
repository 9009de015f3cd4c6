package org.kernbench.sim;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The clock and the run loop of one simulated world.
 *
 * <p>Time is a {@code long} in picoseconds (about 106 days). Events are totally ordered by (time,
 * priority, key): at one time all <em>keyed</em> events run first, in ascending key, then all
 * others in the order in which they were scheduled, and those scheduled to be <em>last</em> when no
 * other is left at that time. The key lets a model state its own tie rule (the fabric: transfer id,
 * then chunk number) instead of inheriting one from the accident of scheduling. The order is tested
 * by {@code SimulationTest} and, against an obvious twin, by {@code EventQueueTest}.
 *
 * <p>A world whose parts matter to each other only after a delay may run {@linkplain #runApart
 * apart} for a while: then each place has a clock of its own, events are in that order at each
 * place, and {@link #nowPs} is the time at the place of the event that is being handled.
 */
public final class Simulation {
  private static final long UNKEYED = 1L << 62;
  private static final long LAST = UNKEYED | 1L << 61;
  private static final int MAX_HANDLERS = 256;
  private static final int KIND_BITS = 8;

  private final EventQueue queue;
  private final EventHandler[] handlers = new EventHandler[MAX_HANDLERS];
  private int handlerCount;

  /** By place, while they run apart; null otherwise. */
  private @Nullable PlacedEventQueue placed;

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
    return isApart() ? placed().isEmpty() : queue.isEmpty();
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
   * The same, at a place.
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
   * The same, at a place.
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
    PlacedEventQueue p = placed;
    if (p == null) {
      queue.push(timePs, order, payload);
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
    final PlacedEventQueue p = placed;
    if (p != null) {
      return step(p);
    }
    final EventQueue q = queue;
    if (q.isEmpty()) {
      return false;
    }
    q.pop();
    handle(q.timePs(), q.payload());
    return true;
  }

  private boolean step(PlacedEventQueue p) {
    if (p.isEmpty()) {
      return false;
    }
    p.pop();
    handle(p.timePs(), p.payload());
    return true;
  }

  private void handle(long timePs, long payload) {
    nowPs = timePs;
    eventCount++;
    handlers[(int) (payload >>> 40)].onEvent((int) (payload >>> 32) & 0xFF, (int) payload);
  }

  // ---- places ----

  /** Whether places run apart. */
  public boolean isApart() {
    return placed != null;
  }

  /**
   * From now on each place may run ahead of others as far as they let it. What is scheduled at a
   * place from elsewhere must keep the promise of {@link Places}.
   *
   * @throws IllegalStateException if an event is queued, or places run apart already
   */
  public void runApart(Places places) {
    if (!isQuiet() || isApart()) {
      throw new IllegalStateException("bug: events are queued, or places run apart already");
    }
    placed = new PlacedEventQueue(places, nowPs);
  }

  /**
   * Ends {@link #runApart}: handles what is left, after which it is everywhere as late as at the
   * place that is ahead of all others.
   *
   * @param atLeastPs or this late, if that is later
   */
  public void runTogether(long atLeastPs) {
    while (isApart() && step(placed())) {
      // each step is one event
    }
    nowPs = Math.max(atLeastPs, placed().latestPs());
    placed = null;
  }

  /**
   * Ends {@link #runApart} after an error, if places run apart: what is left happens on one clock,
   * which is that of the place ahead of all others, so what should have been before happens then.
   */
  public void giveUpApart() {
    PlacedEventQueue p = placed;
    if (p == null) {
      return;
    }
    nowPs = p.latestPs();
    placed = null;
    while (!p.isEmpty()) {
      p.pop();
      queue.push(Math.max(nowPs, p.timePs()), p.order(), p.payload());
    }
  }

  private PlacedEventQueue placed() {
    return Objects.requireNonNull(placed, "places run together");
  }

  /** Handles events until none is left. */
  public void run() {
    while (step()) {
      // each step is one event
    }
  }
}
