package org.kernbench.ccl.dimensions;

import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.kernbench.tl.Value;

/** Rounds at whose end this rank has what all of its line had: what comes is written. */
abstract class GatherRounds extends DimensionRounds {
  GatherRounds(DimensionParts parts, int i, int lane) {
    super(parts, i, lane);
  }

  /** Round a ring, a segment at a time. */
  static final class Ring extends GatherRounds {
    /** What goes out next, given up then. */
    private @Nullable Value out;

    private @Nullable Value come;

    Ring(DimensionParts parts, int i, int lane, @Nullable Value own) {
      super(parts, i, lane);
      this.out = own;
    }

    @Override
    int count() {
      return n - 1;
    }

    @Override
    void send(int round) {
      send(next(), out);
      if (round > 0) {
        parts.write(segment(me - round), width(), out);
      }
      parts.release(out);
      come = receive(previous(), parts.elements(segment(me - round - 1), width()));
    }

    @Override
    int come(int round) {
      return await(come);
    }

    @Override
    void use(int round) {
      out = come;
    }

    @Override
    void done() {
      parts.write(segment(me - n + 1), width(), out);
      parts.release(out);
    }
  }

  /** From each to each. */
  static final class Direct extends GatherRounds {
    private final @Nullable Value own;
    private final Map<Integer, Value> come = new TreeMap<>();

    Direct(DimensionParts parts, int i, int lane, @Nullable Value own) {
      super(parts, i, lane);
      this.own = own;
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
        send(peer((me + d) % n), own);
      }
      parts.release(own);
      for (int d = 1; d < n; d++) {
        int from = Math.floorMod(me - d, n);
        Value value = receive(peer(from), parts.elements(segment(from), width()));
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
        parts.write(segment(me - d), width(), value);
        tl.release(value);
      });
    }
  }

  /** All that is there to the one whose place differs in a bit, from the highest bit on. */
  static final class Halves extends GatherRounds {
    private int first;
    private int width;
    private @Nullable Value held;
    private @Nullable Value come;

    Halves(DimensionParts parts, int i, int lane, @Nullable Value own) {
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
      return await(come);
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
}
