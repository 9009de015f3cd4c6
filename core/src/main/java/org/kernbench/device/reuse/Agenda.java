package org.kernbench.device.reuse;

import java.util.HashMap;
import java.util.Map;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Simulation;

/** What replays have scheduled, by the argument of the event. */
final class Agenda implements EventHandler {
  private static final int KIND = 0;

  /** Ranks of what comes after the starts of launches. */
  private static final long AFTER_STARTS = 1L << 40;

  private final Simulation sim;
  private final int handler;
  private final Map<Integer, Runnable> scheduled = new HashMap<>();
  private int count;

  Agenda(Simulation sim) {
    this.sim = sim;
    this.handler = sim.register(this);
  }

  /** Something happens at a place and time; returns its number. */
  int at(int place, long timePs, Runnable what) {
    scheduled.put(count, what);
    sim.schedule(place, timePs, handler, KIND, count);
    return count++;
  }

  /**
   * A launch starts at a time, as launches do: when all else has happened, in the order of calls.
   */
  void startAt(long timePs, MemoLaunch launch, Runnable what) {
    scheduled.put(count, what);
    sim.scheduleAfterAll(timePs, launch.callNumber(), handler, KIND, count++);
  }

  /** Something happens at a time, after all else that does, starts too; returns its number. */
  int lastAt(long timePs, Runnable what) {
    scheduled.put(count, what);
    sim.scheduleAfterAll(timePs, AFTER_STARTS + count, handler, KIND, count);
    return count++;
  }

  /** Something does not happen after all. */
  void cancel(int number) {
    scheduled.remove(number);
  }

  @Override
  public void onEvent(int kind, int arg) {
    Runnable what = scheduled.remove(arg);
    if (what != null) {
      what.run();
    }
  }
}
