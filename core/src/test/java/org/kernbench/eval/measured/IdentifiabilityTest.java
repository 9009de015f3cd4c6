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

  private static Identifiability of(double[]... rows) {
    List<FitParameter> all =
        List.of("a=1..2", "b=1..2", "c=1..2", "d=1..2").stream()
            .map(FitParameter::parse)
            .limit(rows[0].length)
            .toList();
    return new Identifiability(all, rows);
  }

  /**
   * Columns {@code (1 0 0), (0 1 0), (1 1 e)}, no two of which are alike: the third is off the
   * plane of the others by a share of {@code e / sqrt(2 + e^2)}, the others by {@code e / sqrt(1 +
   * e^2)}.
   */
  @Test
  void refusal_ofAColumnInThePlaneOfTheOthers_namesIt() {
    String alike = "the rows cannot tell %s from the other keys together; leave it out or add rows";
    assertThat(above(0.0705).refusal()).contains(alike.formatted("c"));
    assertThat(above(0.0711).refusal()).isEmpty();
    assertThat(above(0.04).refusal()).contains(alike.formatted("a"));
  }

  private static Identifiability above(double e) {
    return of(new double[] {1, 0, 1}, new double[] {0, 1, 1}, new double[] {0, 0, e});
  }

  /** The first stands by itself; of the rest each is the sum or the difference of two others. */
  @Test
  void refusal_ofColumnsThatDependOnEachOther_namesTheFirstOfThem() {
    assertThat(
            of(new double[] {0, 1, 0, 1}, new double[] {0, 0, 1, 1}, new double[] {1, 0, 0, 0})
                .refusal())
        .contains("the rows cannot tell b from the other keys together; leave it out or add rows");
  }

  /** Sines of 0.0499 and 0.0501 between two columns. */
  @Test
  void refusal_ofTwoColumnsThatAreAlike_namesBoth() {
    assertThat(of(new double[] {1, 1}, new double[] {0, 0.04996}).refusal())
        .contains(
            """
            the rows cannot tell a and b apart: what one changes, the other does too; fit one of \
            them, or add rows that only one matters for\
            """);
    assertThat(of(new double[] {1, 1}, new double[] {0, 0.05016}).refusal()).isEmpty();
    assertThat(of(new double[] {1, 0.9e-4}, new double[] {0, 1.0e-4}).refusal())
        .contains("no row depends on b; leave it out");
    assertThat(of(new double[] {1, 1.1e-4}, new double[] {0, 1.0e-4}).refusal()).isEmpty();
  }

  /** From a table of Student's distribution, two-sided. */
  @ParameterizedTest
  @CsvSource({
    "1, 12.706",
    "2, 4.303",
    "3, 3.182",
    "4, 2.776",
    "5, 2.571",
    "6, 2.447",
    "10, 2.228",
    "30, 2.042",
    "120, 1.980"
  })
  void student_isThatOfTheTable(int free, double t) {
    assertThat(Identifiability.student(free)).isCloseTo(t, within(0.006));
  }

  /** The terms of the series of Fisher and Cornish (Abramowitz and Stegun 26.7.5), one by one. */
  @ParameterizedTest
  @CsvSource({"6", "7", "9", "1000"})
  void student_isItsSeries(int free) {
    double z = 1.959963984540054;
    double[] terms = {
      (Math.pow(z, 3) + z) / 4,
      (5 * Math.pow(z, 5) + 16 * Math.pow(z, 3) + 3 * z) / 96,
      (3 * Math.pow(z, 7) + 19 * Math.pow(z, 5) + 17 * Math.pow(z, 3) - 15 * z) / 384
    };
    double sum = z;
    for (int i = 0; i < terms.length; i++) {
      sum += terms[i] / Math.pow(free, i + 1);
    }

    assertThat(Identifiability.student(free)).isCloseTo(sum, within(1e-4));
  }
}
