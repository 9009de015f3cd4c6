package org.kernbench.ccl.flow;

import java.util.List;
import org.kernbench.ccl.Segments;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.Splits;

/** Where the units of each chunk lie, in elements of the whole vector. */
interface FlowCut {
  /** Number of chunks. */
  int chunks();

  /** First element of a unit of a chunk, where it is read. */
  int begin(int chunk, int unit);

  /** One past its last element. */
  int end(int chunk, int unit);

  /** First element where it is written: the same, but for an all-to-all. */
  default int place(int chunk, int unit) {
    return begin(chunk, unit);
  }

  /** Whether the next unit lies right behind a unit, in every chunk. */
  boolean adjoins(int unit);

  /** Elements of some units; several lie one behind the other. */
  default int count(int chunk, int first, int units) {
    return end(chunk, first + units - 1) - begin(chunk, first);
  }

  /**
   * A vector in chunks of almost equal size, each with its units by their weights, one behind the
   * other.
   */
  static FlowCut even(int elements, int chunks, List<Integer> weights) {
    Segments segments = new Segments(0, elements, chunks);
    long[] above = new long[weights.size() + 1];
    for (int unit = 0; unit < weights.size(); unit++) {
      above[unit + 1] = above[unit] + weights.get(unit);
    }
    long total = above[weights.size()];
    return new FlowCut() {
      @Override
      public int chunks() {
        return chunks;
      }

      @Override
      public int begin(int chunk, int unit) {
        return segments.start(chunk) + (int) (segments.count(chunk) * above[unit] / total);
      }

      @Override
      public int end(int chunk, int unit) {
        return begin(chunk, unit + 1);
      }

      @Override
      public boolean adjoins(int unit) {
        return unit + 1 < weights.size();
      }
    };
  }

  /**
   * The parts that ranks own, each cut into shares, and every share into a piece for each chunk.
   *
   * @param weights by unit: those of the first shares of all ranks, then those of the second
   */
  static FlowCut shares(List<Part> parts, List<Integer> weights, int chunks) {
    int ranks = parts.size();
    long total = 0;
    for (int unit = 0; unit < weights.size(); unit += ranks) {
      total += weights.get(unit);
    }
    Part[] units = new Part[weights.size()];
    long above = 0;
    for (int unit = 0; unit < units.length; unit++) {
      Part part = parts.get(unit % ranks);
      long weight = weights.get(unit);
      long start = part.count() * above / total;
      units[unit] = new Part(part.start() + start, part.count() * (above + weight) / total - start);
      above += unit % ranks == ranks - 1 ? weight : 0;
    }
    return new Ranges(units, new long[units.length], chunks);
  }

  /** The blocks of an all-to-all, by source and destination. */
  static FlowCut blocks(Splits splits, int chunks) {
    int ranks = splits.ranks();
    Part[] units = new Part[ranks * ranks];
    long[] moved = new long[units.length];
    for (int from = 0; from < ranks; from++) {
      long start = 0;
      for (int to = 0; to < ranks; to++) {
        units[from * ranks + to] = new Part(start, splits.count(from, to));
        moved[from * ranks + to] = -start;
        start += splits.count(from, to);
      }
    }
    for (int to = 0; to < ranks; to++) {
      long start = 0;
      for (int from = 0; from < ranks; from++) {
        moved[from * ranks + to] += start;
        start += splits.count(from, to);
      }
    }
    return new Ranges(units, moved, chunks);
  }

  /** Any ranges, one for each unit; a chunk has a piece of each. */
  final class Ranges implements FlowCut {
    private final Segments[] pieces;
    private final int[] moved;
    private final int chunks;

    /**
     * Ranges.
     *
     * @param moved by unit: how far behind the place it is read from it is written
     */
    Ranges(Part[] units, long[] moved, int chunks) {
      this.chunks = chunks;
      this.pieces = new Segments[units.length];
      this.moved = new int[units.length];
      for (int unit = 0; unit < units.length; unit++) {
        int start = Math.toIntExact(units[unit].start());
        this.pieces[unit] = new Segments(start, Math.toIntExact(units[unit].count()), chunks);
        this.moved[unit] = Math.toIntExact(moved[unit]);
      }
    }

    @Override
    public int chunks() {
      return chunks;
    }

    @Override
    public int begin(int chunk, int unit) {
      return pieces[unit].start(chunk);
    }

    @Override
    public int end(int chunk, int unit) {
      return pieces[unit].start(chunk) + pieces[unit].count(chunk);
    }

    @Override
    public boolean adjoins(int unit) {
      return chunks == 1
          && unit + 1 < pieces.length
          && pieces[unit].start() + pieces[unit].total() == pieces[unit + 1].start();
    }

    @Override
    public int place(int chunk, int unit) {
      return begin(chunk, unit) + moved[unit];
    }
  }
}
