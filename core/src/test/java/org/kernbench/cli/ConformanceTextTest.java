package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
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

  private static String printed(Conformance.Report report) {
    StringWriter out = new StringWriter();
    Terminal terminal =
        new Terminal(
            new PrintWriter(out),
            new PrintWriter(new StringWriter()),
            false,
            false,
            Optional::empty);
    new ConformanceCommand(terminal).print(report);
    terminal.flush();
    return out.toString();
  }

  private static final Conformance.Forecasts NONE = new Conformance.Forecasts(0, 0, 0, 0, 0, 0, 0);

  @Test
  void report_ofAllThereIs() {
    assertThat(
            printed(
                new Conformance.Report(
                    "ring",
                    1200,
                    3,
                    Map.of("3 of a cube", "not a ring"),
                    List.of("case 7", "case 9"),
                    2,
                    new Conformance.Slots(12, 2, 5),
                    new Conformance.Forecasts(120, 0.0001, 0, 0, 0, 0, 0),
                    new Conformance.Ratios(1.25, 9.5, 1.002))))
        .isEqualTo(
            """
            ring                     FAIL  1,200 cases, 2 failed, 3 refused
              time     1.25 to 9.50 times the bound; 64 MiB from 1.002
              slots    2 to 5 needed, 12 counts as measured
              forecast 120 exact within 0.010 %
              refuses 3 of a cube: not a ring
              failed case 7
              failed case 9
            """);
  }

  /** Lines of which there is nothing to say are left out; nothing run is neither ok nor failed. */
  @Test
  void report_ofWhatThereIsNot() {
    Conformance.Slots slots = new Conformance.Slots(0, 0, 0);
    assertThat(
            printed(
                new Conformance.Report(
                    "a",
                    0,
                    4,
                    Map.of(),
                    List.of(),
                    0,
                    slots,
                    NONE,
                    new Conformance.Ratios(0, 0, 0))))
        .isEqualTo("a                        none  0 cases, 0 failed, 4 refused\n");
    assertThat(
            printed(
                new Conformance.Report(
                    "a",
                    1,
                    0,
                    Map.of(),
                    List.of(),
                    0,
                    slots,
                    NONE,
                    new Conformance.Ratios(1, 2, 0))))
        .isEqualTo(
            """
            a                        ok    1 cases, 0 failed, 0 refused
              time     1.00 to 2.00 times the bound
            """);
    assertThat(
            printed(
                new Conformance.Report(
                    "a",
                    0,
                    0,
                    Map.of(),
                    List.of(),
                    1,
                    slots,
                    NONE,
                    new Conformance.Ratios(0, 0, 0))))
        .startsWith("a                        FAIL");
  }
}
