package org.kernbench.sim;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A world in which places run ahead of each other, each as far as the others let it, on one or
 * several threads.
 *
 * <p>Problem: in a large world where all places are in step, the next event is always at another
 * place than the last, and between two visits to a place the records of all others go through the
 * cache. A thousand packages miss it at every access. And one thread is all that one clock keeps
 * busy.
 *
 * <p>Choice: a place may run up to its <em>horizon</em>, before which no other place can schedule
 * anything there: the soonest, over its neighbours, of their bound and the {@linkplain Places
 * lookahead} from them. So each place sees its own events in the order that one queue would give
 * them, and everything that follows from that is the same; only which place goes first is
 * different. (One exception: unkeyed events of one time at one place, some of them scheduled from
 * elsewhere, are in the order in which they were scheduled, which is then another.) This is
 * conservative parallel simulation (Chandy and Misra 1979, Bryant 1977), for locality as much as
 * for cores.
 *
 * <p>Neighbouring places make a {@link Partition}. A thread looks after two partitions next to each
 * other until their edges hold them up, by when those in the middle are far ahead; then it lets go
 * of the first and goes on to the next. So the records of two partitions stay in its cache
 * meanwhile, and no edge stays one. Threads follow each other round and round, and wait for each
 * other where they meet.
 *
 * <p>Where nothing happens for long, bounds would rise by one lookahead a round: when all
 * partitions have been idle, all bounds rise at once to the first event that is left. That is
 * before the horizon of its place, so there is always an event to handle while one is left.
 *
 * <p>What it saves is measured in docs/validation/speed.md.
 */
public final class ApartSimulation {
  /** Rounds without an event, bounds rising, after which the next partition has its turn. */
  private static final int PATIENCE = 8;

  private final Partition[] partitions;

  /** By place, the partition that holds it. */
  private final int[] partitionOf;

  private final long beganPs;

  // shared by the threads, under the lock of this object
  private final boolean[] held;
  private int visiting;

  /** Visits since something was done last. */
  private int idleVisits;

  private boolean ended;

  /** What should not happen: a thread that cannot go on. */
  private @Nullable Throwable broken;

  private volatile boolean interrupted;

  /**
   * No events, at a time.
   *
   * @param placesPerPartition two partitions should fit the cache of a core
   * @param nowPs where the clocks of all places begin, in picoseconds
   */
  public ApartSimulation(Places places, int placesPerPartition, long nowPs) {
    AtomicLongArray bounds = new AtomicLongArray(places.count());
    for (int p = 0; p < places.count(); p++) {
      bounds.setPlain(p, nowPs);
    }
    beganPs = nowPs;
    partitionOf = new int[places.count()];
    partitions = new Partition[Math.max(1, places.count() / placesPerPartition)];
    held = new boolean[partitions.length];
    int first = 0;
    for (int i = 0; i < partitions.length; i++) {
      int end = (int) (places.count() * (i + 1L) / partitions.length);
      partitions[i] = new Partition(this, places, first, end, bounds, nowPs);
      Arrays.fill(partitionOf, first, end, i);
      first = end;
    }
  }

  /** How many partitions there are. */
  public int partitions() {
    return partitions.length;
  }

  /** Which partition holds a place. */
  public int partitionOf(int place) {
    return partitionOf[place];
  }

  /** Where the events of a partition are scheduled, at its places only. */
  public Simulation simulation(int partition) {
    return partitions[partition].simulation();
  }

  Partition partitionAt(int place) {
    return partitions[partitionOf[place]];
  }

  /** Events handled so far. */
  public long eventCount() {
    long events = 0;
    for (Partition p : partitions) {
      events += p.simulation().eventCount();
    }
    return events;
  }

  /** The time of the place that is ahead of all others. */
  public long latestPs() {
    long latest = beganPs;
    for (Partition p : partitions) {
      latest = Math.max(latest, p.latestPs());
    }
    return latest;
  }

  /**
   * Handles events until none is left.
   *
   * @param threads how many may work at most, this one included; what comes of it does not depend
   *     on that
   * @throws RuntimeException or Error what a handler has thrown. Other places go on until that time
   *     at least; if handlers at several have thrown, it is the one that comes first in time, then
   *     by place. How far others are then does depend on the threads
   */
  public void run(int threads) {
    int workers = Math.clamp(partitions.length / 2, 1, Math.max(1, threads));
    List<Thread> others = new ArrayList<>();
    try {
      for (int i = 1; i < workers; i++) {
        int first = (int) ((long) partitions.length * i / workers);
        Thread.Builder thread = Thread.ofPlatform().daemon().name("kernbench apart " + i);
        others.add(thread.start(() -> work(first)));
      }
    } catch (Error e) { // no more threads
      breaks(e);
    }
    work(0);
    others.forEach(this::join);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    rethrow(firstThrown());
  }

  private void join(Thread thread) {
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true; // it ends with the run, and no sooner
      }
    }
  }

  private synchronized @Nullable Throwable firstThrown() {
    return broken != null ? broken : firstFailure().map(Partition.Failure::thrown).orElse(null);
  }

  private Optional<Partition.Failure> firstFailure() {
    return Stream.of(partitions)
        .flatMap(p -> p.failures().stream())
        .min(
            Comparator.comparingLong(Partition.Failure::timePs)
                .thenComparingInt(Partition.Failure::place));
  }

  /** Others go on until then at least, for they may fail sooner than who has. */
  private long firstFailurePs() {
    return firstFailure().map(Partition.Failure::timePs).orElse(Long.MAX_VALUE);
  }

  private static void rethrow(@Nullable Throwable thrown) {
    switch (thrown) {
      case null -> {}
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      default -> throw new IllegalStateException("bug: an event throws", thrown);
    }
  }

  private void work(int first) {
    try {
      int at = first;
      boolean goesOn = hold(at);
      while (goesOn) {
        int next = at + 1 == partitions.length ? 0 : at + 1;
        goesOn = (next == at || hold(next)) && visit(at, next);
        at = next;
      }
    } catch (RuntimeException | Error e) {
      breaks(e);
    }
  }

  private synchronized void breaks(Throwable thrown) {
    broken = thrown;
    ended = true;
    notifyAll();
  }

  private synchronized void await() {
    try {
      wait();
    } catch (InterruptedException e) {
      interrupted = true; // the run goes on
    }
  }

  /** Waits until nobody else looks after a partition; returns false if the run has ended. */
  private synchronized boolean hold(int partition) {
    while (held[partition] && !ended) {
      await();
    }
    held[partition] = true;
    return !ended;
  }

  private boolean visit(int first, int second) {
    begin();
    boolean done = false;
    int idleRounds = 0;
    Partition.Progress progress = Partition.Progress.EVENTS;
    while (progress != Partition.Progress.NONE && idleRounds < PATIENCE) {
      progress = partitions[first].round();
      if (second != first) {
        Partition.Progress more = partitions[second].round();
        progress = more.compareTo(progress) > 0 ? more : progress;
      }
      done |= progress == Partition.Progress.EVENTS;
      idleRounds = progress == Partition.Progress.EVENTS ? 0 : idleRounds + 1;
    }
    return end(first, second, done);
  }

  private synchronized void begin() {
    visiting++;
  }

  /** Lets go of the first partition; returns false if the run has ended. */
  private synchronized boolean end(int first, int second, boolean done) {
    visiting--;
    held[first] = first == second;
    idleVisits = done ? 0 : idleVisits + 1;
    notifyAll();
    while (idleVisits > partitions.length && visiting > 0 && !ended) {
      await();
    }
    if (idleVisits > partitions.length && !ended) {
      idleVisits = 0;
      goOnToFirstEvent();
    }
    return !ended;
  }

  /** Nobody is at work, and nobody could go on: the next event is the first of all. */
  private void goOnToFirstEvent() {
    boolean any = true;
    while (any) {
      any = false;
      for (Partition p : partitions) {
        any |= p.takeMail();
      }
    }
    long first = Long.MAX_VALUE;
    for (Partition p : partitions) {
      first = Math.min(first, p.firstPs());
    }
    if (first == Long.MAX_VALUE || first > firstFailurePs()) {
      ended = true;
      notifyAll();
      return;
    }
    for (Partition p : partitions) {
      p.raiseBounds(first);
    }
  }
}
