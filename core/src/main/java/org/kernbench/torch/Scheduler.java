package org.kernbench.torch;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Launch;
import org.kernbench.machine.CannotFoldException;

/**
 * Runs the ranks of one spawn, exactly one at a time.
 *
 * <p>In turn: every rank that can run does so, in rank order, until it yields or ends; then, when
 * none can, simulated time runs until the first wait is over that depends on the device alone: each
 * rank has a host of its own, which goes on at the moment at which its own wait ends (ADR 0329),
 * and has room for so many launches (ADR 0333). So the order of all host actions is a function of
 * the program. When neither step moves anything, nothing ever will: that is a deadlock.
 */
final class Scheduler {
  /** Launches of a rank that may be under way before its host waits: a driver's queue is finite. */
  static final int PENDING = 4096;

  private final Session session;
  private final Groups groups;
  private final Rank[] ranks;
  private final SortedMap<Integer, Throwable> failures = new TreeMap<>();
  private final List<Throwable> whileAborting = new ArrayList<>();
  private @Nullable Rank current;
  private boolean aborting;
  private boolean waitedBefore;

  private final int pending;

  Scheduler(Session session, Groups groups, int worldSize, Consumer<Worker> body, int pending) {
    this.session = session;
    this.groups = groups;
    this.pending = pending;
    this.ranks =
        IntStream.range(0, worldSize)
            .filter(session::isSimulated)
            .mapToObj(rank -> rank(rank, worldSize, body))
            .toArray(Rank[]::new);
  }

  private Rank rank(int number, int worldSize, Consumer<Worker> body) {
    Worker worker = new Worker(number, worldSize, new Torch(session, groups, number, false));
    return new Rank(number, worldSize, () -> body.accept(worker), () -> aborting);
  }

  @Nullable Rank current() {
    return current;
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
        session.checkTranslations();
      }
    } catch (RuntimeException | Error e) {
      abort();
      whileAborting.forEach(e::addSuppressed);
      throw e;
    }
    abort();
    if (!failures.isEmpty()) {
      if (failures.get(failures.firstKey()) instanceof CannotFoldException e) {
        throw e;
      }
      SpawnException e = new SpawnException(failures, ranks.length);
      whileAborting.forEach(e::addSuppressed);
      throw e;
    }
  }

  private boolean haveEnded() {
    for (Rank r : ranks) {
      if (!r.isEnded()) {
        return false;
      }
    }
    return true;
  }

  /**
   * Resumes each rank that can run now; those that become able meanwhile wait for the next round.
   */
  private boolean round() {
    BitSet runnable = new BitSet(ranks.length);
    for (int i = 0; i < ranks.length; i++) {
      runnable.set(i, ranks[i].isRunnable());
    }
    for (int i = runnable.nextSetBit(0); i >= 0; i = runnable.nextSetBit(i + 1)) {
      Rank r = ranks[i];
      current = r;
      try {
        r.resume();
      } catch (Throwable t) {
        failures.put(r.number(), t);
        aborting = true; // the others stop where they next yield
      } finally {
        current = null;
      }
    }
    if (!aborting) {
      attributed(groups.messages()::flush);
      for (Rank r : ranks) {
        if (!r.isEnded()) {
          r.waitForRoom(session.beyond(r.number(), pending));
        }
      }
      checkStuckSince();
    }
    return !runnable.isEmpty();
  }

  /** Ranks that wait for others over two rounds may wait for ever, while the others go on. */
  private void checkStuckSince() {
    boolean waiting = false;
    for (Rank r : ranks) {
      Wait wait = r.isEnded() ? null : r.waitingFor();
      waiting |= wait != null && !wait.isOver();
    }
    if (waiting && waitedBefore) {
      checkStuck();
    }
    waitedBefore = waiting;
  }

  /** Lets time run until the first wait ends that the device alone can end. */
  private boolean drain() {
    checkStuck();
    boolean[] moved = new boolean[1];
    attributed(() -> {
      Set<Wait> waits = waits();
      moved[0] = ended(waits) || driven(waits);
    });
    if (moved[0]) {
      for (Rank r : ranks) {
        if (!r.isEnded() && r.waitingFor() instanceof Work.Poll poll) {
          poll.end();
        }
      }
    }
    return moved[0] || !failures.isEmpty();
  }

  /** What ranks wait for, each once. */
  private Set<Wait> waits() {
    Set<Wait> waits = new LinkedHashSet<>();
    for (Rank r : ranks) {
      Wait wait = r.isEnded() ? null : r.waitingFor();
      if (wait != null) {
        waits.add(wait);
      }
    }
    return waits;
  }

  /** Ends waits for which enough has happened; whether there was one. */
  private boolean ended(Set<Wait> waits) {
    boolean any = false;
    for (Wait wait : waits) {
      any |= wait.endIfDone();
    }
    return any;
  }

  /** Lets time run until a wait is over, if the device can end one. */
  private boolean driven(Set<Wait> waits) {
    do {
      List<Launch> launches = waits.stream().flatMap(wait -> wait.awaits().stream()).toList();
      if (launches.isEmpty()) {
        return false;
      }
      session.driveToFirst(launches);
    } while (!ended(waits));
    return true;
  }

  /**
   * Refuses waits that can never end: for a rank that has ended, or for each other in a cycle,
   * while the rest goes on. A wait is fine if all ranks that it needs run, wait for the device, or
   * are in a wait that is fine.
   */
  private void checkStuck() {
    Map<Wait, BitSet> waits = new LinkedHashMap<>();
    BitSet moving = new BitSet();
    for (Rank r : ranks) {
      if (r.isEnded()) {
        continue;
      }
      Wait wait = r.waitingFor();
      if (wait == null || wait.isOver()) {
        moving.set(r.number());
      } else {
        waits.computeIfAbsent(wait, k -> new BitSet()).set(r.number());
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
    for (Rendezvous meeting : groups.openMeetings()) {
      s.append("\n  ")
          .append(meeting.fingerprint())
          .append(", at ")
          .append(meeting.firstPlace())
          .append(": ")
          .append(Rank.named(meeting.missing()))
          .append(" never came");
    }
    for (Post post : groups.messages().unmatched()) {
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
      throw new DeadlockException(
          e.getMessage() + "\n  on the host:" + waits("\n    "), e.shortage());
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
    for (Rank r : ranks) {
      if (!r.isEnded()) {
        current = r;
        try {
          r.abort();
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
    for (Rank r : ranks) {
      waiting += r.isEnded() ? 0 : 1;
      messages |= !r.isEnded() && r.waitingFor() instanceof Post;
    }
    return """
    deadlock at %s: no event is queued and %s of %s ranks wait%s
      remedy: every rank must make the same collective calls, equally often%s\
    """
        .formatted(
            session.now(),
            waiting,
            ranks.length,
            waits("\n  "),
            messages
                ? "; ranks that send to each other need batchIsendIrecv, or isend before recv"
                : "");
  }

  /** One line for each thing that ranks wait for, and one for those that have ended. */
  private String waits(String separator) {
    Map<String, BitSet> waits = new LinkedHashMap<>();
    BitSet ended = new BitSet();
    for (Rank r : ranks) {
      Wait wait = r.waitingFor();
      if (r.isEnded()) {
        ended.set(r.number());
      } else if (wait != null) {
        String what = wait.describe() + "; called at " + r.place();
        waits.computeIfAbsent(what, k -> new BitSet()).set(r.number());
      }
    }
    StringBuilder s = new StringBuilder();
    waits.forEach(
        (what, who) -> s.append(separator).append(Rank.named(who)).append(": ").append(what));
    if (!ended.isEmpty()) {
      s.append(separator).append(Rank.named(ended)).append(": ended");
    }
    return s.toString();
  }
}
