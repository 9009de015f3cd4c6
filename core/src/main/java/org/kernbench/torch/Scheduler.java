package org.kernbench.torch;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.DeadlockException;

/**
 * Runs the ranks of one spawn, exactly one at a time.
 *
 * <p>In turn: every rank that can run does so, in rank order, until it yields or ends; then, when
 * none can, simulated time runs until every wait that depends on the device alone is over. So the
 * order of all host actions is a function of the program. When neither step moves anything, nothing
 * ever will: that is a deadlock.
 */
final class Scheduler {
  /**
   * Launches that may be under way before the host lets time run, as a driver's queue is finite.
   */
  private static final int PENDING = 4096;

  private static final int PENDING_PER_RANK = 16;

  private final Session session;
  private final Worker[] workers;
  private final SortedMap<Integer, Throwable> failures = new TreeMap<>();
  private final List<Throwable> whileAborting = new ArrayList<>();
  private @Nullable Worker current;
  private boolean aborting;
  private boolean waitedBefore;

  private final int pending;

  Scheduler(Session session, int worldSize, Consumer<Worker> body, int pending) {
    this.session = session;
    this.pending = pending;
    this.workers = new Worker[worldSize];
    for (int rank = 0; rank < worldSize; rank++) {
      workers[rank] = new Worker(this, rank, new Torch(session, rank, false), body);
    }
  }

  /** Unless the host program says another number. */
  static int mostPending(int worldSize) {
    return Math.max(PENDING, PENDING_PER_RANK * worldSize);
  }

  int worldSize() {
    return workers.length;
  }

  @Nullable Worker current() {
    return current;
  }

  boolean isAborting() {
    return aborting;
  }

  /**
   * Runs until all ranks have ended and what they launched is done.
   *
   * @throws SpawnException if ranks failed
   * @throws DeadlockException if ranks wait for each other, or the device cannot move
   */
  void run() {
    try {
      while (failures.isEmpty() && !haveEnded()) {
        if (!round() && !drain()) {
          throw new DeadlockException(deadlock());
        }
      }
      if (failures.isEmpty()) {
        checkFinished();
        attributed(session::synchronize);
      }
    } catch (RuntimeException | Error e) {
      abort();
      whileAborting.forEach(e::addSuppressed);
      throw e;
    }
    abort();
    if (!failures.isEmpty()) {
      SpawnException e = new SpawnException(failures, workers.length);
      whileAborting.forEach(e::addSuppressed);
      throw e;
    }
  }

  private boolean haveEnded() {
    for (Worker w : workers) {
      if (!w.isEnded()) {
        return false;
      }
    }
    return true;
  }

  /**
   * Resumes each rank that can run now; those that become able meanwhile wait for the next round.
   */
  private boolean round() {
    BitSet runnable = new BitSet(workers.length);
    for (Worker w : workers) {
      runnable.set(w.rank(), w.isRunnable());
    }
    for (int rank = runnable.nextSetBit(0); rank >= 0; rank = runnable.nextSetBit(rank + 1)) {
      Worker w = workers[rank];
      current = w;
      try {
        w.resume();
      } catch (Throwable t) {
        failures.put(rank, t);
        aborting = true; // the others stop where they next yield
      } finally {
        current = null;
      }
    }
    if (!aborting) {
      attributed(session.messages::flush);
      attributed(() -> session.keepPendingBelow(pending));
      checkStuckSince();
    }
    return !runnable.isEmpty();
  }

  /** Ranks that wait for others over two rounds may wait for ever, while the others go on. */
  private void checkStuckSince() {
    boolean waiting = false;
    for (Worker w : workers) {
      Wait wait = w.isEnded() ? null : w.waitingFor();
      waiting |= wait != null && !wait.isOver();
    }
    if (waiting && waitedBefore) {
      checkStuck();
    }
    waitedBefore = waiting;
  }

  /** Lets the device end the waits it can end. */
  private boolean drain() {
    checkStuck();
    boolean[] moved = new boolean[1];
    attributed(() -> {
      for (Worker w : workers) {
        Wait wait = w.isEnded() ? null : w.waitingFor();
        if (wait != null && !wait.isOver() && wait.advance(session)) {
          moved[0] = true;
        }
      }
    });
    if (moved[0]) {
      for (Worker w : workers) {
        if (!w.isEnded() && w.waitingFor() instanceof PollWait poll) {
          poll.end();
        }
      }
    }
    return moved[0] || !failures.isEmpty();
  }

  /**
   * Refuses waits that can never end: for a rank that has ended, or for each other in a cycle,
   * while the rest goes on. A wait is fine if all ranks that it needs run, wait for the device, or
   * are in a wait that is fine.
   */
  private void checkStuck() {
    Map<Wait, BitSet> waits = new LinkedHashMap<>();
    BitSet moving = new BitSet();
    for (Worker w : workers) {
      if (w.isEnded()) {
        continue;
      }
      Wait wait = w.waitingFor();
      if (wait == null || wait.isOver()) {
        moving.set(w.rank());
      } else {
        waits.computeIfAbsent(wait, k -> new BitSet()).set(w.rank());
      }
    }
    boolean more = true;
    while (more) {
      more = false;
      for (Iterator<Map.Entry<Wait, BitSet>> i = waits.entrySet().iterator(); i.hasNext(); ) {
        Map.Entry<Wait, BitSet> entry = i.next();
        BitSet missing = entry.getKey().missing();
        missing.andNot(moving);
        if (missing.isEmpty()) {
          moving.or(entry.getValue());
          i.remove();
          more = true;
        }
      }
    }
    if (!waits.isEmpty()) {
      throw new DeadlockException(deadlock());
    }
  }

  /** What ranks have begun together and others never came to. */
  private void checkFinished() {
    StringBuilder s = new StringBuilder();
    for (Rendezvous meeting : session.groups.openMeetings()) {
      s.append("\n  ")
          .append(meeting.fingerprint())
          .append(", at ")
          .append(meeting.firstPlace())
          .append(": ")
          .append(ranks(meeting.missing()))
          .append(" never came");
    }
    for (Post post : session.messages.unmatched()) {
      s.append("\n  rank ")
          .append(post.rank)
          .append(": ")
          .append(post)
          .append(", at ")
          .append(post.place)
          .append(": rank ")
          .append(post.peer)
          .append(" never came");
    }
    if (!s.isEmpty()) {
      throw new CollectiveMismatchException(
          """
          all ranks have ended, but not all came to what others have begun%s
            remedy: every rank must make the same collective calls, equally often\
          """
              .formatted(s));
    }
  }

  /** A kernel's error is the error of the rank that launched it, if one did. */
  private void attributed(Runnable work) {
    try {
      work.run();
    } catch (DeadlockException e) {
      throw new DeadlockException(e.getMessage() + "\n  on the host:" + waits("\n    "));
    } catch (RuntimeException | Error e) {
      int owner = session.owner(e);
      if (owner < 0) {
        throw e;
      }
      failures.put(owner, e);
      aborting = true;
    }
  }

  private void abort() {
    aborting = true;
    for (Worker w : workers) {
      if (!w.isEnded()) {
        current = w;
        try {
          w.abort();
        } catch (Throwable t) {
          whileAborting.add(t);
        } finally {
          current = null;
        }
      }
    }
  }

  // ---- reports ----

  private String deadlock() {
    int waiting = 0;
    boolean messages = false;
    for (Worker w : workers) {
      waiting += w.isEnded() ? 0 : 1;
      messages |= !w.isEnded() && w.waitingFor() instanceof Post;
    }
    return """
    deadlock at %s: no event is queued and %s of %s ranks wait%s
      remedy: every rank must make the same collective calls, equally often%s\
    """
        .formatted(
            session.now(),
            waiting,
            workers.length,
            waits("\n  "),
            messages
                ? "; ranks that send to each other need batchIsendIrecv, or isend before recv"
                : "");
  }

  /** One line for each thing that ranks wait for, and one for those that have ended. */
  private String waits(String separator) {
    Map<String, BitSet> waits = new LinkedHashMap<>();
    BitSet ended = new BitSet();
    for (Worker w : workers) {
      Wait wait = w.waitingFor();
      if (w.isEnded()) {
        ended.set(w.rank());
      } else if (wait != null) {
        String what = wait.describe(this) + "; called at " + w.place();
        waits.computeIfAbsent(what, k -> new BitSet()).set(w.rank());
      }
    }
    StringBuilder s = new StringBuilder();
    waits.forEach((what, who) -> s.append(separator).append(ranks(who)).append(": ").append(what));
    if (!ended.isEmpty()) {
      s.append(separator).append(ranks(ended)).append(": ended");
    }
    return s.toString();
  }

  /** For example {@code rank 3} or {@code ranks 0-4, 7}. */
  static String ranks(BitSet set) {
    StringBuilder s = new StringBuilder(set.cardinality() == 1 ? "rank " : "ranks ");
    String separator = "";
    for (int from = set.nextSetBit(0); from >= 0; ) {
      int to = set.nextClearBit(from) - 1;
      s.append(separator).append(from).append(to > from ? "-" + to : "");
      separator = ", ";
      from = set.nextSetBit(to + 1);
    }
    return s.toString();
  }
}
