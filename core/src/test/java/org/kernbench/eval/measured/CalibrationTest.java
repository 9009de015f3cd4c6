package org.kernbench.eval.measured;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machines;

/** Values that were planted are found again, and what rows cannot say is refused. */
final class CalibrationTest {
  private static final String EFFICIENCY = "pe.gemm.efficiency";
  private static final String MEMORY = "cube.hbm.efficiency";
  private static final String MATMUL = "software.matmul.launch";
  private static final String GELU = "software.elementwise.launch";

  private static RowSimulator simulator() {
    return new RowSimulator(
        Runner.of("test", Progress.SILENT),
        BenchRegistry.standard()::find,
        RunOptions.DEFAULT.withTopology("dgx-a100"));
  }

  private static MeasuredRow row(String bench, List<String> params, double ps) {
    return new MeasuredRow(
        "row", bench, params, List.of(), MeasuredRow.Metric.OBSERVED, ps, 1, 0, "");
  }

  /** Ten sizes bound by each of four values. */
  private static List<MeasuredRow> questions() {
    List<MeasuredRow> rows = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      rows.add(row("gelu", List.of("elements=" + (1000 + 977 * i)), 1));
      rows.add(row("gelu", List.of("elements=" + ((8 << 20) + 700_001 * i)), 1));
      rows.add(row("matmul-composite", matmul(64 + 16 * i, 64), 1));
      rows.add(row("matmul-composite", matmul(3456 + 128 * i, 2048), 1));
    }
    return rows;
  }

  private static List<String> matmul(int m, int k) {
    return List.of("m=" + m, "k=" + k, "n=" + Math.min(m, 2304));
  }

  /** The rows as a machine with these values takes them, each off by up to so much. */
  private static MeasuredFile measured(
      List<MeasuredRow> questions, List<String> truth, double noise) {
    return measured(questions, truth, noise, 7);
  }

  private static MeasuredFile measured(
      List<MeasuredRow> questions, List<String> truth, double noise, long seed) {
    RowSimulator simulator = simulator();
    SplittableRandom random = new SplittableRandom(seed);
    List<MeasuredRow> rows = new ArrayList<>();
    for (MeasuredRow q : questions) {
      double ps = simulator.simulate(q, truth).ps(q);
      double seen = ps * Math.exp(noise * random.nextGaussian());
      rows.add(
          new MeasuredRow("row", q.bench(), q.params(), List.of(), q.metric(), seen, 1, 0, ""));
    }
    return new MeasuredFile("planted.csv", "0", rows);
  }

  private static List<FitParameter> parameters(String... texts) {
    return List.of(texts).stream().map(FitParameter::parse).toList();
  }

  private static double number(String value) {
    return Double.parseDouble(value.split(" ")[0]);
  }

  /** Two of the four values, on the rows that take the host longer than the GPU. */
  @Test
  void fit_plantedHostTimesWithNoise_areFoundWithinThreePerCent() {
    List<MeasuredRow> small =
        questions().stream()
            .filter(q -> !q.params().contains("k=2048"))
            .filter(q -> q.params().getFirst().length() < "elements=100000".length())
            .toList();
    assertThat(small).hasSize(20);
    MeasuredFile file = measured(small, List.of(MATMUL + "=31 us", GELU + "=17 us"), 0.05);

    Calibration.Found found =
        Calibration.fit(
            file,
            "dgx-a100",
            simulator(),
            parameters(MATMUL + "=5..60 us", GELU + "=5..60 us"),
            0,
            Optional.empty());

    assertThat(found.refusal()).isEmpty();
    assertThat(number(found.values().get(0)) / 31).isCloseTo(1, within(0.03));
    assertThat(number(found.values().get(1)) / 17).isCloseTo(1, within(0.03));
  }

  /** The rows are those of the machine, to the picosecond: no value that is not its own can win. */
  @Test
  void fit_nothingBetterThanTheMachine_keepsIt() {
    List<MeasuredRow> small =
        questions().stream().filter(q -> q.params().contains("k=64")).limit(4).toList();
    MeasuredFile file = measured(small, List.of(), 0);

    Calibration.Found found =
        Calibration.fit(
            file, "dgx-a100", simulator(), parameters(MATMUL + "=3..70 us"), 2, Optional.of(0.0));

    assertThat(found.refusal()).isEmpty();
    assertThat(found.values()).isEmpty();
    assertThat(found.after()).isEqualTo(found.before());
    assertThat(found.heldOutAfter()).isEqualTo(found.heldOutBefore());
    assertThat(found.warnings())
        .singleElement()
        .asString()
        .startsWith("nothing found fits the rows better than the machine as it is, which is kept:");
    assertThat(CalibrationReport.yaml(found, "dgx-a100", List.of("pe.gemm.efficiency=0.5"), "9"))
        .contains("# Warning: nothing found fits")
        .endsWith(
            """
            extends: dgx-a100
            pe:
              gemm:
                efficiency: 0.5  # given
            """);
  }

  /** Between two rows the sum of magnitudes is flat, with a step that a small move does not see. */
  @Test
  void fit_flatAroundTheMiddle_looksFartherAway() {
    MeasuredFile file =
        new MeasuredFile("mine.csv", "0", List.of(kernel(64, 400_000), kernel(128, 450_000)));
    RowSimulator simulator =
        new RowSimulator(
            Runner.of("test", Progress.SILENT),
            BenchRegistry.standard()::find,
            RunOptions.DEFAULT.withTopology("tiny"));

    Calibration.Found found =
        Calibration.fit(
            file, "tiny", simulator, parameters("pe.gemm.clock=1..3 GHz"), 0, Optional.empty());

    assertThat(found.after().meanLogRatio()).isLessThan(0.072);
    assertThat(found.before().meanLogRatio()).isGreaterThan(0.077);
  }

  private static MeasuredRow kernel(int m, double ps) {
    return new MeasuredRow(
        "row",
        "matmul-composite",
        List.of("m=" + m, "k=64", "n=64"),
        List.of(),
        MeasuredRow.Metric.KERNEL,
        ps,
        1,
        0,
        "");
  }

  @Test
  @Tag("slow")
  void fit_plantedTruthWithNoise_isFoundWithinThreePerCent() {
    List<String> truth =
        List.of(EFFICIENCY + "=0.82", MEMORY + "=0.77", MATMUL + "=31 us", GELU + "=17 us");
    MeasuredFile file = measured(questions(), truth, 0.05);
    List<FitParameter> all =
        parameters(
            EFFICIENCY + "=0.6..1", MEMORY + "=0.5..1", MATMUL + "=5..60 us", GELU + "=5..60 us");

    Calibration.Found found =
        Calibration.fit(file, "dgx-a100", simulator(), all, 0, Optional.empty());

    assertThat(found.refusal()).isEmpty();
    double[] wanted = {0.82, 0.77, 31, 17};
    for (int i = 0; i < wanted.length; i++) {
      assertThat(number(found.values().get(i)) / wanted[i])
          .as(found.parameters().get(i).path())
          .isCloseTo(1, within(0.03));
    }
    assertThat(found.after().meanLogRatio()).isLessThan(0.05);
    assertThat(CalibrationReport.yaml(found, "dgx-a100", List.of(), "0"))
        .isEqualTo(
            CalibrationReport.yaml(
                Calibration.fit(file, "dgx-a100", simulator(), all, 0, Optional.empty()),
                "dgx-a100",
                List.of(),
                "0"));
  }

  /**
   * The latency of memory, paid by a load and a store, is some 60 % of the shortest kernels, so 40
   * rows with 5 % noise leave it open by {@code 2 x 1.25 x 5 % / (0.6 sqrt(40))} = 3.3 %.
   */
  @Test
  void fit_plantedLatency_isInItsInterval() {
    assertPlantedLatencyIsFound(3, 3, 2);
  }

  @Tag("slow")
  @Test
  void fit_plantedLatencyInTenFiles_isInItsIntervals() {
    assertPlantedLatencyIsFound(10, 9, 6);
  }

  /** In so many files; in so many, at least, within its interval, and within 3 %. */
  private static void assertPlantedLatencyIsFound(int files, int within, int close) {
    String latency = "cube.hbm.latency";
    List<MeasuredRow> rows = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      rows.add(kernel("gelu", List.of("elements=" + (1000 + 100 * i))));
    }
    int covered = 0;
    int near = 0;
    double widest = 0;
    for (int seed = 0; seed < files; seed++) {
      MeasuredFile file = measured(rows, List.of(latency + "=260 ns"), 0.05, seed);
      Calibration.Found found =
          Calibration.fit(
              file,
              "dgx-a100",
              simulator(),
              parameters(latency + "=100..500 ns"),
              0,
              Optional.empty());

      Identifiability.Interval interval = found.intervals().getFirst();
      covered += interval.low() <= 260 && 260 <= interval.high() ? 1 : 0;
      near += Math.abs(number(found.values().getFirst()) / 260 - 1) < 0.03 ? 1 : 0;
      widest = Math.max(widest, interval.share());
    }
    assertThat(covered).isGreaterThanOrEqualTo(within);
    assertThat(near).isGreaterThanOrEqualTo(close);
    assertThat(widest).isLessThan(0.08);
  }

  private static MeasuredRow kernel(String bench, List<String> params) {
    return new MeasuredRow("row", bench, params, List.of(), MeasuredRow.Metric.KERNEL, 1, 1, 0, "");
  }

  @Test
  void fit_twoValuesThatTheRowsCannotTellApart_isRefused() {
    List<MeasuredRow> gelu = questions().stream().filter(q -> q.bench().equals("gelu")).toList();
    MeasuredFile file = measured(gelu, List.of(GELU + "=17 us"), 0);

    Calibration.Found found =
        Calibration.fit(
            file,
            "dgx-a100",
            simulator(),
            parameters(GELU + "=5..60 us", "software.synchronise=1..60 us"),
            0,
            Optional.empty());

    assertThat(found.refusal().orElseThrow()).contains(GELU, "software.synchronise", "cannot tell");
  }

  @Test
  void fit_aValueThatNoRowDependsOn_isRefused() {
    List<MeasuredRow> gelu = questions().stream().filter(q -> q.bench().equals("gelu")).toList();
    MeasuredFile file = measured(gelu, List.of(), 0);

    Calibration.Found found =
        Calibration.fit(
            file,
            "dgx-a100",
            simulator(),
            parameters(GELU + "=5..60 us", EFFICIENCY + "=0.6..1"),
            0,
            Optional.empty());

    assertThat(found.refusal()).contains("no row depends on " + EFFICIENCY + "; leave it out");
  }

  /** Counts are whole, also where two of them are closer than the steps of the search. */
  @Test
  void fit_aPlantedCount_isFound() {
    List<MeasuredRow> large =
        questions().stream().filter(q -> q.params().contains("k=2048")).limit(5).toList();
    MeasuredFile file = measured(large, List.of("pe.gemm.units=97"), 0);

    Calibration.Found found =
        Calibration.fit(
            file,
            "dgx-a100",
            simulator(),
            parameters("pe.gemm.units=60..140"),
            0,
            Optional.empty());

    assertThat(found.refusal()).isEmpty();
    assertThat(found.values().getFirst()).matches("9[5-9]"); // as many waves
    assertThat(found.after().meanLogRatio()).isLessThan(0.002);
  }

  private static List<MeasuredRow> large(int count) {
    return questions().stream()
        .filter(q -> q.params().getFirst().length() > "elements=100000".length())
        .limit(count)
        .toList();
  }

  /** In the middle of the range, by ratios, the memory gives as much as anybody takes. */
  @Test
  void fit_aRangeOfManyDecades_isSearchedWhereRowsDependOnIt() {
    String key = "cube.links.pe_to_router.bandwidth";
    MeasuredFile file = measured(large(5), List.of(key + "=900 GB/s"), 0);

    Calibration.Found found =
        Calibration.fit(
            file, "dgx-a100", simulator(), parameters(key + "=10..1e9 GB/s"), 0, Optional.empty());

    assertThat(found.refusal()).isEmpty();
    assertThat(number(found.values().getFirst()) / 900).isCloseTo(1, within(0.02));
  }

  /** Rows that fit where the key matters to none of them, though it could. */
  @Test
  void fit_rowsThatAValueDoesNotHoldUp_areToldSo() {
    String key = "cube.links.pe_to_router.bandwidth";
    MeasuredFile file = measured(large(3), List.of(), 0);

    Calibration.Found found =
        Calibration.fit(
            file, "dgx-a100", simulator(), parameters(key + "=100..1e8 GB/s"), 0, Optional.empty());

    assertThat(found.refusal())
        .hasValueSatisfying(why ->
            assertThat(why)
                .startsWith("where the rows fit best no row depends on " + key)
                .contains("another part of its range"));
  }

  /** Rows held out that another machine would have taken: noise that only the fitted rows fit. */
  @Test
  void fit_rowsHeldOutClearlyWorse_isRefused() {
    List<MeasuredRow> rows = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      rows.add(row("gelu", List.of("elements=" + (1024 << i)), i % 2 == 0 ? 30e6 : 60e6));
    }
    MeasuredFile file = new MeasuredFile("two.csv", "0", rows);

    Calibration.Found found =
        Calibration.fit(
            file, "dgx-a100", simulator(), parameters(GELU + "=5..90 us"), 2, Optional.empty());

    assertThat(found.refusal().orElseThrow()).contains("held out are clearly worse");
  }

  @Test
  void fit_manyKeysForFewRows_warns() {
    MeasuredFile file = measured(questions().subList(0, 4), List.of(GELU + "=35 us"), 0);

    Calibration.Found found =
        Calibration.fit(
            file,
            "dgx-a100",
            simulator(),
            parameters(GELU + "=30..60 us", MATMUL + "=5..60 us"),
            0,
            Optional.empty());

    assertThat(found.warnings()).anyMatch(w -> w.contains("more than a quarter"));
  }

  @Test
  void yaml_ofAFit_isAMachineThatExtends() {
    MeasuredFile file = measured(questions().subList(0, 8), List.of(EFFICIENCY + "=0.8"), 0);
    Calibration.Found found =
        Calibration.fit(
            file,
            "dgx-a100",
            simulator(),
            parameters(EFFICIENCY + "=0.6..1", GELU + "=40..50 us"),
            2,
            Optional.empty());
    String yaml = CalibrationReport.yaml(found, "dgx-a100", List.of("pe.tcm.latency=25 ns"), "0");

    var machine = Machines.parse("fitted", yaml, List.of());
    assertThat(machine.pe().gemm().efficiencyBillionths() / 1e9).isCloseTo(0.8, within(0.03));
    assertThat(machine.pe().tcm().latencyPs()).isEqualTo(25_000);
    assertThat(yaml).contains("extends: dgx-a100", "calibrated on planted.csv, sha256 0, held-out");
  }

  @ParameterizedTest
  @ValueSource(strings = {"pe.gemm.efficiency", "a=1", "a=2..1", "a=x..y us", "=1..2"})
  void parse_noRange_saysWhatWasExpected(String text) {
    assertThatThrownBy(() -> FitParameter.parse(text))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--fit \"" + text + "\": expected key=from..to");
  }
}
