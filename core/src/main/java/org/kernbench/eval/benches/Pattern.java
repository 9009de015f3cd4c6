package org.kernbench.eval.benches;

import java.util.Locale;
import org.kernbench.tensor.DType;

/** What the ranks of a collective hold before it. */
public enum Pattern {
  /** Rank r holds r + 1 in every element. */
  RANK {
    @Override
    double at(int rank, int index, int ranks) {
      return rank + 1.0;
    }

    @Override
    double largestSum(int ranks) {
      return ranks * (ranks + 1.0) / 2;
    }
  },
  /**
   * Whole numbers from -2 to 2 that differ from element to element and from rank to rank without a
   * period, so that a misplaced element and a missing rank show, and sums stay exact in small
   * dtypes.
   */
  MIXED {
    @Override
    double at(int rank, int index, int ranks) {
      return hash(rank, index) % 5 - 2.0;
    }

    @Override
    double largestSum(int ranks) {
      return 2.0 * ranks;
    }
  },
  /**
   * At each index at most four ranks hold 1 or 2, all others 0: every sum is at most 8, which each
   * dtype holds exactly, whatever the number of ranks. From one index to the next other ranks take
   * their turn, so that over {@code ranks / 4} indices a missing rank shows.
   */
  SPARSE {
    private static final int AT_ONCE = 4;

    @Override
    double at(int rank, int index, int ranks) {
      int turns = Math.ceilDiv(ranks, AT_ONCE);
      return ((long) rank + index) % turns == 0 ? 1 + hash(rank, index) % 2 : 0;
    }

    @Override
    double largestSum(int ranks) {
      return 2.0 * Math.min(ranks, AT_ONCE);
    }
  };

  /** The first whose sums are exact in the dtype; those of {@link #SPARSE} always are. */
  static Pattern exactIn(DType dtype, int ranks) {
    return RANK.isExact(dtype, ranks) ? RANK : MIXED.isExact(dtype, ranks) ? MIXED : SPARSE;
  }

  /** Whether every sum of some of the ranks' values is a value of the dtype. */
  boolean isExact(DType dtype, int ranks) {
    double largest = largestSum(ranks);
    double exact = dtype.isFloatingPoint() ? 1 / dtype.unitRoundoff() : dtype.maxFinite();
    return largest <= Math.min(exact, dtype.maxFinite());
  }

  /** 16 bits without a period. */
  private static int hash(int rank, int index) {
    int h = (rank * 0x9E3779B1 + index) * 0x85EBCA6B;
    h = (h ^ (h >>> 15)) * 0xC2B2AE35;
    return h >>> 16;
  }

  /** What one of {@code ranks} ranks holds at an index. */
  abstract double at(int rank, int index, int ranks);

  /** The largest magnitude that a sum, or a part of it, can have. */
  abstract double largestSum(int ranks);

  String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  double[] values(int rank, int elements, int ranks, DType dtype) {
    double[] values = new double[elements];
    for (int i = 0; i < elements; i++) {
      values[i] = dtype.round(at(rank, i, ranks));
    }
    return values;
  }

  /**
   * The sums over the ranks, in f64 and ascending order of rank: exact, because all are whole
   * numbers.
   */
  double[] sums(int ranks, int elements, DType dtype) {
    double[] sums = new double[elements];
    for (int rank = 0; rank < ranks; rank++) {
      for (int i = 0; i < elements; i++) {
        sums[i] += dtype.round(at(rank, i, ranks));
      }
    }
    return sums;
  }
}
