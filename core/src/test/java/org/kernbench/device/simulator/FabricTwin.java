package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.kernbench.device.fabric.FabricRig;
import org.kernbench.device.fabric.FabricRig.Head;
import org.kernbench.device.fabric.FabricRig.Transfer;

/**
 * The streaming rule solved as a system of equations: no clock, no events, no queue.
 *
 * <p>Each visit of a chunk to a link has an arrival h, a start s and an end f. Given all arrivals,
 * a link's visits sorted by (arrival, transfer, chunk) give its starts and ends by the recursion of
 * {@code docs/spec/machine-and-timing.md} 3; given those, the arrivals at the next links follow.
 * The two steps are repeated from a wrong guess until nothing changes. Every round makes the
 * schedule right for a little longer (by the shortest latency or serialisation), so the repetition
 * ends, at the only solution.
 */
public final class FabricTwin {
  /** One chunk on one link of its route. */
  public static final class Visit {
    final int transfer;
    final int chunk;
    final int hop;
    final int link;
    public final long bytes;
    long headPs;
    public long startPs;
    public long endPs;

    private Visit(int transfer, int chunk, int hop, int link, long bytes) {
      this.transfer = transfer;
      this.chunk = chunk;
      this.hop = hop;
      this.link = link;
      this.bytes = bytes;
    }
  }

  private static final int MOST_ROUNDS = 100_000;
  private static final Comparator<Visit> FIRST_COME_FIRST_SERVED =
      Comparator.<Visit>comparingLong(v -> v.headPs)
          .thenComparingInt(v -> v.transfer)
          .thenComparingInt(v -> v.chunk);

  private final FabricRig rig;
  private final Visit[][][] visits;
  private final List<List<Visit>> byLink = new ArrayList<>();

  private FabricTwin(FabricRig rig) {
    this.rig = rig;
    for (int i = 0; i < rig.latencyPs().length; i++) {
      byLink.add(new ArrayList<>());
    }
    visits = new Visit[rig.transfers().size()][][];
    for (int t = 0; t < visits.length; t++) {
      visits[t] = visitsOf(t);
    }
  }

  public static FabricTwin solve(FabricRig rig) {
    FabricTwin twin = new FabricTwin(rig);
    for (int round = 0; round < MOST_ROUNDS; round++) {
      twin.byLink.forEach(twin::serve);
      if (!twin.moveHeads()) {
        return twin;
      }
    }
    throw new AssertionError("no schedule after " + MOST_ROUNDS + " rounds: " + rig);
  }

  private Visit[][] visitsOf(int t) {
    Transfer transfer = rig.transfers().get(t);
    Visit[][] all = new Visit[rig.chunks(transfer)][transfer.route().length];
    for (int chunk = 0; chunk < all.length; chunk++) {
      for (int hop = 0; hop < all[chunk].length; hop++) {
        int link = transfer.route()[hop];
        Visit v = new Visit(t, chunk, hop, link, rig.chunkSize(transfer, chunk));
        v.headPs = transfer.timePs();
        all[chunk][hop] = v;
        byLink.get(link).add(v);
      }
    }
    return all;
  }

  /** Serves a link's visits in the order of their arrivals, as far as these are known. */
  private void serve(List<Visit> link) {
    link.sort(FIRST_COME_FIRST_SERVED);
    long free = 0;
    for (Visit v : link) {
      v.startPs = Math.max(v.headPs, free);
      v.endPs = v.startPs + FabricRig.serialPs(v.bytes, rig.bytesPerSecond()[v.link]);
      if (v.hop > 0) {
        Visit before = visits[v.transfer][v.chunk][v.hop - 1];
        v.endPs = Math.max(v.endPs, before.endPs + rig.latencyPs()[before.link]);
      }
      free = v.endPs;
    }
  }

  /** Moves every arrival to where the starts and ends put it; false if none moved. */
  private boolean moveHeads() {
    boolean moved = false;
    for (Visit[][] chunks : visits) {
      for (int chunk = 0; chunk < chunks.length; chunk++) {
        for (int hop = 0; hop < chunks[chunk].length; hop++) {
          Visit v = chunks[chunk][hop];
          long head = headPs(chunks, chunk, hop);
          moved |= head != v.headPs;
          v.headPs = head;
        }
      }
    }
    return moved || endsStillMove();
  }

  private long headPs(Visit[][] chunks, int chunk, int hop) {
    if (hop > 0) {
      Visit before = chunks[chunk][hop - 1];
      return before.startPs + rig.latencyPs()[before.link];
    }
    return chunk > 0 ? chunks[chunk - 1][0].endPs : chunks[0][0].headPs;
  }

  /** Whether one more service with unmoved arrivals would change an end. */
  private boolean endsStillMove() {
    List<Long> before = deliveredPs();
    long sum = sumOfEnds();
    byLink.forEach(this::serve);
    return sum != sumOfEnds() || !before.equals(deliveredPs());
  }

  private long sumOfEnds() {
    return byLink.stream().flatMap(List::stream).mapToLong(v -> v.endPs).sum();
  }

  public List<Long> deliveredPs() {
    List<Long> delivered = new ArrayList<>();
    for (Visit[][] chunks : visits) {
      Visit[] last = chunks[chunks.length - 1];
      Visit end = last[last.length - 1];
      delivered.add(end.endPs + rig.latencyPs()[end.link]);
    }
    return delivered;
  }

  public List<Long> injectedPs() {
    List<Long> injected = new ArrayList<>();
    for (Visit[][] chunks : visits) {
      injected.add(chunks[chunks.length - 1][0].endPs);
    }
    return injected;
  }

  /** All arrivals, in the total order of {@code docs/spec/machine-and-timing.md} 3. */
  public List<Head> heads() {
    return byLink.stream()
        .flatMap(List::stream)
        .sorted(FIRST_COME_FIRST_SERVED)
        .map(v -> new Head(v.headPs, v.transfer, v.chunk))
        .toList();
  }

  /** The visits to one link in the order of service. */
  public List<Visit> visits(int link) {
    return byLink.get(link);
  }

  public List<Long> busyPs() {
    return byLink.stream()
        .map(link -> link.stream().mapToLong(v -> v.endPs - v.startPs).sum())
        .toList();
  }
}
