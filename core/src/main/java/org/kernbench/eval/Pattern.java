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
   * Small whole numbers that differ between neighbours in both directions, so that a misplaced
   * element shows.
   */
  MIXED {
    @Override
    double at(int rank, int index) {
      return (rank * 5L + index * 3L + index / 7) % 11 - 5.0;
    }

    @Override
    double largest(int ranks) {
      return 5;
    }
  };

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
