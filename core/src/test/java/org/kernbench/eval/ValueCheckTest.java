package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Values against what they should be, at the tolerance. */
final class ValueCheckTest {
  /** Just the tolerance is right; what is due is right, also where it is no number. */
  @ParameterizedTest
  @CsvSource({
    "1.5, 1, 0.5, 0, 0.5",
    "0.5, 1, 0.5, 0, 0.5",
    "1.75, 1, 0.5, 1, 0.75",
    "1, 1, 0, 0, 0",
    "NaN, NaN, 0, 0, 0",
    "Infinity, Infinity, 0, 0, 0",
    "NaN, 1, 0.5, 1, Infinity",
    "1, NaN, 0.5, 1, Infinity",
    "Infinity, -Infinity, 0.5, 1, Infinity",
    "-0.0, 0.0, 0, 0, 0"
  })
  void value_isWrongBeyondTheTolerance(
      double got, double want, double allowed, long wrong, double error) {
    ValueCheck.Comparison comparison = new ValueCheck.Comparison(allowed);
    comparison.add(0, new double[] {got}, (rank, index) -> want);
    ValueCheck check = comparison.result();

    assertThat(check.wrong()).isEqualTo(wrong);
    assertThat(check.isCorrect()).isEqualTo(wrong == 0);
    assertThat(check.maxAbsError()).isEqualTo(error);
    assertThat(check.allowed()).isEqualTo(allowed);
    assertThat(check.first().isPresent()).isEqualTo(wrong > 0);
    assertThat(check.compared()).isEmpty();
  }

  @Test
  void firstWrongValue_isTold_andAllAreCounted() {
    ValueCheck.Comparison comparison = new ValueCheck.Comparison(0.25);
    comparison.add(0, new double[] {0, 1, 2}, (rank, index) -> index);
    comparison.add(3, new double[] {10, 31, 99, 33.5}, (rank, index) -> 10.0 * rank + index);
    ValueCheck check = comparison.result();

    assertThat(check.checked()).isEqualTo(7);
    assertThat(check.wrong()).isEqualTo(3);
    assertThat(check.maxAbsError()).isEqualTo(67);
    assertThat(check.first()).contains(new ValueCheck.Mismatch(3, 0, 10, 30, "", 0.25));
  }
}
