package org.kernbench.device;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.kernbench.device.log.KernelLines;
import org.kernbench.sim.Coroutine;

/**
 * Shows a run to another thread: which kernels have control, so that one that never issues another
 * command can be named; and how far simulated time is. Knows no clock: who looks twice and finds
 * the same turn knows how long that was.
 *
 * <p>One slot per package, because packages that run apart have a thread each. Writing costs a few
 * nanoseconds for each command; the time costs nothing, as it is read where it stands.
 */
public final class RunWatch {
  private static final int SLOTS = 64;

  private final AtomicReferenceArray<Coroutine> running = new AtomicReferenceArray<>(SLOTS);
  private final AtomicLongArray turns = new AtomicLongArray(SLOTS);

  /**
   * A kernel that has control.
   *
   * @param number of its last command, among those of its package: the same as long as it issues
   *     none
   * @param slot of its package
   * @param kernel its name and PE, {@code name@sip0.cube0.pe0}
   */
  public record Turn(long number, int slot, String kernel) {}

  /**
   * How far a run is.
   *
   * @param timePs simulated so far, a little old where packages run apart
   * @param events handled so far
   * @param endPs when it should end by a forecast, simulated; 0 if nobody knows
   */
  public record HowFar(long timePs, long events, long endPs) {}

  private volatile LongSupplier timePs = () -> 0;
  private volatile LongSupplier events = () -> 0;
  private final boolean asksForEnd;
  private volatile long endPs;

  /**
   * Watches nothing yet; give it to {@link SimulatorOptions#showing}.
   *
   * @param asksForEnd whether a forecast of the end is worth its time
   */
  public RunWatch(boolean asksForEnd) {
    this.asksForEnd = asksForEnd;
  }

  /** What is simulated from now on tells its time and its events so; read by another thread. */
  public void follows(LongSupplier newTimePs, LongSupplier newEvents) {
    timePs = newTimePs;
    events = newEvents;
  }

  /**
   * When the run should end.
   *
   * @param forecast in simulated picoseconds, empty if there is none; asked only if somebody wants
   *     to know
   */
  public void expects(Supplier<OptionalLong> forecast) {
    if (asksForEnd) {
      endPs = forecast.get().orElse(0);
    }
  }

  /** May be called by any thread. */
  public HowFar howFar() {
    return new HowFar(timePs.getAsLong(), events.getAsLong(), endPs);
  }

  /** A program of a package is given control. */
  void begins(int sip, Coroutine program) {
    said(sip);
    running.lazySet(sip % SLOTS, program);
  }

  /** It has issued a command. */
  void said(int sip) {
    int slot = sip % SLOTS;
    turns.lazySet(slot, turns.getPlain(slot) + 1);
  }

  /** It has given control back. */
  void ends(int sip) {
    running.lazySet(sip % SLOTS, null);
  }

  /** The kernels that have control now; may be called by any thread. */
  public List<Turn> turns() {
    List<Turn> all = new ArrayList<>();
    for (int slot = 0; slot < SLOTS; slot++) {
      Coroutine program = running.get(slot);
      if (program != null) {
        all.add(new Turn(turns.get(slot), slot, program.name()));
      }
    }
    return all;
  }

  /**
   * Source line at which a kernel is, {@code File.java:12}; "unknown line" if it is there no more.
   */
  public String line(Turn turn) {
    Coroutine program = running.get(turn.slot);
    return program == null ? "unknown line" : KernelLines.of(program.stackTrace());
  }
}
