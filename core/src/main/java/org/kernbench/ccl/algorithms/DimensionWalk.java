package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.DimensionSteps;
import org.kernbench.ccl.DimensionSteps.Step;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Handle;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;

/**
 * What one rank does in a collective that goes by dimension ({@link ByDimension}).
 *
 * <p>The vector is cut into <em>units</em>, one for each rank of the dimensions in use, numbered so
 * that whatever a rank has at any time is a run of them: the digit of the first dimension counts
 * most. Along a dimension in halves the digit has the place's bits in reverse, so that halves are
 * runs too. Where a rank's own part is given, as in a reduce-scatter, a run of units may lie in
 * pieces.
 */
final class DimensionWalk {
  private final Axes axes;
  private final List<Step> steps;
  private final DimensionSteps how;
  private final CollectiveCall call;
  private final int blocks;
  private final Tl tl;
  private final int rank;
  private final Payload vector;
  private final Reduction reduction;

  /** The dimensions in use, and how many units there are. */
  private int[] used = {};

  private int units = 1;

  /** The part of the vector that is under way. */
  private int block;

  /** Whether what is read has been written by this call. */
  private boolean again;

  /** Where a run of units lies. */
  private record Run(int start, int count) {}

  DimensionWalk(
      Axes axes,
      List<Step> steps,
      DimensionSteps how,
      CollectiveCall call,
      int blocks,
      Tl tl,
      int rank,
      Payload vector,
      Reduction reduction) {
    this.axes = axes;
    this.steps = steps;
    this.how = how;
    this.call = call;
    this.blocks = blocks;
    this.tl = tl;
    this.rank = rank;
    this.vector = vector;
    this.reduction = reduction;
  }

  static String next(int axis) {
    return "next" + axis;
  }

  static String previous(int axis) {
    return "previous" + axis;
  }

  /** The queue to or from the rank so many places further on the same line of n. */
  static String peer(int axis, int further, int n) {
    return "dimension" + axis + "_" + Math.floorMod(further, n);
  }

  private String peer(int i, int place) {
    return peer(used[i], place - place(i), size(i));
  }

  void run() {
    int[] all = new int[axes.count()];
    for (int a = 0; a < all.length; a++) {
      all[a] = a;
    }
    for (block = 0; block < blocks; block++) {
      again = false;
      switch (call.op()) {
        case REDUCE_SCATTER -> {
          use(all);
          Value sum = scattered(all.length, true);
          write(unit(), 1, sum);
          if (sum != null) {
            tl.release(sum);
          }
        }
        case ALL_GATHER -> {
          use(all);
          Value own = own(unit(), 1, null, unit());
          write(unit(), 1, own);
          gather(all.length - 1, own, true);
          gatherBack(all.length - 2);
        }
        case ALL_REDUCE -> {
          if (how.whole()) {
            for (int a : all) {
              use(new int[] {a});
              turn(0, a == all.length - 1);
              again = true;
            }
          } else {
            use(all);
            turn(all.length - 1, true);
            gatherBack(all.length - 2);
          }
        }
        case BROADCAST, REDUCE, GATHER, SCATTER, ALL_TO_ALL, POINT_TO_POINT, BARRIER ->
            throw new IllegalStateException("bug: " + call.op() + " does not go by dimension");
      }
    }
  }

  private void use(int[] dimensions) {
    used = dimensions;
    units = 1;
    for (int a : dimensions) {
      units *= axes.axis(a).size();
    }
  }

  // ---- units ----

  private int size(int i) {
    return axes.axis(used[i]).size();
  }

  private int place(int i) {
    return axes.place(rank, used[i]);
  }

  private Step step(int i) {
    return steps.get(used[i]);
  }

  /** The digit of a place along the i-th dimension in use. */
  private int digit(int i, int place) {
    if (step(i) != Step.HALVING_DOUBLING) {
      return place;
    }
    int bits = Integer.numberOfTrailingZeros(size(i));
    return bits == 0 ? 0 : Integer.reverse(place) >>> (Integer.SIZE - bits);
  }

  /** Units that ranks share which are alike in the first i dimensions in use. */
  private int width(int i) {
    int width = units;
    for (int j = 0; j < i; j++) {
      width /= size(j);
    }
    return width;
  }

  /** The first unit of what a rank has after i dimensions. */
  private int first(int i) {
    int first = 0;
    for (int j = 0; j < i; j++) {
      first += digit(j, place(j)) * width(j + 1);
    }
    return first;
  }

  private int unit() {
    return first(used.length);
  }

  /** The rank that has a unit in the end. */
  private int rankOf(int unit) {
    int at = rank;
    for (int i = 0; i < used.length; i++) {
      int digit = unit / width(i + 1) % size(i);
      at = axes.rankAt(at, used[i], digit(i, digit)); // reversing bits twice changes nothing
    }
    return at;
  }

  /** Where some units lie in the block, in runs. */
  private List<Run> runs(int first, int count) {
    if (call.op() == CollectiveOp.ALL_REDUCE) {
      int start = boundary(first);
      return List.of(new Run(start, boundary(first + count) - start));
    }
    List<Run> runs = new ArrayList<>();
    for (int unit = first; unit < first + count; unit++) {
      Part part = call.parts().get(rankOf(unit));
      int start = Math.toIntExact(part.start() + part.count() * block / blocks);
      int end = Math.toIntExact(part.start() + part.count() * (block + 1) / blocks);
      Run last = runs.isEmpty() ? null : runs.getLast();
      if (last != null && last.start + last.count == start) {
        runs.set(runs.size() - 1, new Run(last.start, last.count + end - start));
      } else if (end > start) {
        runs.add(new Run(start, end - start));
      }
    }
    return runs;
  }

  private int boundary(int unit) {
    long start = call.elements() * block / blocks;
    long end = call.elements() * (block + 1) / blocks;
    return Math.toIntExact(start + (end - start) * unit / units);
  }

  private int elements(int first, int count) {
    int sum = 0;
    for (Run run : runs(first, count)) {
      sum += run.count;
    }
    return sum;
  }

  // ---- memory ----

  private Value read(int first, int count) {
    @Nullable Value all = null;
    for (Run run : runs(first, count)) {
      Value piece =
          again ? vector.readBack(tl, run.start, run.count) : vector.read(tl, run.start, run.count);
      if (all == null) {
        all = piece;
      } else {
        Value longer = tl.concat(0, all, piece);
        tl.release(all);
        tl.release(piece);
        all = longer;
      }
    }
    if (all == null) {
      throw new IllegalStateException("bug: nothing to read in units " + first + " and " + count);
    }
    return all;
  }

  private void write(int first, int count, @Nullable Value value) {
    int done = 0;
    for (Run run : runs(first, count)) {
      if (value != null) {
        boolean alone = run.count == value.elements();
        vector.write(tl, run.start, run.count, alone ? value : value.range(done, run.count));
        done += run.count;
      }
    }
  }

  /** What this rank gives for some units: read, or a part of what it has added up so far. */
  private @Nullable Value own(int first, int count, @Nullable Value held, int heldFirst) {
    int elements = elements(first, count);
    if (elements == 0) {
      return null;
    }
    return held == null
        ? read(first, count)
        : held.range(elements(heldFirst, first - heldFirst), elements);
  }

  private void giveBack(@Nullable Value own, @Nullable Value held) {
    if (own != null && held == null) {
      tl.release(own);
    }
  }

  // ---- ends of messages ----

  private void delay(long ps) {
    if (ps > 0) {
      tl.await(tl.elapse(ps));
    }
  }

  private void send(String to, @Nullable Value value) {
    if (value != null) {
      tl.send(to, value);
    }
  }

  private @Nullable Value receive(String from, int elements) {
    return elements == 0 ? null : tl.recv(from, Shape.of(elements), call.dtype());
  }

  private long reductionPs(int elements) {
    return how.reductionPs((long) elements * call.dtype().sizeBytes());
  }

  /**
   * The sum of what has come and the own; the time at its end has passed, and both are given up.
   */
  private @Nullable Value added(@Nullable Value come, @Nullable Value own, @Nullable Value held) {
    if (come == null || own == null) {
      return null;
    }
    tl.await(come);
    long ps = how.endpointDelayPs() + reductionPs(come.elements());
    Handle end = ps > 0 ? tl.elapse(ps) : null;
    Value sum = reduction.combine(come, own);
    tl.release(come);
    giveBack(own, held);
    if (end != null) {
      tl.await(end);
    }
    return sum;
  }

  // ---- scattering ----

  /**
   * Reduce-scatter along the first dimensions in use, and what this rank has then: nothing, if its
   * part of a vector of few elements is empty.
   *
   * @param dimensions how many
   * @param last whether the sums are the results then
   */
  private @Nullable Value scattered(int dimensions, boolean last) {
    Value held = null;
    for (int i = 0; i < dimensions; i++) {
      Value before = held;
      delay(how.endpointDelayPs());
      held =
          switch (step(i)) {
            case RING -> scatterRound(i, before);
            case DIRECT -> scatterDirectly(i, before);
            case HALVING_DOUBLING -> scatterHalves(i, before);
          };
      if (before != null) {
        tl.release(before);
      }
    }
    return last && held != null ? reduction.finish(tl, held) : held;
  }

  private @Nullable Value scatterRound(int i, @Nullable Value held) {
    int n = size(i);
    int w = width(i + 1);
    int base = first(i);
    int me = place(i);
    int segment = Math.floorMod(me - 1, n);
    Value out = own(base + segment * w, w, held, base);
    send(next(used[i]), out);
    giveBack(out, held);
    Value sum = null;
    for (int s = 1; s < n; s++) {
      segment = Math.floorMod(me - 1 - s, n);
      Value mine = own(base + segment * w, w, held, base);
      Value come = receive(previous(used[i]), elements(base + segment * w, w));
      sum = added(come, mine, held);
      if (s < n - 1) {
        send(next(used[i]), sum);
        if (sum != null) {
          tl.release(sum);
        }
      }
    }
    return sum;
  }

  private @Nullable Value scatterDirectly(int i, @Nullable Value held) {
    int n = size(i);
    int w = width(i + 1);
    int base = first(i);
    int me = place(i);
    for (int d = 1; d < n; d++) {
      int to = (me + d) % n;
      Value out = own(base + to * w, w, held, base);
      send(peer(i, to), out);
      giveBack(out, held);
    }
    int elements = elements(base + me * w, w);
    List<Value> come = new ArrayList<>();
    Value sum = own(base + me * w, w, held, base);
    for (int d = 1; d < n && sum != null; d++) {
      come.add(tl.recv(peer(i, Math.floorMod(me - d, n)), Shape.of(elements), call.dtype()));
    }
    if (sum == null) {
      return null;
    }
    come.forEach(tl::await);
    long ps = how.endpointDelayPs() + reductionPs(elements);
    Handle end = ps > 0 ? tl.elapse(ps) : null;
    boolean mine = held == null;
    for (Value each : come) {
      Value more = reduction.combine(each, sum);
      tl.release(each);
      if (mine) {
        tl.release(sum);
      }
      sum = more;
      mine = true;
    }
    if (end != null) {
      tl.await(end);
    }
    return sum;
  }

  private @Nullable Value scatterHalves(int i, @Nullable Value held) {
    int first = first(i);
    int count = width(i);
    Value sum = held;
    int sumFirst = first;
    for (int bit = 1; bit < size(i); bit *= 2) {
      count /= 2;
      boolean upper = (place(i) & bit) != 0;
      int keep = first + (upper ? count : 0);
      int give = first + (upper ? 0 : count);
      String partner = peer(i, place(i) ^ bit);
      Value out = own(give, count, sum, sumFirst);
      send(partner, out);
      giveBack(out, sum);
      Value mine = own(keep, count, sum, sumFirst);
      Value more = added(receive(partner, elements(keep, count)), mine, sum);
      if (sum != null && sum != held) {
        tl.release(sum);
      }
      sum = more;
      first = keep;
      sumFirst = keep;
    }
    return sum;
  }

  // ---- all-reduce along one dimension, the others scattered ----

  private void turn(int i, boolean last) {
    Value own = scattered(i + 1, last);
    int first = first(i + 1);
    write(first, width(i + 1), own);
    gather(i, own, false);
  }

  // ---- gathering ----

  /** All-gather along the dimensions that are left, outwards in. */
  private void gatherBack(int from) {
    again = true;
    for (int i = from; i >= 0; i--) {
      int first = first(i + 1);
      gather(i, own(first, width(i + 1), null, first), true);
    }
  }

  /**
   * All-gather along a dimension; what comes is written.
   *
   * @param own what this rank has, given up
   * @param begins whether the end of a message is to be paid first
   */
  private void gather(int i, @Nullable Value own, boolean begins) {
    if (begins) {
      delay(how.endpointDelayPs());
    }
    switch (step(i)) {
      case RING -> gatherRound(i, own);
      case DIRECT -> gatherDirectly(i, own);
      case HALVING_DOUBLING -> gatherHalves(i, own);
    }
  }

  private void gatherRound(int i, @Nullable Value own) {
    int n = size(i);
    int w = width(i + 1);
    int base = first(i);
    send(next(used[i]), own);
    if (own != null) {
      tl.release(own);
    }
    for (int s = 1; s < n; s++) {
      int segment = Math.floorMod(place(i) - s, n);
      Value come = receive(previous(used[i]), elements(base + segment * w, w));
      if (come != null) {
        tl.await(come);
        delay(how.endpointDelayPs());
        if (s < n - 1) {
          send(next(used[i]), come);
        }
        write(base + segment * w, w, come);
        tl.release(come);
      }
    }
  }

  private void gatherDirectly(int i, @Nullable Value own) {
    int n = size(i);
    int w = width(i + 1);
    int base = first(i);
    int me = place(i);
    for (int d = 1; d < n; d++) {
      send(peer(i, (me + d) % n), own);
    }
    if (own != null) {
      tl.release(own);
    }
    List<Value> come = new ArrayList<>();
    List<Integer> segments = new ArrayList<>();
    for (int d = 1; d < n; d++) {
      int from = Math.floorMod(me - d, n);
      Value value = receive(peer(i, from), elements(base + from * w, w));
      if (value != null) {
        come.add(value);
        segments.add(from);
      }
    }
    come.forEach(tl::await);
    delay(how.endpointDelayPs());
    for (int k = 0; k < come.size(); k++) {
      write(base + segments.get(k) * w, w, come.get(k));
      tl.release(come.get(k));
    }
  }

  private void gatherHalves(int i, @Nullable Value own) {
    int first = first(i + 1);
    int count = width(i + 1);
    Value held = own;
    for (int bit = size(i) / 2; bit >= 1; bit /= 2) {
      boolean upper = (place(i) & bit) != 0;
      String partner = peer(i, place(i) ^ bit);
      int other = upper ? first - count : first + count;
      send(partner, held);
      Value come = receive(partner, elements(other, count));
      Handle end = null;
      if (come != null) {
        tl.await(come);
        end = how.endpointDelayPs() > 0 ? tl.elapse(how.endpointDelayPs()) : null;
        write(other, count, come);
      }
      held = joined(upper ? come : held, upper ? held : come);
      if (end != null) {
        tl.await(end);
      }
      first = Math.min(first, other);
      count *= 2;
    }
    if (held != null) {
      tl.release(held);
    }
  }

  /** Two runs one after the other, which are given up. */
  private @Nullable Value joined(@Nullable Value lower, @Nullable Value upper) {
    if (lower == null || upper == null) {
      return lower == null ? upper : lower;
    }
    Value both = tl.concat(0, lower, upper);
    tl.release(lower);
    tl.release(upper);
    return both;
  }
}
