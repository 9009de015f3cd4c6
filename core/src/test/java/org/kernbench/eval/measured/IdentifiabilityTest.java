package org.kernbench.eval.measured;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Intervals of values cover the truth as often as they say. */
final class IdentifiabilityTest {
  /** Positions are logarithms over ln 10000: the value is 100 at one half. */
  private static final FitParameter WIDE = FitParameter.parse("a=1..10000 us");

  private static final double RANGE = Math.log(10_000);

  private static double[] ones(int n) {
    double[] all = new double[n];
    Arrays.fill(all, 1);
    return all;
  }

  /**
   * Rows that are all as long as the value: the least sum of magnitudes is at the median, found
   * here without slopes and without a search.
   */
  @ParameterizedTest
  @CsvSource({"41, 0.05", "41, 0.2", "15, 0.05"})
  void intervals_ofTheMedianOfNoise_coverTheTruthNinetyFiveTimesOfAHundred(int n, double noise) {
    SplittableRandom random = new SplittableRandom(3);
    double[][] slopes = new double[n][];
    Arrays.setAll(slopes, row -> new double[] {RANGE});
    Identifiability rows = new Identifiability(List.of(WIDE), slopes);
    int covered = 0;
    int tables = 2000;
    for (int table = 0; table < tables; table++) {
      double[] off = random.doubles(n).map(u -> noise * random.nextGaussian()).toArray();
      double[] sorted = off.clone();
      Arrays.sort(sorted);
      double median = sorted[n / 2];
      double[] residuals = Arrays.stream(off).map(x -> median - x).toArray();
      Identifiability.Interval found =
          rows.intervals(new double[] {0.5 + median / RANGE}, residuals, ones(n)).getFirst();
      covered += found.low() <= 100 && 100 <= found.high() ? 1 : 0;
    }

    assertThat(covered / (double) tables).isBetween(0.92, 0.98);
  }

  /** Weights of two are rows that count twice, not twice as many rows. */
  @Test
  void intervals_ofRowsWithEqualWeights_areThoseWithoutWeights() {
    double[][] slopes = {{RANGE}, {RANGE / 2}, {RANGE / 3}, {RANGE}};
    Identifiability rows = new Identifiability(List.of(WIDE), slopes);
    double[] residuals = {0.01, -0.02, 0.03, -0.01};
    double[] twice = {2, 2, 2, 2};

    assertThat(rows.intervals(new double[] {0.5}, residuals, twice))
        .isEqualTo(rows.intervals(new double[] {0.5}, residuals, ones(4)));
  }

  @Test
  void intervals_ofAsManyValuesAsRows_areNone() {
    Identifiability rows = new Identifiability(List.of(WIDE), new double[][] {{1}});

    assertThat(rows.intervals(new double[] {0.5}, new double[] {0.1}, ones(1))).isEmpty();
  }

  /** From a table of Student's distribution, two-sided. */
  @ParameterizedTest
  @CsvSource({"5, 2.571", "10, 2.228", "30, 2.042", "120, 1.980"})
  void student_isThatOfTheTable(int free, double t) {
    assertThat(Identifiability.student(free)).isCloseTo(t, within(0.02));
  }
}
