package org.kernbench.ccl.dimensions;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.DimensionSteps.Step;
import org.kernbench.ccl.Payload;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;

/**
 * Where the parts of one chunk lie of a collective that goes by dimension ({@link ByDimension}).
 *
 * <p>The chunk is cut into <em>units</em>, one for each rank of the dimensions in use, numbered so
 * that whatever a rank has at any time is a run of them: the digit of the first dimension counts
 * most. Along a dimension in halves the digit has the place's bits in reverse, so that halves are
 * runs too. Where a rank's own part is given, as in a reduce-scatter, a run of units may lie in
 * pieces.
 */
final class DimensionParts {
  private final Axes axes;
  private final List<Step> steps;
  private final CollectiveCall call;
  private final Tl tl;
  private final int rank;
  private final Payload vector;
  private final int chunk;
  private final int chunks;

  /** The dimensions in use, and how many units there are. */
  private int[] used = {};

  private int units = 1;

  /** Whether what is read has been written by this call. */
  private boolean again;

  /** Where a run of units lies. */
  private record Run(int start, int count) {}

  DimensionParts(
      Axes axes,
      List<Step> steps,
      CollectiveCall call,
      Tl tl,
      int rank,
      Payload vector,
      int chunk,
      int chunks) {
    this.axes = axes;
    this.steps = steps;
    this.call = call;
    this.tl = tl;
    this.rank = rank;
    this.vector = vector;
    this.chunk = chunk;
    this.chunks = chunks;
  }

  void use(int... dimensions) {
    used = dimensions;
    units = 1;
    for (int a : dimensions) {
      units *= axes.axis(a).size();
    }
  }

  /** From now on what is read is what this call has written. */
  void readBack() {
    again = true;
  }

  CollectiveCall call() {
    return call;
  }

  Tl tl() {
    return tl;
  }

  Axes axes() {
    return axes;
  }

  int rank() {
    return rank;
  }

  int chunk() {
    return chunk;
  }

  // ---- units ----

  /** The axis that is the i-th dimension in use. */
  int axis(int i) {
    return used[i];
  }

  int size(int i) {
    return axes.axis(used[i]).size();
  }

  int place(int i) {
    return axes.place(rank, used[i]);
  }

  /** The digit of a place along the i-th dimension in use. */
  private int digit(int i, int place) {
    if (steps.get(used[i]) != Step.HALVING_DOUBLING) {
      return place;
    }
    int bits = Integer.numberOfTrailingZeros(size(i));
    return bits == 0 ? 0 : Integer.reverse(place) >>> (Integer.SIZE - bits);
  }

  /** Units that ranks share which are alike in the first i dimensions in use. */
  int width(int i) {
    int width = units;
    for (int j = 0; j < i; j++) {
      width /= size(j);
    }
    return width;
  }

  /** The first unit of what a rank has after i dimensions. */
  int first(int i) {
    int first = 0;
    for (int j = 0; j < i; j++) {
      first += digit(j, place(j)) * width(j + 1);
    }
    return first;
  }

  /** The unit that is this rank's own. */
  int unit() {
    return first(used.length);
  }

  /** Bytes of so many units of a chunk, the same for all ranks and chunks: for planning. */
  long usualBytes(int count) {
    boolean exchange = call.op() == CollectiveOp.ALL_TO_ALL;
    double all = exchange ? call.splits().sent(0) : call.elements();
    double elements = all / chunks * count / units;
    return (long) Math.ceil(elements) * call.dtype().sizeBytes();
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

  /** Where some units lie in the chunk, in runs. */
  private List<Run> runs(int first, int count) {
    if (call.op() == CollectiveOp.ALL_REDUCE) {
      int start = boundary(first);
      return List.of(new Run(start, boundary(first + count) - start));
    }
    List<Run> runs = new ArrayList<>();
    for (int unit = first; unit < first + count; unit++) {
      Part part = call.parts().get(rankOf(unit));
      int start = Math.toIntExact(part.start() + part.count() * chunk / chunks);
      int end = Math.toIntExact(part.start() + part.count() * (chunk + 1) / chunks);
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
    long start = call.elements() * chunk / chunks;
    long end = call.elements() * (chunk + 1) / chunks;
    return Math.toIntExact(start + (end - start) * unit / units);
  }

  int elements(int first, int count) {
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
      all = all == null ? piece : joined(all, piece);
    }
    if (all == null) {
      throw new IllegalStateException("bug: nothing to read in units " + first + " and " + count);
    }
    return all;
  }

  /** Two runs one after the other, which are given up. */
  Value joined(Value lower, Value upper) {
    Value both = tl.concat(0, lower, upper);
    tl.release(lower);
    tl.release(upper);
    return both;
  }

  void write(int first, int count, @Nullable Value value) {
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
  @Nullable Value own(int first, int count, @Nullable Value held, int heldFirst) {
    int elements = elements(first, count);
    if (elements == 0) {
      return null;
    }
    return held == null
        ? read(first, count)
        : held.range(elements(heldFirst, first - heldFirst), elements);
  }

  void giveBack(@Nullable Value own, @Nullable Value held) {
    if (own != null && held == null) {
      tl.release(own);
    }
  }

  void release(@Nullable Value value) {
    if (value != null) {
      tl.release(value);
    }
  }

  // ---- blocks of an all-to-all ----

  /** Elements of this chunk that one rank has for another. */
  int block(int src, int dst) {
    long count = call.splits().count(src, dst);
    return Math.toIntExact(count * (chunk + 1) / chunks - count * chunk / chunks);
  }

  /** What this rank gives to another; null if nothing. */
  @Nullable Value readBlock(int dst) {
    int count = block(rank, dst);
    long start = call.splits().sendStart(rank, dst) + before(rank, dst);
    return count == 0 ? null : vector.read(tl, Math.toIntExact(start), count);
  }

  /** Puts what this rank gets from another in place. */
  void writeBlock(int src, Value value) {
    long start = call.splits().receiveStart(rank, src) + before(src, rank);
    vector.write(tl, Math.toIntExact(start), block(src, rank), value);
  }

  private long before(int src, int dst) {
    return call.splits().count(src, dst) * chunk / chunks;
  }
}
