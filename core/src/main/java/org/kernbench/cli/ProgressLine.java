package org.kernbench.cli;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import org.kernbench.device.simulator.RunWatch;
import org.kernbench.eval.Progress;

/**
 * Shows progress on standard error: after two seconds one line, redrawn, with what is under way,
 * how long it took and how long the rest should take: of several points by those that are done, of
 * one simulation by a forecast of its end, if there is one. Only on a terminal; a pipe gets nothing
 * of it. Names, anywhere, a kernel that has had control for half a minute without issuing a
 * command, for that may be one that never ends.
 */
final class ProgressLine implements Progress {
  private static final long FIRST_NS = 2_000_000_000L;
  private static final long STUCK_NS = 30_000_000_000L;
  private static final long TICK_MS = 500;
  private static final int BAR = 24;

  private final Terminal terminal;
  private final boolean quiet;
  private final LongSupplier clock;
  private final RunWatch run;
  private final long beginNs;

  private int done;
  private int total;
  private String what = "";
  private boolean drawn;
  private boolean cleared;

  /** When each turn of a kernel was seen first; and those that were named. */
  private Map<RunWatch.Turn, Long> turns = new HashMap<>();

  private final Set<RunWatch.Turn> named = new HashSet<>();

  /** A line that shows how things are twice a second until it is cleared; none if quiet. */
  ProgressLine(Terminal terminal, boolean quiet) {
    this(terminal, quiet, System::nanoTime);
    if (!quiet) {
      Thread.ofPlatform().daemon().name("progress").start(this::tick);
    }
  }

  /** A line that shows how things are when it is {@linkplain #look asked to}; none if quiet. */
  ProgressLine(Terminal terminal, boolean quiet, LongSupplier clock) {
    this.quiet = quiet;
    this.terminal = terminal;
    this.clock = clock;
    this.run = new RunWatch(terminal.interactive());
    this.beginNs = clock.getAsLong();
  }

  private void tick() {
    try {
      while (look()) {
        Thread.sleep(TICK_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public synchronized void at(int newDone, int newTotal, String newWhat) {
    done = newDone;
    total = newTotal;
    what = newWhat;
  }

  @Override
  public Optional<RunWatch> watch() {
    return quiet ? Optional.empty() : Optional.of(run);
  }

  /** Draws the line, and names kernels, if it is time for that; false if there is none any more. */
  synchronized boolean look() {
    if (quiet || cleared) {
      return false;
    }
    long now = clock.getAsLong();
    nameStuckKernels(now);
    if (terminal.interactive() && now - beginNs >= FIRST_NS) {
      terminal.err().print("\r\033[K" + text(now));
      terminal.err().flush();
      drawn = true;
    }
    return true;
  }

  private String text(long now) {
    long seconds = (now - beginNs) / 1_000_000_000L;
    if (total == 0) {
      return "running, " + seconds + " s" + howFar(now);
    }
    int filled = BAR * done / total;
    String bar = "[" + "#".repeat(filled) + "-".repeat(BAR - filled) + "] ";
    String text = String.format(Locale.ROOT, "%d/%d %s, %d s", done, total, what, seconds);
    return bar + text + (done == 0 ? "" : ", " + left(now) + " s left");
  }

  /** Of a single simulation: how far it is and, with a forecast of its end, how long that takes. */
  private String howFar(long now) {
    RunWatch.HowFar far = run.howFar();
    if (far.events() == 0) {
      return "";
    }
    double us = far.timePs() / 1e6;
    String so = String.format(Locale.ROOT, ": %,.1f million events, ", far.events() / 1e6);
    if (far.timePs() == 0 || far.timePs() >= far.endPs()) {
      return so + String.format(Locale.ROOT, "%,.1f us simulated", us);
    }
    double left = (now - beginNs) / 1e9 * (far.endPs() - far.timePs()) / far.timePs();
    return so
        + String.format(
            Locale.ROOT,
            "%,.1f of about %,.1f us simulated, about %d s left",
            us,
            far.endPs() / 1e6,
            Math.round(left));
  }

  private long left(long now) {
    return Math.round((now - beginNs) / 1e9 / done * (total - done));
  }

  private void nameStuckKernels(long now) {
    Map<RunWatch.Turn, Long> seen = new HashMap<>();
    for (RunWatch.Turn turn : run.turns()) {
      long since = turns.getOrDefault(turn, now);
      seen.put(turn, since);
      if (now - since >= STUCK_NS && named.add(turn)) {
        erase();
        terminal.say(
            """
            kernel %s has run for 30 s without issuing a command, at %s; if it never ends, \
            end the run with Ctrl-C\
            """
                .formatted(turn.kernel(), run.line(turn)));
        terminal.err().flush();
      }
    }
    turns = seen;
  }

  private void erase() {
    if (drawn) {
      terminal.err().print("\r\033[K");
      terminal.err().flush();
      drawn = false;
    }
  }

  /** Takes the line off the terminal, for good. */
  synchronized void clear() {
    erase();
    cleared = true;
  }
}
