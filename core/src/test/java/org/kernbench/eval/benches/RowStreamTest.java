package org.kernbench.eval.benches;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.math.BigDecimal;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;

/** How often kernels over rows read them, by the time that the bytes take at the memory's rate. */
final class RowStreamTest {
  private static RunResult run(String bench, Mode mode, List<String> set, String... params) {
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find(bench),
            RunOptions.DEFAULT
                .withTopology("dgx-a100")
                .withOverrides(set)
                .withMode(mode)
                .withParams(List.of(params)));
  }

  private static double us(RunResult result) {
    return ((BigDecimal) result.metrics().get("crit_ns")).doubleValue() / 1e3;
  }

  /** 16,384 rows of 8 KiB: one write, and one read or three, at 0.9 of 2,039 GB/s. */
  @ParameterizedTest
  @CsvSource({
    "softmax, 8 KiB, 1",
    "softmax, 4 KiB, 3",
    "layernorm, 8 KiB, 1",
    "layernorm, 8191 B, 3"
  })
  void rows_upToTheResidentRow_areReadOnce(String bench, String resident, int reads) {
    String mask = bench.equals("softmax") ? "mask=none" : "dtype=f16";
    RunResult result =
        run(
            bench,
            Mode.TIME,
            List.of("software." + bench + ".resident_row=" + resident),
            "rows=16384",
            "columns=4096",
            mask);
    double bytes = (1.0 + reads) * 16_384 * 8192;

    assertThat(us(result) / (bytes / (0.9 * 2039e9) * 1e6)).isCloseTo(1.05, within(0.06));
  }

  /** One read and one write, a third with a bias: chains of functions stay where they are. */
  @ParameterizedTest
  @CsvSource({"none, 2", "added, 3"})
  void gelu_longVector_isOnePassOverMemory(String bias, int streams) {
    RunResult result = run("gelu", Mode.TIME, List.of(), "elements=67108864", "bias=" + bias);
    double bytes = streams * 2.0 * 67_108_864;

    assertThat(us(result) / (bytes / (0.9 * 2039e9) * 1e6)).isCloseTo(1.03, within(0.04));
  }

  @ParameterizedTest
  @CsvSource({"softmax, 2 B", "layernorm, 2 B", "softmax, 1 GiB", "layernorm, 1 GiB"})
  void values_howeverOftenRowsAreRead_areRight(String bench, String resident) {
    RunResult result =
        run(
            bench,
            Mode.FULL,
            List.of("software." + bench + ".resident_row=" + resident),
            "rows=37",
            "columns=61");

    assertThat(result.isOk()).as(result.problems().toString()).isTrue();
  }

  @Test
  void elements_moreThanAnArrayHolds_areRefused() {
    assertThatThrownBy(() -> run("softmax", Mode.TIME, List.of(), "rows=1048576", "columns=65536"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--param rows: got 1,048,576 x 65,536");
  }
}
