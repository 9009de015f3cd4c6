package org.kernbench.eval;

import java.util.Optional;
import org.kernbench.machine.SimulationException;
import org.kernbench.sim.Coroutine;

/**
 * Ends a run in which a rank or a kernel waits for a lock that another one holds while it is
 * suspended: both run only when the simulator lets them, so the lock would never be free. Ranks and
 * kernels have no need of locks, since never two of them run at once.
 */
final class LockWatch implements AutoCloseable {
  private static final long LOOK_MS = 500;
  private static final int LOOKS = 4;

  private final Thread watched;
  private final Thread watcher;

  private LockWatch(Thread watched) {
    this.watched = watched;
    this.watcher = Thread.ofPlatform().daemon().name("lock watch").unstarted(this::watch);
  }

  /** Watches what the calling thread runs, until it is closed. */
  static LockWatch start() {
    LockWatch watch = new LockWatch(Thread.currentThread());
    watch.watcher.start();
    return watch;
  }

  @Override
  public void close() {
    watcher.interrupt();
  }

  private void watch() {
    Optional<Coroutine> stuck = Optional.empty();
    int seen = 0;
    long lookMs = LOOK_MS;
    try {
      while (true) {
        Thread.sleep(lookMs);
        Optional<Coroutine> now = Coroutine.runBy(watched).filter(Coroutine::waitsForLock);
        seen = now.isPresent() && now.equals(stuck) ? seen + 1 : 1;
        stuck = now;
        if (stuck.isPresent() && seen >= LOOKS) {
          Coroutine one = stuck.get();
          one.giveUp(new SimulationException(message(one)));
          stuck = Optional.empty();
          lookMs = 1; // the ranks after it come to the same lock, and the run is lost anyway
        }
      }
    } catch (InterruptedException e) {
      // the run is over
    }
  }

  private static String message(Coroutine stuck) {
    return """
    %swaits for a lock that is not given back; another rank or kernel holds it \
    while it waits itself. Hold no lock across a collective, a read or a launch: \
    two ranks, or two kernels, never run at the same time\
    """
        .formatted(
            UserFault.firstUserPlace(stuck.stackTrace()).map(place -> place + ": ").orElse(""));
  }
}
