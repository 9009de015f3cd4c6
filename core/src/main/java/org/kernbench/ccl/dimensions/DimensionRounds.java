package org.kernbench.ccl.dimensions;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.Reduction;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/**
 * What a rank does with one chunk along one dimension ({@link ByDimension}), in rounds: messages go
 * out, others come, and the end of those is waited for before the next go out.
 */
abstract class DimensionRounds {
  /** What a message takes to go so many places on along an axis, if it meets nobody. */
  interface Ways {
    long messagePs(int axis, int distance, long bytes);
  }

  final DimensionParts parts;
  final Tl tl;

  /** Which of the dimensions in use it is, its axis, its places, and this rank's. */
  final int i;

  final int axis;
  final int n;
  final int me;

  /** Of the queues that are free for this chunk. */
  final int lane;

  DimensionRounds(DimensionParts parts, int i, int lane) {
    this.parts = parts;
    this.tl = parts.tl();
    this.i = i;
    this.axis = parts.axis(i);
    this.n = parts.size(i);
    this.me = parts.place(i);
    this.lane = lane;
  }

  /** How many rounds there are. */
  abstract int count();

  /** Sends what goes out in a round. */
  abstract void send(int round);

  /** Waits for what comes in a round; how much of it is added to the own, or -1 if nothing came. */
  abstract int come(int round);

  /** Does with what has come what needs no waiting. */
  abstract void use(int round);

  /** After the last round. */
  void done() {}

  /** Bytes of a message of a round, the same for all ranks: for planning. */
  abstract long usualBytes(int round);

  /** Whether what comes is added to the own. */
  boolean reduces() {
    return false;
  }

  /** Whether the end of what comes is waited for before the next round. */
  boolean hasEnd() {
    return true;
  }

  /** From when a round's messages go out until they have come, as planned. */
  long usualPs(int round, Ways ways) {
    long ps = 0;
    for (int distance : distances(round)) {
      ps = Math.max(ps, ways.messagePs(axis, distance, usualBytes(round)));
    }
    return ps;
  }

  /** How many places on the messages of a round go: each way, up to half the places. */
  int[] distances(int round) {
    return new int[] {1};
  }

  final String next() {
    return DimensionQueues.next(axis, lane);
  }

  final String previous() {
    return DimensionQueues.previous(axis, lane);
  }

  final String peer(int place) {
    return DimensionQueues.peer(axis, place - me, n, lane);
  }

  final void send(String to, @Nullable Value value) {
    if (value != null) {
      tl.send(to, value);
    }
  }

  final @Nullable Value receive(String from, int elements) {
    return elements == 0 ? null : tl.recv(from, Shape.of(elements), parts.call().dtype());
  }

  static int[] allDistances(int n) {
    int[] all = new int[n - 1];
    for (int d = 1; d < n; d++) {
      all[d - 1] = d;
    }
    return all;
  }

  // ---- scattering ----

  /** Rounds at whose end this rank holds sums; nothing, if its part of few elements is empty. */
  abstract static class Scatter extends DimensionRounds {
    final Reduction reduction;

    /** The sums of the dimension before; null if the vector is read. */
    final @Nullable Value held;

    @Nullable Value sum;

    Scatter(DimensionParts parts, int i, int lane, Reduction reduction, @Nullable Value held) {
      super(parts, i, lane);
      this.reduction = reduction;
      this.held = held;
    }

    @Override
    final boolean reduces() {
      return true;
    }

    /** The sums, after the last round. */
    @Nullable Value sum() {
      return sum;
    }
  }

  /** Round a ring, a segment at a time. */
  static final class ScatterRing extends Scatter {
    private final int width;
    private final int base;
    private @Nullable Value mine;
    private @Nullable Value come;

    ScatterRing(DimensionParts parts, int i, int lane, Reduction reduction, @Nullable Value held) {
      super(parts, i, lane, reduction, held);
      this.width = parts.width(i + 1);
      this.base = parts.first(i);
    }

    @Override
    int count() {
      return n - 1;
    }

    @Override
    long usualBytes(int round) {
      return parts.usualBytes(width);
    }

    private int first(int round) {
      return base + Math.floorMod(me - 1 - round, n) * width;
    }

    @Override
    void send(int round) {
      if (round == 0) {
        Value out = parts.own(first(0), width, held, base);
        send(next(), out);
        parts.giveBack(out, held);
      } else {
        send(next(), sum);
        parts.release(sum);
      }
      mine = parts.own(first(round + 1), width, held, base);
      come = receive(previous(), parts.elements(first(round + 1), width));
    }

    @Override
    int come(int round) {
      Value value = come;
      if (value == null) {
        return -1;
      }
      tl.await(value);
      return value.elements();
    }

    @Override
    void use(int round) {
      Value value = come;
      Value own = mine;
      sum = null;
      if (value != null && own != null) {
        sum = reduction.combine(value, own);
        tl.release(value);
        parts.giveBack(own, held);
      }
    }
  }

  /** From each to each. */
  static final class ScatterDirect extends Scatter {
    private final int width;
    private final int base;
    private final List<Value> come = new ArrayList<>();

    ScatterDirect(
        DimensionParts parts, int i, int lane, Reduction reduction, @Nullable Value held) {
      super(parts, i, lane, reduction, held);
      this.width = parts.width(i + 1);
      this.base = parts.first(i);
    }

    @Override
    int count() {
      return 1;
    }

    @Override
    long usualBytes(int round) {
      return parts.usualBytes(width);
    }

    @Override
    int[] distances(int round) {
      return allDistances(n);
    }

    @Override
    void send(int round) {
      for (int d = 1; d < n; d++) {
        int to = (me + d) % n;
        Value out = parts.own(base + to * width, width, held, base);
        send(peer(to), out);
        parts.giveBack(out, held);
      }
      sum = parts.own(base + me * width, width, held, base);
      int elements = parts.elements(base + me * width, width);
      for (int d = 1; d < n && sum != null; d++) {
        String from = peer(Math.floorMod(me - d, n));
        come.add(tl.recv(from, Shape.of(elements), parts.call().dtype()));
      }
    }

    @Override
    int come(int round) {
      come.forEach(tl::await);
      return come.isEmpty() ? -1 : come.getFirst().elements();
    }

    @Override
    void use(int round) {
      boolean mine = held == null;
      for (Value each : come) {
        Value before = sum;
        if (before != null) {
          sum = reduction.combine(each, before);
          tl.release(each);
          if (mine) {
            tl.release(before);
          }
          mine = true;
        }
      }
    }
  }

  /** Halves to the one whose place differs in a bit, from the lowest bit on. */
  static final class ScatterHalves extends Scatter {
    private int first;
    private int width;
    private int sumFirst;
    private @Nullable Value mine;
    private @Nullable Value come;

    ScatterHalves(
        DimensionParts parts, int i, int lane, Reduction reduction, @Nullable Value held) {
      super(parts, i, lane, reduction, held);
      this.first = parts.first(i);
      this.width = parts.width(i);
      this.sumFirst = first;
      this.sum = held;
    }

    @Override
    int count() {
      return Integer.numberOfTrailingZeros(n);
    }

    @Override
    long usualBytes(int round) {
      return parts.usualBytes(parts.width(i) >> (round + 1));
    }

    @Override
    int[] distances(int round) {
      return new int[] {1 << round};
    }

    @Override
    void send(int round) {
      width /= 2;
      int bit = 1 << round;
      boolean upper = (me & bit) != 0;
      int give = first + (upper ? 0 : width);
      first += upper ? width : 0;
      String partner = peer(me ^ bit);
      Value out = parts.own(give, width, sum, sumFirst);
      send(partner, out);
      parts.giveBack(out, sum);
      mine = parts.own(first, width, sum, sumFirst);
      come = receive(partner, parts.elements(first, width));
    }

    @Override
    int come(int round) {
      Value value = come;
      if (value == null) {
        return -1;
      }
      tl.await(value);
      return value.elements();
    }

    @Override
    void use(int round) {
      Value value = come;
      Value own = mine;
      Value more = null;
      if (value != null && own != null) {
        more = reduction.combine(value, own);
        tl.release(value);
        parts.giveBack(own, sum);
      }
      Value before = sum;
      if (before != null && before != held) {
        tl.release(before);
      }
      sum = more;
      sumFirst = first;
    }
  }

  // ---- gathering: what comes is written ----

  /** Round a ring, a segment at a time. */
  static final class GatherRing extends DimensionRounds {
    private final int width;
    private final int base;

    /** What goes out next, given up then. */
    private @Nullable Value out;

    private @Nullable Value come;

    GatherRing(DimensionParts parts, int i, int lane, @Nullable Value own) {
      super(parts, i, lane);
      this.width = parts.width(i + 1);
      this.base = parts.first(i);
      this.out = own;
    }

    @Override
    int count() {
      return n - 1;
    }

    @Override
    long usualBytes(int round) {
      return parts.usualBytes(width);
    }

    /** Where a segment lies that has come so many rounds ago from here. */
    private int first(int round) {
      return base + Math.floorMod(me - round, n) * width;
    }

    @Override
    void send(int round) {
      send(next(), out);
      if (round > 0) {
        parts.write(first(round), width, out);
      }
      parts.release(out);
      come = receive(previous(), parts.elements(first(round + 1), width));
    }

    @Override
    int come(int round) {
      Value value = come;
      if (value == null) {
        return -1;
      }
      tl.await(value);
      return 0;
    }

    @Override
    void use(int round) {
      out = come;
    }

    @Override
    void done() {
      parts.write(first(n - 1), width, out);
      parts.release(out);
    }
  }

  /** From each to each. */
  static final class GatherDirect extends DimensionRounds {
    private final int width;
    private final int base;
    private final @Nullable Value own;
    private final Map<Integer, Value> come = new TreeMap<>();

    GatherDirect(DimensionParts parts, int i, int lane, @Nullable Value own) {
      super(parts, i, lane);
      this.width = parts.width(i + 1);
      this.base = parts.first(i);
      this.own = own;
    }

    @Override
    int count() {
      return 1;
    }

    @Override
    long usualBytes(int round) {
      return parts.usualBytes(width);
    }

    @Override
    int[] distances(int round) {
      return allDistances(n);
    }

    @Override
    void send(int round) {
      for (int d = 1; d < n; d++) {
        send(peer((me + d) % n), own);
      }
      parts.release(own);
      for (int d = 1; d < n; d++) {
        int from = Math.floorMod(me - d, n);
        Value value = receive(peer(from), parts.elements(base + from * width, width));
        if (value != null) {
          come.put(d, value);
        }
      }
    }

    @Override
    int come(int round) {
      come.values().forEach(tl::await);
      return 0;
    }

    @Override
    void use(int round) {}

    @Override
    void done() {
      come.forEach((d, value) -> {
        parts.write(base + Math.floorMod(me - d, n) * width, width, value);
        tl.release(value);
      });
    }
  }

  /** All that is there to the one whose place differs in a bit, from the highest bit on. */
  static final class GatherHalves extends DimensionRounds {
    private int first;
    private int width;
    private @Nullable Value held;
    private @Nullable Value come;

    GatherHalves(DimensionParts parts, int i, int lane, @Nullable Value own) {
      super(parts, i, lane);
      this.first = parts.first(i + 1);
      this.width = parts.width(i + 1);
      this.held = own;
    }

    @Override
    int count() {
      return Integer.numberOfTrailingZeros(n);
    }

    private int bit(int round) {
      return n >> (round + 1);
    }

    @Override
    long usualBytes(int round) {
      return parts.usualBytes(parts.width(i + 1) << round);
    }

    @Override
    int[] distances(int round) {
      return new int[] {bit(round)};
    }

    private boolean isUpper(int round) {
      return (me & bit(round)) != 0;
    }

    private int other(int round) {
      return isUpper(round) ? first - width : first + width;
    }

    @Override
    void send(int round) {
      String partner = peer(me ^ bit(round));
      send(partner, held);
      come = receive(partner, parts.elements(other(round), width));
    }

    @Override
    int come(int round) {
      Value value = come;
      if (value == null) {
        return -1;
      }
      tl.await(value);
      return 0;
    }

    @Override
    void use(int round) {
      parts.write(other(round), width, come);
      Value lower = isUpper(round) ? come : held;
      Value upper = isUpper(round) ? held : come;
      held = lower == null ? upper : upper == null ? lower : parts.joined(lower, upper);
      first = Math.min(first, other(round));
      width *= 2;
    }

    @Override
    void done() {
      parts.release(held);
    }
  }

  // ---- up a tree and down ----

  /** An all-reduce of the whole chunk along one dimension, in one of two binary trees. */
  static final class Tree extends DimensionRounds {
    private final Reduction reduction;
    private final int parent;
    private final int[] children;
    private final boolean last;
    private final List<Value> come = new ArrayList<>();
    private @Nullable Value sum;

    private final @Nullable Value held;
    private final int first;
    private final int width;

    Tree(
        DimensionParts parts,
        int i,
        int lane,
        Reduction reduction,
        @Nullable Value held,
        boolean last) {
      super(parts, i, lane);
      int tree = parts.chunk() % 2;
      this.reduction = reduction;
      this.parent = DimensionQueues.parent(tree, me, n);
      this.children = DimensionQueues.children(tree, me, n);
      this.held = held;
      this.last = last;
      this.first = parts.first(i);
      this.width = parts.width(i);
    }

    private boolean isLeaf() {
      return children.length == 0;
    }

    private boolean isRoot() {
      return parent < 0;
    }

    /**
     * Up, unless this is a leaf, which has nothing to wait for; and down, unless it is the root.
     */
    @Override
    int count() {
      return (isLeaf() ? 0 : 1) + (isRoot() ? 0 : 1);
    }

    private boolean isUp(int round) {
      return round == 0 && !isLeaf();
    }

    @Override
    long usualBytes(int round) {
      return parts.usualBytes(width);
    }

    @Override
    boolean reduces() {
      return !isLeaf();
    }

    @Override
    void send(int round) {
      if (round == 0) {
        sum = held == null ? parts.own(first, width, null, first) : held;
      }
      if (isUp(round)) {
        for (int child : children) {
          add(receive(peer(child), parts.elements(first, width)));
        }
      } else {
        send(peer(parent), sum);
        parts.release(sum);
        add(receive(peer(parent), parts.elements(first, width)));
      }
    }

    private void add(@Nullable Value value) {
      if (value != null) {
        come.add(value);
      }
    }

    @Override
    int come(int round) {
      come.forEach(tl::await);
      return come.isEmpty() ? -1 : come.getFirst().elements();
    }

    @Override
    void use(int round) {
      for (Value each : come) {
        Value before = sum;
        if (isUp(round) && before != null) {
          sum = reduction.combine(each, before);
          tl.release(each);
          tl.release(before);
        } else {
          sum = each;
        }
      }
      come.clear();
    }

    @Override
    void done() {
      Value result = sum;
      if (result != null && isRoot() && last) {
        result = reduction.finish(tl, result);
      }
      for (int child : children) {
        send(peer(child), result);
      }
      parts.write(first, width, result);
      parts.release(result);
    }
  }

  // ---- all-to-all ----

  /**
   * Blocks of an all-to-all along one dimension: after it, every rank has those whose receiver has
   * its place there, from all that are on its line.
   */
  abstract static class Exchange extends DimensionRounds {
    /** By sender and receiver, what this rank has on the way. */
    final Map<Integer, Block> blocks;

    private final int ranks;

    Exchange(DimensionParts parts, int axis, int lane, Map<Integer, Block> blocks) {
      super(parts, axis, lane);
      this.blocks = blocks;
      this.ranks = parts.call().ranks();
    }

    @Override
    long usualBytes(int round) {
      return parts.usualBytes(parts.width(0) / n);
    }

    /** What a place of this line has for another when the dimension begins, in order. */
    final List<Integer> pairs(int from, int to) {
      Axes axes = parts.axes();
      int holder = axes.rankAt(parts.rank(), axis, from);
      List<Integer> pairs = new ArrayList<>();
      for (int src = 0; src < ranks; src++) {
        for (int dst = 0; dst < ranks; dst++) {
          if (axes.place(dst, axis) == to
              && isAt(axes, holder, src, dst)
              && parts.block(src, dst) > 0) {
            pairs.add(src * ranks + dst);
          }
        }
      }
      return pairs;
    }

    /** Whether a block has reached a rank: it has gone along the dimensions before this one. */
    private boolean isAt(Axes axes, int holder, int src, int dst) {
      for (int a = 0; a < axes.count(); a++) {
        if (axes.place(holder, a) != axes.place(a < axis ? dst : src, a)) {
          return false;
        }
      }
      return true;
    }

    final int elements(List<Integer> pairs) {
      return pairs.stream().mapToInt(p -> parts.block(p / ranks, p % ranks)).sum();
    }

    /** Sends blocks as one message, and gives them up. */
    final void send(String to, List<Integer> pairs) {
      List<Block> all = new ArrayList<>();
      for (int pair : pairs) {
        Block held = blocks.remove(pair);
        Value read = held == null ? parts.readBlock(pair % ranks) : null;
        if (held != null) {
          all.add(held);
        } else if (read != null) {
          all.add(new Block(read, new Bundle(read, 1)));
        }
      }
      if (all.isEmpty()) {
        return;
      }
      Value first = all.getFirst().value();
      if (all.size() == 1) {
        tl.send(to, first);
      } else {
        Value[] more = all.stream().skip(1).map(Block::value).toArray(Value[]::new);
        Value message = tl.concat(0, first, more);
        tl.send(to, message);
        tl.release(message);
      }
      all.forEach(block -> block.of().release(tl));
    }

    /** Puts blocks in that have come as one vector. */
    final void put(List<Integer> pairs, Value all) {
      Bundle bundle = new Bundle(all, pairs.size());
      int done = 0;
      for (int pair : pairs) {
        int count = parts.block(pair / ranks, pair % ranks);
        Value value = pairs.size() == 1 ? all : all.range(done, count);
        blocks.put(pair, new Block(value, bundle));
        done += count;
      }
    }
  }

  /** A block of an all-to-all, and what it has come in. */
  record Block(Value value, Bundle of) {}

  /** Blocks that have come in one message: its space is free when all have gone on. */
  static final class Bundle {
    private final Value all;
    private int left;

    Bundle(Value all, int left) {
      this.all = all;
      this.left = left;
    }

    void release(Tl tl) {
      left--;
      if (left == 0) {
        tl.release(all);
      }
    }
  }

  /** From each to each. */
  static final class ExchangeDirect extends Exchange {
    private final Map<Integer, Value> come = new TreeMap<>();

    ExchangeDirect(DimensionParts parts, int axis, int lane, Map<Integer, Block> blocks) {
      super(parts, axis, lane, blocks);
    }

    @Override
    int count() {
      return 1;
    }

    @Override
    int[] distances(int round) {
      return allDistances(n);
    }

    @Override
    void send(int round) {
      for (int d = 1; d < n; d++) {
        int to = (me + d) % n;
        send(peer(to), pairs(me, to));
      }
      for (int d = 1; d < n; d++) {
        int from = Math.floorMod(me - d, n);
        Value value = receive(peer(from), elements(pairs(from, me)));
        if (value != null) {
          come.put(from, value);
        }
      }
    }

    @Override
    int come(int round) {
      come.values().forEach(tl::await);
      return 0;
    }

    @Override
    void use(int round) {
      come.forEach((from, value) -> put(pairs(from, me), value));
    }
  }

  /**
   * Round a ring: what goes d places on is handed on d times, and the next goes when it is there.
   */
  static final class ExchangeRing extends Exchange {
    private @Nullable Value out;
    private @Nullable Value come;
    private int distance = 1;
    private int hop;

    ExchangeRing(DimensionParts parts, int axis, int lane, Map<Integer, Block> blocks) {
      super(parts, axis, lane, blocks);
    }

    @Override
    int count() {
      return n * (n - 1) / 2;
    }

    /** What comes in the hop that is under way. */
    private List<Integer> coming() {
      int from = Math.floorMod(me - hop, n);
      return pairs(from, (from + distance) % n);
    }

    @Override
    void send(int round) {
      hop++;
      if (hop == 1) {
        send(next(), pairs(me, (me + distance) % n));
      } else {
        send(next(), out);
        parts.release(out);
      }
      int elements = elements(coming());
      // what stays here until the next dimension must not keep a slot
      come =
          elements > 0 && hop == distance
              ? tl.recvCopy(previous(), Shape.of(elements), parts.call().dtype())
              : receive(previous(), elements);
    }

    @Override
    int come(int round) {
      Value value = come;
      if (value == null) {
        return -1;
      }
      tl.await(value);
      return 0;
    }

    @Override
    void use(int round) {
      out = come;
      if (hop == distance) {
        Value value = out;
        if (value != null) {
          put(coming(), value);
        }
        distance++;
        hop = 0;
      }
    }
  }
}
