package org.kernbench.eval;

import java.util.List;
import java.util.Optional;

/**
 * Whether computed values are what they should be, and if not, where they first are not.
 *
 * @param checked number of values compared
 * @param wrong how many of them are off by more than allowed, or are not finite
 * @param maxAbsError largest absolute difference; infinite if a value is not finite
 * @param allowed largest absolute difference that is accepted; of several tensors that of the one
 *     that comes nearest to its own
 * @param first the first wrong value by rank, then index; empty if none is wrong
 * @param compared what was compared where that is tensors of several kinds, each with a tolerance
 *     of its own; empty where all values are of one kind
 */
public record ValueCheck(
    long checked,
    long wrong,
    double maxAbsError,
    double allowed,
    Optional<Mismatch> first,
    List<Compared> compared) {
  /** Copies the list. */
  public ValueCheck {
    compared = List.copyOf(compared);
  }

  /** Of values of one kind. */
  public ValueCheck(
      long checked, long wrong, double maxAbsError, double allowed, Optional<Mismatch> first) {
    this(checked, wrong, maxAbsError, allowed, first, List.of());
  }

  /**
   * One wrong value.
   *
   * @param rank whose tensor
   * @param index in the flattened tensor
   * @param got what was computed
   * @param expected what it should be
   * @param tensor which, where there are several; otherwise empty
   * @param allowed largest difference from what is expected
   */
  public record Mismatch(
      int rank, long index, double got, double expected, String tensor, double allowed) {}

  /**
   * Tensors of a kind.
   *
   * @param kind in words, for example {@code gradients of parameters}
   * @param tensors how many there are, each counted once
   * @param values how many were compared, on all ranks
   * @param worst largest share of its tolerance that one of them takes; above 1 if it is wrong
   * @param worstTensor which
   */
  public record Compared(String kind, int tensors, long values, double worst, String worstTensor) {}

  /** What a value should be. */
  public interface Expected {
    double at(int rank, int index);
  }

  /** Whether no value is wrong. */
  public boolean isCorrect() {
    return wrong == 0;
  }

  /** Compares as it is fed, rank by rank. */
  public static final class Comparison {
    private final double allowed;
    private double nearest;
    private double share = -1;
    private long checked;
    private long wrong;
    private double maxAbsError;
    private Optional<Mismatch> first = Optional.empty();

    /**
     * A comparison with a tolerance.
     *
     * @param allowed largest absolute difference that is accepted, at least 0
     */
    public Comparison(double allowed) {
      this.allowed = allowed;
      this.nearest = allowed;
    }

    public void add(int rank, double[] values, Expected expected) {
      add(rank, values, expected, allowed);
    }

    /** With a tolerance of its own; that of the tensor which comes nearest to it is reported. */
    public void add(int rank, double[] values, Expected expected, double allowed) {
      double largest = 0;
      for (int i = 0; i < values.length; i++) {
        double want = expected.at(rank, i);
        boolean same = Double.compare(values[i], want) == 0; // also an infinity or NaN that is due
        double error = same ? 0 : Math.abs(values[i] - want);
        if (!Double.isFinite(error)) {
          error = Double.POSITIVE_INFINITY;
        }
        largest = Math.max(largest, error);
        if (error > allowed) {
          wrong++;
          if (first.isEmpty()) {
            first = Optional.of(new Mismatch(rank, i, values[i], want, "", allowed));
          }
        }
      }
      checked += values.length;
      double taken = largest == 0 ? 0 : largest / allowed;
      if (taken > share || (taken == share && largest > maxAbsError)) {
        share = taken;
        nearest = allowed;
      }
      maxAbsError = Math.max(maxAbsError, largest);
    }

    public ValueCheck result() {
      return new ValueCheck(checked, wrong, maxAbsError, nearest, first);
    }
  }
}
