package org.kernbench.ccl.dimensions;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.Reduction;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Value;

/** Rounds at whose end this rank holds sums; nothing, if its part of few elements is empty. */
abstract class ScatterRounds extends DimensionRounds {
  final Reduction reduction;

  /** The sums of the dimension before; null if the vector is read. */
  final @Nullable Value held;

  @Nullable Value sum;

  ScatterRounds(DimensionParts parts, int i, int lane, Reduction reduction, @Nullable Value held) {
    super(parts, i, lane);
    this.reduction = reduction;
    this.held = held;
  }

  @Override
  final boolean reduces() {
    return true;
  }

  /** What this rank has of a place's segment: of the sums before, or read. */
  final @Nullable Value own(int place) {
    return parts.own(segment(place), width(), held, parts.first(i));
  }

  /** The sums, after the last round. */
  @Nullable Value sum() {
    return sum;
  }

  /** Round a ring, a segment at a time. */
  static final class Ring extends ScatterRounds {
    private @Nullable Value mine;
    private @Nullable Value come;

    Ring(DimensionParts parts, int i, int lane, Reduction reduction, @Nullable Value held) {
      super(parts, i, lane, reduction, held);
    }

    @Override
    int count() {
      return n - 1;
    }

    @Override
    void send(int round) {
      if (round == 0) {
        Value out = own(me - 1);
        send(next(), out);
        parts.giveBack(out, held);
      } else {
        send(next(), sum);
        parts.release(sum);
      }
      mine = own(me - 2 - round);
      come = receive(previous(), parts.elements(segment(me - 2 - round), width()));
    }

    @Override
    int come(int round) {
      return await(come);
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
  static final class Direct extends ScatterRounds {
    private final List<Value> come = new ArrayList<>();

    Direct(DimensionParts parts, int i, int lane, Reduction reduction, @Nullable Value held) {
      super(parts, i, lane, reduction, held);
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
        Value out = own(to);
        send(peer(to), out);
        parts.giveBack(out, held);
      }
      sum = own(me);
      int elements = parts.elements(segment(me), width());
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
  static final class Halves extends ScatterRounds {
    private int first;
    private int width;
    private int sumFirst;
    private @Nullable Value mine;
    private @Nullable Value come;

    Halves(DimensionParts parts, int i, int lane, Reduction reduction, @Nullable Value held) {
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
      return await(come);
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
}
