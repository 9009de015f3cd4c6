package org.kernbench.ccl.dimensions;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.Axes;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/**
 * Blocks of an all-to-all along one dimension: after it, every rank has those whose receiver has
 * its place there, from all that are on its line.
 */
abstract class ExchangeRounds extends DimensionRounds {
  /** By sender and receiver, what this rank has on the way. */
  final Map<Integer, Block> blocks;

  private final int ranks;

  ExchangeRounds(DimensionParts parts, int axis, int lane, Map<Integer, Block> blocks) {
    super(parts, axis, lane);
    this.blocks = blocks;
    this.ranks = parts.call().ranks();
  }

  @Override
  long usualBytes(int round) {
    return parts.usualBytes(parts.width(0) / n);
  }

  /**
   * What a place of this line has for another when the dimension begins: blocks that have gone
   * along the dimensions before this one, in the order of how far their senders, then their
   * receivers lie from the rank at that place. So all ranks do alike.
   */
  final List<Integer> pairs(int from, int to) {
    Axes axes = parts.axes();
    int holder = axes.rankAt(parts.rank(), axis, from);
    int next = axes.rankAt(holder, axis, to);
    List<Integer> pairs = new ArrayList<>();
    List<Integer> receivers = further(axes, next, axis + 1, axes.count());
    for (int src : further(axes, holder, 0, axis)) {
      for (int dst : receivers) {
        if (parts.block(src, dst) > 0) {
          pairs.add(src * ranks + dst);
        }
      }
    }
    return pairs;
  }

  /** The ranks that differ from one along some dimensions only, itself first, by distance. */
  static List<Integer> further(Axes axes, int rank, int firstAxis, int endAxis) {
    List<Integer> found = List.of(rank);
    for (int a = firstAxis; a < endAxis; a++) {
      List<Integer> more = new ArrayList<>();
      int size = axes.axis(a).size();
      for (int distance = 0; distance < size; distance++) {
        for (int each : found) {
          more.add(axes.rankAt(each, a, (axes.place(each, a) + distance) % size));
        }
      }
      found = more;
    }
    return found;
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
  static final class Direct extends ExchangeRounds {
    /** By distance. */
    private final Map<Integer, Value> come = new TreeMap<>();

    Direct(DimensionParts parts, int axis, int lane, Map<Integer, Block> blocks) {
      super(parts, axis, lane, blocks);
    }

    @Override
    int count() {
      return 1;
    }

    @Override
    int[] distances(int round) {
      return allDistances();
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
    void use(int round) {
      come.forEach((d, value) -> put(pairs(Math.floorMod(me - d, n), me), value));
    }
  }

  /**
   * Round a ring: what goes d places on is handed on d times, and the next goes when it is there.
   */
  static final class Ring extends ExchangeRounds {
    private @Nullable Value out;
    private @Nullable Value come;
    private int distance = 1;
    private int hop;

    Ring(DimensionParts parts, int axis, int lane, Map<Integer, Block> blocks) {
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
      return await(come);
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
