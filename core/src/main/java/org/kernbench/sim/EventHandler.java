package org.kernbench.sim;

/**
 * Receives the events that were scheduled for it; registered once with {@link Simulation#register}.
 */
@FunctionalInterface
public interface EventHandler {
  /**
   * Handles one event at the simulation's current time.
   *
   * @param kind what happened; 0 to 255, the handler's own vocabulary
   * @param arg which of the handler's things it happened to
   */
  void onEvent(int kind, int arg);
}
