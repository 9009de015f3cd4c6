package org.kernbench.sim;

/**
 * A priority queue of events, each three longs: time, order among events of one time, payload.
 *
 * <p>Events leave in ascending ({@code timePs}, {@code order}); both are compared as signed longs.
 * Times never go below the time of the last popped event. The queue stores no objects, so that
 * pushing and popping allocate nothing once the arrays have grown.
 */
public interface EventQueue {
  /** Adds an event. {@code timePs} must not be below the time of the last popped event. */
  void push(long timePs, long order, long payload);

  /** Whether nothing is queued. */
  boolean isEmpty();

  /**
   * Whether the first event, if any, is at {@code timePs}, which is the time of the event popped
   * last.
   */
  boolean isNextAt(long timePs);

  /** How many events are queued. */
  int size();

  /**
   * Removes the first event and makes it readable by the three accessors below. The queue must not
   * be empty.
   */
  void pop();

  /** Time in picoseconds of the event popped last. */
  long timePs();

  /** Order of the event popped last. */
  long order();

  /** Payload of the event popped last. */
  long payload();
}
