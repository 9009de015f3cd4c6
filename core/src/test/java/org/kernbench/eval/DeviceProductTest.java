package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.benches.BenchRegistry;

/** {@code gemm-sharded split=device}: what a linear layer of a model takes on a whole package. */
final class DeviceProductTest {
  /** 2 x 2048 x 4096 x 4096 on 128 PEs with 64 x 64 multipliers at 2 GHz. */
  private static final double AT_PEAK_NS = 2048.0 * 4096 * 4096 / (128 * 64 * 64 * 2.0);

  /**
   * The aims for whole devices. They are missed where results of the last tiles are stored late:
   * the gradient of the weight, of which each PE stores 512 KiB, took 88.5 % then.
   */
  @ParameterizedTest
  @CsvSource({"forward, matmul, 93", "dx, dx, 93", "dw, dw, 90"})
  void product_ofAWholePackage_isNearThePeak(String pass, String operation, double least) {
    Map<String, Object> row = row(operation, run("pass=" + pass, "m=2048", "k=4096", "n=4096"));
    double boundNs = ((BigDecimal) row.get("bound_ns")).doubleValue();
    assertThat(boundNs).isBetween(AT_PEAK_NS * 0.999, AT_PEAK_NS);
    assertThat(row).containsEntry("bound_kind", "compute").containsEntry("launches", 1L);
    assertThat(AT_PEAK_NS * 100 / ((BigDecimal) row.get("time_ns")).doubleValue())
        .isGreaterThanOrEqualTo(least);
  }

  /**
   * Where loads of blocks of 2 x 2 tiles take as long as products, a PE makes its 4 x 2 at once.
   */
  @ParameterizedTest
  @CsvSource({"sip-2026-hbm3e, 83", "sip-2026-compute, 58"})
  void product_thatLoadsDecide_isNearItsBound(String preset, double least) {
    RunResult result = runOn(preset, List.of("pass=forward", "m=4096", "k=2048", "n=4096"));
    BigDecimal share = (BigDecimal) row("matmul", result).get("of_bound_pct");
    assertThat(share.doubleValue()).isBetween(least, 100.0);
  }

  /** The time is that of all launches, from the first copy of an operand to the last result. */
  @ParameterizedTest
  @CsvSource({"forward, matmul-left", "dx, dx-left", "dw, dw-right"})
  void time_isOfCopiesToo(String pass, String copies) {
    RunResult result = run("pass=" + pass, "m=512", "k=1024", "n=1024");
    double all = ((BigDecimal) result.metrics().get("crit_ns")).doubleValue();
    double product = ((BigDecimal) result.rows().getFirst().get("time_ns")).doubleValue();
    double copied = ((BigDecimal) row(copies, result).get("time_ns")).doubleValue();
    assertThat(copied).isPositive();
    assertThat(all).isGreaterThan(product).isLessThan(2 * (product + copied));
  }

  private static Map<String, Object> row(String operation, RunResult of) {
    return of.rows().stream()
        .filter(row -> operation.equals(row.get("operation")))
        .findFirst()
        .orElseThrow();
  }

  private static RunResult run(String... more) {
    return runOn("sip-2026", List.of(more));
  }

  private static RunResult runOn(String preset, List<String> more) {
    List<String> params = new ArrayList<>(List.of("split=device", "over=package", "dtype=bf16"));
    params.addAll(more);
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find("gemm-sharded"),
            RunOptions.DEFAULT
                .withTopology(preset)
                .withMode(Mode.TIME)
                .withOverrides(List.of("fabric.chunk=32 KiB"))
                .withParams(params));
  }
}
