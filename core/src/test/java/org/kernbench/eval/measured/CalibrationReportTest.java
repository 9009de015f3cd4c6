package org.kernbench.eval.measured;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What is said of a calibration, to the letter, from numbers of which each is known by heart. */
final class CalibrationReportTest {
  /** Rows measured as 100 ns each, and simulated as these. */
  private static Validation simulated(String name, double... ns) {
    List<MeasuredRow> rows =
        IntStream.range(0, ns.length).mapToObj(i -> row(name + " " + i)).toList();
    MeasuredFile file = new MeasuredFile("table.csv", "0123abcd", rows);
    return new Validation(
        file,
        "dgx-a100",
        IntStream.range(0, ns.length)
            .mapToObj(i ->
                new Validation.Compared(
                    rows.get(i),
                    new RowSimulator.Simulated(0, ns[i] * 1000, "why " + name + " " + i)))
            .toList());
  }

  private static MeasuredRow row(String name) {
    return new MeasuredRow(
        name,
        "gelu",
        List.of("elements=5"),
        List.of(),
        MeasuredRow.Metric.OBSERVED,
        100_000,
        1,
        0,
        "");
  }

  private static Calibration.Found found(
      boolean held, List<String> warnings, Optional<String> refusal) {
    Optional<Validation> before = Optional.of(simulated("held", 200));
    Optional<Validation> after = Optional.of(simulated("held", 125));
    return new Calibration.Found(
        simulated("all", 1, 2, 3, 4, 5, 6).file(),
        "dgx-a100",
        List.of(
            FitParameter.parse("pe.gemm.efficiency=0.5..1"),
            FitParameter.parse("pe.gemm.launch=5..60 us")),
        List.of("0.75", "20 us"),
        List.of(new Identifiability.Interval(0.7, 0.8, 0.066, "")),
        simulated("fit", 150, 50, 100, 100),
        simulated("fit", 110, 95, 125, 100),
        held ? before : Optional.empty(),
        held ? after : Optional.empty(),
        warnings,
        refusal,
        1234);
  }

  @Test
  void text_saysAllThatWasFound() {
    assertThat(
            CalibrationReport.text(
                found(true, List.of("few rows", "wide"), Optional.of("worse than before"))))
        .isEqualTo(
            """
            measured    table.csv (6 rows, sha256 0123abcd)
            machine     dgx-a100
            fitted      4 rows: mean error 25.0 % before, 10.0 % after (mean |ln| 0.2747, 0.0924)
            held out    1 rows: mean error 100.0 % before, 25.0 % after (mean |ln| 0.6931, 0.2231)
            value       pe.gemm.efficiency = 0.75 (95 % from 0.7000 to 0.8000)
            value       pe.gemm.launch = 20 us
            warning     few rows
            warning     wide
            refused     worse than before
            worst
              +25.0 %  elements=5: why held 0
            simulated   1,234 rows
            """);
    assertThat(CalibrationReport.text(found(false, List.of(), Optional.empty())))
        .isEqualTo(
            """
            measured    table.csv (6 rows, sha256 0123abcd)
            machine     dgx-a100
            fitted      4 rows: mean error 25.0 % before, 10.0 % after (mean |ln| 0.2747, 0.0924)
            value       pe.gemm.efficiency = 0.75 (95 % from 0.7000 to 0.8000)
            value       pe.gemm.launch = 20 us
            worst
              +25.0 %  elements=5: why fit 2
              +10.0 %  elements=5: why fit 0
              -5.0 %  elements=5: why fit 1
            simulated   1,234 rows
            """);
  }

  @Test
  void json_saysAllThatWasFound() {
    assertThat(
            CalibrationReport.json(
                found(true, List.of("few rows", "wide"), Optional.of("worse than before"))))
        .isEqualTo(
            """
            {
              "schema": 1,
              "file": "table.csv",
              "sha256": "0123abcd",
              "machine": "dgx-a100",
              "values": {
                "pe.gemm.efficiency": "0.75",
                "pe.gemm.launch": "20 us"
              },
              "intervals_95": {
                "pe.gemm.efficiency": [
                  0.7000,
                  0.8000
                ]
              },
              "fitted_rows": 4,
              "fitted_error_before": 0.2500,
              "fitted_error": 0.1000,
              "fitted_log_ratio": 0.0924,
              "held_out_rows": 1,
              "held_out_error_before": 1.0000,
              "held_out_error": 0.2500,
              "held_out_log_ratio": 0.2231,
              "warnings": [
                "few rows",
                "wide"
              ],
              "refused": true,
              "reason": "worse than before",
              "simulations": 1234
            }
            """);
    assertThat(CalibrationReport.json(found(false, List.of(), Optional.empty())))
        .isEqualTo(
            """
            {
              "schema": 1,
              "file": "table.csv",
              "sha256": "0123abcd",
              "machine": "dgx-a100",
              "values": {
                "pe.gemm.efficiency": "0.75",
                "pe.gemm.launch": "20 us"
              },
              "intervals_95": {
                "pe.gemm.efficiency": [
                  0.7000,
                  0.8000
                ]
              },
              "fitted_rows": 4,
              "fitted_error_before": 0.2500,
              "fitted_error": 0.1000,
              "fitted_log_ratio": 0.0924,
              "warnings": [],
              "refused": false,
              "simulations": 1234
            }
            """);
  }

  @Test
  void yaml_hasTheValuesFoundAmongThoseGiven_inTheOrderOfKeys() {
    List<String> set = List.of("pe.tcm.latency = 25 ns", "cube.hbm.latency=1 ns", "pe.gemm.a=1");
    assertThat(
            CalibrationReport.yaml(
                found(true, List.of("few rows", "wide"), Optional.empty()), "dgx", set, "9.9"))
        .isEqualTo(
            """
            # Written by kernbench 9.9 calibrate: 4 of 6 rows fitted, mean error 25.0 % before and 10.0 % after.
            # Warning: few rows.
            # Warning: wide.
            extends: dgx
            cube:
              hbm:
                latency: 1 ns  # given
            pe:
              gemm:
                a: 1  # given
                efficiency: 0.75  # calibrated on table.csv, sha256 0123abcd, held-out error 25.0 %, 95 % from 0.7000 to 0.8000
                launch: 20 us  # calibrated on table.csv, sha256 0123abcd, held-out error 25.0 %
              tcm:
                latency: 25 ns  # given
            """);
    assertThat(
            CalibrationReport.yaml(
                found(false, List.of(), Optional.empty()), "dgx", List.of(), "9.9"))
        .isEqualTo(
            """
            # Written by kernbench 9.9 calibrate: 4 of 6 rows fitted, mean error 25.0 % before and 10.0 % after.
            extends: dgx
            pe:
              gemm:
                efficiency: 0.75  # calibrated on table.csv, sha256 0123abcd, error 10.0 %, nothing held out, 95 % from 0.7000 to 0.8000
                launch: 20 us  # calibrated on table.csv, sha256 0123abcd, error 10.0 %, nothing held out
            """);
  }
}
