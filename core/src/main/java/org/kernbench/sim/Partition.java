package org.kernbench.sim;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Some neighbouring places of a world that is simulated {@linkplain ApartSimulation apart}: their
 * events, how far each may go, and what others send them. One thread at a time looks after it.
 *
 * <p>Each place has a <em>bound</em>, a time before which nothing more will be done there. Bounds
 * are published after whatever was sent before them, and what was sent is taken in after bounds
 * have been read; so who knows a bound knows all that comes before it.
 */
final class Partition {
  /** Something to be done at a place here, at the time of the place that sent it. */
  private record Mail(int place, long timePs, Runnable what) {}

  /** What a handler has thrown; no event of that place is handled any more. */
  record Failure(long timePs, int place, Throwable thrown) {}

  private final ApartSimulation whole;
  private final int firstPlace;
  private final int end;
  private final int count;
  private final Simulation simulation;
  private final PlacedEventQueue events;
  private final Queue<Mail> inbox = new ConcurrentLinkedQueue<>();

  // arcs by the place that they lead to: of place p those from start[p] to start[p + 1]; where they
  // come from is a place of these or, after them, one of those outside
  private final int[] start;
  private final int[] from;
  private final long[] lookaheadPs;
  private final int[] outside;

  /** Of the places of these, and what was read last of those outside. */
  private final long[] boundsPs;

  private final AtomicLongArray published;

  private final List<Failure> failures = new ArrayList<>(0);

  /** By place, when it failed, which no bound may pass; {@link Places#FAR_PS} if it has not. */
  private final long[] failedPs;

  /**
   * The places from {@code firstPlace} to before {@code end}.
   *
   * @param published bounds by place, of all partitions
   */
  Partition(
      ApartSimulation whole,
      Places places,
      int firstPlace,
      int end,
      AtomicLongArray published,
      long nowPs) {
    this.whole = whole;
    this.published = published;
    this.firstPlace = firstPlace;
    this.end = end;
    this.count = end - firstPlace;
    this.events = new PlacedEventQueue(firstPlace, count, nowPs);
    this.simulation = new Simulation(this, nowPs);
    this.start = new int[count + 1];
    Map<Integer, Integer> others = new LinkedHashMap<>();
    List<Integer> sources = new ArrayList<>();
    List<Long> delays = new ArrayList<>();
    for (int p = 0; p < count; p++) {
      places.arcsTo(
          firstPlace + p,
          (source, delay) -> {
            boolean own = holds(source);
            sources.add(
                own
                    ? source - firstPlace
                    : others.computeIfAbsent(source, s -> count + others.size()));
            delays.add(delay);
          });
      start[p + 1] = sources.size();
    }
    this.from = sources.stream().mapToInt(Integer::intValue).toArray();
    this.lookaheadPs = delays.stream().mapToLong(Long::longValue).toArray();
    this.outside = others.keySet().stream().mapToInt(Integer::intValue).toArray();
    this.failedPs = new long[count];
    Arrays.fill(failedPs, Places.FAR_PS);
    this.boundsPs = new long[count + outside.length];
    Arrays.fill(boundsPs, nowPs);
  }

  Simulation simulation() {
    return simulation;
  }

  boolean holds(int place) {
    return place >= firstPlace && place < end;
  }

  void push(int place, long timePs, long order, long payload) {
    events.push(place - firstPlace, timePs, order, payload);
  }

  /** Has something done by the partition that holds a place. */
  void post(int place, Runnable what) {
    whole.partitionAt(place).inbox.add(new Mail(place, simulation.nowPs(), what));
  }

  /** What has come of a round. */
  enum Progress {
    NONE,
    /** Bounds have risen: others may go further. */
    BOUNDS,
    EVENTS
  }

  /** Lets every place go as far as it may. */
  Progress round() {
    for (int i = 0; i < outside.length; i++) {
      boundsPs[count + i] = published.getAcquire(outside[i]);
    }
    Progress progress = takeMail() ? Progress.EVENTS : Progress.NONE;
    for (int p = 0; p < count; p++) {
      long horizon = horizonPs(p);
      if (events.nextPs(p) < horizon) {
        progress = Progress.EVENTS;
        handleBefore(horizon, p);
        horizon = Math.min(horizon, failedPs[p]);
      }
      if (horizon > boundsPs[p]) {
        boundsPs[p] = horizon;
        published.setRelease(firstPlace + p, horizon);
        progress = progress == Progress.NONE ? Progress.BOUNDS : progress;
      }
    }
    return progress;
  }

  private void handleBefore(long horizonPs, int place) {
    try {
      long next = events.nextPs(place);
      while (next < horizonPs) {
        simulation.handle(next, events.pop(place));
        next = events.nextPs(place);
      }
    } catch (RuntimeException | Error e) {
      fail(firstPlace + place, e);
    }
  }

  private void fail(int place, Throwable thrown) {
    failures.add(new Failure(simulation.nowPs(), place, thrown));
    failedPs[place - firstPlace] = Math.min(failedPs[place - firstPlace], simulation.nowPs());
  }

  /** The time before which nothing more can be scheduled at a place from elsewhere. */
  private long horizonPs(int place) {
    long horizon = failedPs[place];
    for (int arc = start[place]; arc < start[place + 1]; arc++) {
      horizon = Math.min(horizon, boundsPs[from[arc]] + lookaheadPs[arc]);
    }
    return horizon;
  }

  /**
   * Does what others have sent.
   *
   * @return whether there was anything
   */
  boolean takeMail() {
    Mail mail = inbox.poll();
    boolean any = mail != null;
    while (mail != null) {
      if (!hasFailed(mail.place() - firstPlace)) {
        take(mail);
      }
      mail = inbox.poll();
    }
    return any;
  }

  private void take(Mail mail) {
    simulation.at(mail.timePs());
    try {
      mail.what().run();
    } catch (RuntimeException | Error e) {
      fail(mail.place(), e);
    }
  }

  private boolean hasFailed(int place) {
    return failedPs[place] != Places.FAR_PS;
  }

  /** When the next event is that may be handled; {@link Long#MAX_VALUE} if there is none. */
  long firstPs() {
    long first = Long.MAX_VALUE;
    for (int p = 0; p < count; p++) {
      first = hasFailed(p) ? first : Math.min(first, events.nextPs(p));
    }
    return first;
  }

  /** Nothing more will be done here, or anywhere else, before a time. */
  void raiseBounds(long timePs) {
    for (int p = 0; p < count; p++) {
      boundsPs[p] = Math.max(boundsPs[p], timePs);
      published.setRelease(firstPlace + p, boundsPs[p]);
    }
  }

  long latestPs() {
    return events.latestPs();
  }

  List<Failure> failures() {
    return failures;
  }
}
