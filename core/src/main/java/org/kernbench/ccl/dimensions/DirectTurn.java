package org.kernbench.ccl.dimensions;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.DimensionSteps;
import org.kernbench.ccl.Reduction;
import org.kernbench.tl.Handle;
import org.kernbench.tl.Value;

/**
 * An all-reduce along one dimension from each to each in which every message has an end of its own
 * ({@link DimensionSteps.Ends#ASTRA}): a part of the vector to each of the others; when all have
 * come, each end lets one message with the sums out, to the nearest first; the end of the last is
 * the end.
 *
 * <p>The ends come in an order that is worked out beforehand, for a rank whose others do as it
 * does; each is a round.
 */
final class DirectTurn extends DimensionRounds {
  /** What a rank waits for. */
  private enum Kind {
    PART,
    PART_END,
    SUM,
    SUM_END
  }

  /**
   * One thing that is waited for.
   *
   * @param ps when, from when the first messages go out
   * @param distance how many places back the message comes from
   * @param out of the messages with sums, how many have gone out when it is done
   */
  private record Wait(long ps, Kind kind, int distance, int out) {}

  private final Reduction reduction;
  private final @Nullable Value held;
  private final boolean last;
  private final DimensionSteps how;
  private final List<Wait> waits;
  private final @Nullable Value[] come;
  private final @Nullable Value[] sums;
  private final @Nullable Handle[] ends;
  private int parted;
  private int out;
  private @Nullable Value sum;

  DirectTurn(
      DimensionParts parts,
      int i,
      int lane,
      Reduction reduction,
      @Nullable Value held,
      boolean last,
      DimensionSteps how,
      Ways ways) {
    super(parts, i, lane);
    this.reduction = reduction;
    this.held = held;
    this.last = last;
    this.how = how;
    this.come = new Value[n];
    this.sums = new Value[n];
    this.ends = new Handle[n];
    long bytes = usualBytes(0);
    long[] way = new long[n];
    for (int d = 1; d < n; d++) {
      way[d] = ways.messagePs(axis, d, bytes);
    }
    this.waits = waits(way, how.endpointDelayPs(), how.reductionPs(bytes));
  }

  /** In which order a rank waits, all of whose others do the same. */
  private static List<Wait> waits(long[] way, long endPs, long reductionPs) {
    PriorityQueue<Wait> next =
        new PriorityQueue<>(Comparator.comparingLong(Wait::ps).thenComparing(Wait::kind));
    for (int d = 1; d < way.length; d++) {
      next.add(new Wait(way[d], Kind.PART, d, 0));
    }
    long all = Arrays.stream(way).max().orElse(0);
    List<Wait> waits = new ArrayList<>();
    int free = 0;
    int out = 0;
    while (!next.isEmpty()) {
      Wait w = next.remove();
      switch (w.kind) {
        case PART -> next.add(new Wait(w.ps + endPs + reductionPs, Kind.PART_END, w.distance, 0));
        case SUM -> next.add(new Wait(w.ps + endPs, Kind.SUM_END, w.distance, 0));
        case PART_END, SUM_END -> {
          free++;
          for (; w.ps >= all && out < free && out < way.length - 1; out++) {
            next.add(new Wait(w.ps + way[out + 1], Kind.SUM, out + 1, 0));
          }
        }
      }
      waits.add(new Wait(w.ps, w.kind, w.distance, out));
    }
    return waits;
  }

  @Override
  int count() {
    return waits.size();
  }

  @Override
  boolean hasEnd() {
    return false;
  }

  @Override
  long usualPs(int round, Ways ways) {
    return waits.get(round).ps() - (round == 0 ? 0 : waits.get(round - 1).ps());
  }

  @Override
  void send(int round) {
    if (round > 0) {
      return;
    }
    for (int d = 1; d < n; d++) {
      int to = (me + d) % n;
      Value part = parts.own(segment(to), width(), held, parts.first(i));
      send(peer(to), part);
      parts.giveBack(part, held);
    }
    sum = parts.own(segment(me), width(), held, parts.first(i));
    int elements = parts.elements(segment(me), width());
    for (int d = 1; d < n; d++) {
      come[d] = receive(peer(from(d)), elements);
    }
  }

  private int from(int distance) {
    return Math.floorMod(me - distance, n);
  }

  @Override
  int come(int round) {
    Wait wait = waits.get(round);
    int d = wait.distance();
    switch (wait.kind()) {
      case PART -> {
        if (come[d] != null) {
          tl.await(come[d]);
        }
        elapse(d, how.endpointDelayPs() + how.reductionPs(partBytes()));
      }
      case SUM -> {
        int from = from(d);
        sums[d] = receive(peer(from), parts.elements(segment(from), width()));
        if (sums[d] != null) {
          tl.await(sums[d]);
        }
        elapse(d, how.endpointDelayPs());
      }
      case PART_END, SUM_END -> {
        if (ends[d] != null) {
          tl.await(ends[d]);
        }
      }
    }
    return -1;
  }

  private long partBytes() {
    int elements = parts.elements(segment(me), width());
    return (long) elements * parts.call().dtype().sizeBytes();
  }

  private void elapse(int d, long ps) {
    ends[d] = ps > 0 ? tl.elapseInProtocol(ps) : null;
  }

  @Override
  void use(int round) {
    Wait wait = waits.get(round);
    parted += wait.kind() == Kind.PART ? 1 : 0;
    if (wait.kind() == Kind.PART && parted == n - 1) {
      addAll();
    }
    for (; out < wait.out(); out++) {
      send(peer((me + out + 1) % n), sum);
    }
  }

  /** All parts have come: adds them up, and keeps the results. */
  private void addAll() {
    boolean mine = held == null;
    for (int d = 1; d < n; d++) {
      Value each = come[d];
      Value before = sum;
      if (each != null && before != null) {
        sum = reduction.combine(each, before);
        tl.release(each);
        if (mine) {
          tl.release(before);
        }
        mine = true;
      }
    }
    Value all = sum;
    if (all != null && last) {
      sum = reduction.finish(tl, all);
    }
    parts.write(segment(me), width(), sum);
  }

  @Override
  void done() {
    for (int d = 1; d < n; d++) {
      parts.write(segment(from(d)), width(), sums[d]);
      parts.release(sums[d]);
    }
    parts.release(sum);
    parts.release(held);
  }
}
