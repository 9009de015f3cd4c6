package org.kernbench.eval;

import java.util.Locale;
import org.kernbench.tensor.DType;

/** What the ranks of a collective hold before it. */
enum Pattern {
  /** Rank r holds r + 1 in every element. */
  RANK {
    @Override
    double at(int rank, int index) {
      return rank + 1.0;
    }

    @Override
    double largest(int ranks) {
      return ranks;
    }
  },
  /**
   * Whole numbers from -2 to 2 that differ from element to element and from rank to rank without a
   * period, so that a misplaced element and a missing rank show, and sums stay exact in small
   * dtypes.
   */
  MIXED {
    @Override
    double at(int rank, int index) {
      int h = (rank * 0x9E3779B1 + index) * 0x85EBCA6B;
      h = (h ^ (h >>> 15)) * 0xC2B2AE35;
      return (h >>> 16) % 5 - 2.0;
    }

    @Override
    double largest(int ranks) {
      return 2;
    }
  };

  /** {@link #RANK} if its sums are exact in the dtype, otherwise {@link #MIXED}. */
  static Pattern exactIn(DType dtype, int ranks) {
    return RANK.isExact(dtype, ranks) ? RANK : MIXED;
  }

  /** Whether every sum of some of the ranks' values is a value of the dtype. */
  boolean isExact(DType dtype, int ranks) {
    double largest = largestSum(ranks);
    double exact = dtype.isFloatingPoint() ? 1 / dtype.unitRoundoff() : dtype.maxFinite();
    return largest <= Math.min(exact, dtype.maxFinite());
  }

  abstract double at(int rank, int index);

  /** The largest magnitude that any of {@code ranks} ranks holds. */
  abstract double largest(int ranks);

  String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  double[] values(int rank, int elements, DType dtype) {
    double[] values = new double[elements];
    for (int i = 0; i < elements; i++) {
      values[i] = dtype.round(at(rank, i));
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
        sums[i] += dtype.round(at(rank, i));
      }
    }
    return sums;
  }

  /** The largest magnitude that a sum, or a part of it, can have. */
  double largestSum(int ranks) {
    double sum = 0;
    for (int rank = 0; rank < ranks; rank++) {
      sum += this == RANK ? rank + 1.0 : largest(ranks);
    }
    return sum;
  }
}
