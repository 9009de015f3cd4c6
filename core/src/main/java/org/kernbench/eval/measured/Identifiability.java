package org.kernbench.eval.measured;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * What rows say of values: whether they depend on each, whether they tell them apart, and how
 * closely they determine them.
 */
public final class Identifiability {
  /** Below this a row's time does not depend on a value, per whole range. */
  private static final double NO_EFFECT = 1e-4;

  /** Sine of the angle between what two values change, below which rows cannot tell them apart. */
  private static final double ALIKE = 0.05;

  /** Of a normal distribution, two-sided. */
  /** Student's t of 1 to 5 degrees of freedom, where the series is off. */
  private static final double[] FEW = {12.7062047, 4.3026527, 3.1824463, 2.7764451, 2.5705818};

  private static final double Z_95 = 1.959964;

  /** From the median of magnitudes to the standard deviation of a normal distribution. */
  private static final double MEDIAN_TO_SIGMA = 1.4826;

  private final List<FitParameter> parameters;
  private final double[][] slopes;

  /**
   * @param slopes by row and value, what the logarithm of its time changes by over the whole range
   */
  Identifiability(List<FitParameter> parameters, double[][] slopes) {
    this.parameters = parameters;
    this.slopes = slopes;
  }

  /**
   * In which a value lies for 95 of 100 tables whose rows are off as these are.
   *
   * @param low the least, or the limit of its range
   * @param high the largest
   * @param share half of its width over the value
   * @param unit as it is written
   */
  public record Interval(double low, double high, double share, String unit) {
    /** As text. */
    String text() {
      String word = unit.isEmpty() ? "" : " " + unit;
      return String.format(Locale.ROOT, "95 %% from %.4g to %.4g%s", low, high, word);
    }
  }

  /** Whether no row changes with a value, where the slopes are from. */
  boolean isWithoutEffect(int parameter) {
    double sum = 0;
    for (double[] row : slopes) {
      sum += row[parameter] * row[parameter];
    }
    return Math.sqrt(sum / slopes.length) < NO_EFFECT;
  }

  /** Values that these rows say nothing of, or two of which they say the same. */
  Optional<String> refusal() {
    int n = parameters.size();
    double[][] columns = new double[n][slopes.length];
    for (int i = 0; i < n; i++) {
      for (int row = 0; row < slopes.length; row++) {
        columns[i][row] = slopes[row][i];
      }
    }
    for (int i = 0; i < n; i++) {
      if (isWithoutEffect(i)) {
        return Optional.of(
            "no row depends on %s; leave it out".formatted(parameters.get(i).path()));
      }
    }
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < i; j++) {
        if (sine(columns[i], columns[j]) < ALIKE) {
          return Optional.of(
              """
              the rows cannot tell %s and %s apart: what one changes, the other does too; fit \
              one of them, or add rows that only one matters for\
              """
                  .formatted(parameters.get(j).path(), parameters.get(i).path()));
        }
      }
    }
    for (int i = 0; n > 2 && i < n; i++) {
      if (outside(columns, i) < ALIKE) {
        return Optional.of(
            "the rows cannot tell %s from the other keys together; leave it out or add rows"
                .formatted(parameters.get(i).path()));
      }
    }
    return Optional.empty();
  }

  /**
   * Of the values at which the sum of magnitudes is least: {@code pi/2 sigma^2 (J' W J)^-1 (J' W^2
   * J) (J' W J)^-1}, the covariance of a least sum of magnitudes where errors are normal, with
   * sigma from the median of the errors and Student's t for few rows. Empty if there are no more
   * rows than values.
   */
  List<Interval> intervals(double[] at, double[] residuals, double[] weights) {
    int n = parameters.size();
    int free = residuals.length - n;
    if (free <= 0) {
      return List.of();
    }
    double sigma =
        MEDIAN_TO_SIGMA * median(residuals) * Math.sqrt((double) residuals.length / free);
    double[][] once = Linear.inverse(squares(weights, 1));
    double[][] twice = squares(weights, 2);
    List<Interval> intervals = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      double variance = 0;
      for (int j = 0; j < n; j++) {
        for (int k = 0; k < n; k++) {
          variance += once[i][j] * twice[j][k] * once[k][i];
        }
      }
      double half = student(free) * sigma * Math.sqrt(Math.PI / 2 * variance);
      FitParameter p = parameters.get(i);
      double low = p.value(Math.clamp(at[i] - half, 0, 1));
      double high = p.value(Math.clamp(at[i] + half, 0, 1));
      double share = (high - low) / 2 / Math.abs(p.value(at[i]));
      intervals.add(new Interval(low, high, share, p.unit()));
    }
    return intervals;
  }

  private double[][] squares(double[] weights, int power) {
    int n = parameters.size();
    double[][] sum = new double[n][n];
    for (int row = 0; row < slopes.length; row++) {
      double w = StrictMath.pow(weights[row], power);
      for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
          sum[i][j] += w * slopes[row][i] * slopes[row][j];
        }
      }
    }
    return sum;
  }

  private static double median(double[] residuals) {
    double[] sorted = Arrays.stream(residuals).map(Math::abs).sorted().toArray();
    int half = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }

  /**
   * Student's t, 95 % two-sided: from its table, or by the first terms of its series in 1 / degrees
   * of freedom.
   */
  static double student(int free) {
    if (free <= FEW.length) {
      return FEW[Math.max(1, free) - 1];
    }
    double z = Z_95;
    double z2 = z * z;
    double v = free;
    double first = z * (z2 + 1) / 4;
    double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
    double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    return z + first / v + second / (v * v) + third / (v * v * v);
  }

  private static double norm(double[] v) {
    return Math.sqrt(dot(v, v));
  }

  private static double dot(double[] a, double[] b) {
    double sum = 0;
    for (int i = 0; i < a.length; i++) {
      sum += a[i] * b[i];
    }
    return sum;
  }

  private static double sine(double[] a, double[] b) {
    double cosine = dot(a, b) / (norm(a) * norm(b));
    return Math.sqrt(Math.max(0, 1 - cosine * cosine));
  }

  /** What is left of a column beside all others, as a share of it. */
  private static double outside(double[][] columns, int which) {
    List<double[]> basis = new ArrayList<>();
    for (int i = 0; i < columns.length; i++) {
      if (i != which) {
        double[] left = without(columns[i], basis);
        double size = norm(left);
        if (size > 1e-9 * norm(columns[i])) {
          basis.add(Arrays.stream(left).map(x -> x / size).toArray());
        }
      }
    }
    return norm(without(columns[which], basis)) / norm(columns[which]);
  }

  private static double[] without(double[] v, List<double[]> basis) {
    double[] left = v.clone();
    for (double[] each : basis) {
      double along = dot(left, each);
      for (int i = 0; i < left.length; i++) {
        left[i] -= along * each[i];
      }
    }
    return left;
  }
}
