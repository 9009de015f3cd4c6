package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.conformance.Conformance;

/** What {@code conformance} says of forecasts: nothing of those that there are none of. */
final class ConformanceTextTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "0 | 0 | 0 | 0 | 0 | 0 | ''",
        "120 | 0.0001 | 0 | 0 | 0 | 0 | 120 exact within 0.010 %",
        "120 | 0 | 0 | 0 | 4.1 | 0 | 120 exact within 0.000 %; elsewhere 9 within a factor of 4.10",
        "0 | 0 | 7 | 1.25 | 0 | 0 | 7 others within a factor of 1.25",
        "0 | 0 | 0 | 0 | 2 | 5 | elsewhere 9 within a factor of 2.00; 5 not used: simulated instead",
        "3 | 0.0005 | 7 | 1.25 | 2 | 0 | 3 exact within 0.050 %, 7 others within a factor of 1.25; elsewhere 9 within a factor of 2.00",
      })
  void forecast_ofWhatThereIs(
      int exact,
      double worst,
      int others,
      double factor,
      double elsewhere,
      int left,
      String expected) {
    assertThat(
            ConformanceCommand.forecast(
                new Conformance.Forecasts(
                    exact, worst, others, factor, elsewhere > 0 ? 9 : 0, left, elsewhere)))
        .isEqualTo(expected);
  }
}
