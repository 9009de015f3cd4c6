package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machines;

/**
 * The benches of kernels: values within the bound of the dtype of a reference in f64, also for
 * hidden rows, large inputs and ragged tiles; times not below the roofline; all modes alike.
 */
final class KernelBenchTest {
  private static RunResult run(String topology, String bench, Mode mode, String... params) {
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find(bench),
            RunOptions.DEFAULT
                .withTopology(topology)
                .withMode(mode)
                .withParams(Arrays.asList(params)));
  }

  /** Four PEs in each of two cubes of two packages. */
  private static final String[] SMALL = {
    "system.sips.count=2",
    "system.sips.topology=ring_1d",
    "sip.cube_mesh.w=2",
    "sip.cube_mesh.h=1",
    "cube.pe_layout.corners=4",
    "cube.pe_layout.pe_per_corner=1",
    "cube.memory_map.hbm_total_gb_per_cube=2"
  };

  private static RunResult run(String bench, Mode mode, String... params) {
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find(bench),
            RunOptions.DEFAULT
                .withOverrides(List.of(SMALL))
                .withMode(mode)
                .withParams(Arrays.asList(params)));
  }

  private static void assertRight(RunResult result, String what) {
    assertThat(result.problems()).as(what).isEmpty();
    assertThat(result.isOk()).as(what).isTrue();
    ValueCheck values = result.values().orElseThrow();
    assertThat(values.isCorrect()).as("%s: %s", what, values).isTrue();
    assertThat(values.checked()).as(what).isPositive();
  }

  @ParameterizedTest
  @CsvSource({
    "gemm-single-pe, ''",
    "gemm-single-pe, dtype=bf16",
    "qkv-gemm, ''",
    "matmul-composite, ''",
    "matmul-composite, m=33 k=70 n=19 variant=load_load tile_m=16 tile_k=32 tile_n=8 epilogue=bias",
    "matmul-composite, m=33 k=70 n=19 variant=ref_load epilogue=bias_relu buffers=1",
    "matmul-composite, m=1 k=129 n=65 epilogue=bias_gelu dtype=f32",
    "matmul-composite, m=20 k=40 n=20 epilogue=add dtype=f64",
    "gemm-sharded, m=33 k=37 n=29",
    "gemm-sharded, split=k m=33 k=37 n=29",
    "gemm-sharded, split=k over=packages m=16 k=64 n=32 dtype=f64",
    "gemm-sharded, split=ring m=33 k=37 n=29",
    "gemm-sharded, split=ring over=package m=33 k=37 n=29 dtype=f32",
    "gemm-sharded, split=ring pes=1 m=5 k=6 n=7",
    "gemm-sharded, split=summa m=33 k=37 n=29",
    "gemm-sharded, split=summa pes=1 m=3 k=7 n=9",
    "gemm-sharded, split=batched m=17 k=20 n=12 over=cubes",
    "gemm-sharded, split=grouped m=17 k=20 n=12",
    "gemm-sharded, split=device m=33 k=37 n=29",
    "gemm-sharded, split=device pass=dx over=package m=133 k=137 n=129 dtype=f32",
    "gemm-sharded, split=device pass=dw over=package m=133 k=137 n=129 dtype=bf16",
    "gemm-sharded, split=device pass=dw m=33 k=37 n=29 dtype=f64",
    "gpt3-qkv, hidden=40",
    "gpt3-qkv, split=device hidden=40",
    "softmax, rows=21 columns=37",
    "softmax, rows=21 columns=37 mask=hidden dtype=bf16",
    "softmax, rows=3 columns=300 mask=none dtype=f64 block=2",
    "softmax, rows=21 columns=37 input=large dtype=f16",
    "softmax, rows=21 columns=37 input=large dtype=f32 mask=hidden",
    "layernorm, rows=13 columns=100",
    "layernorm, rows=2 columns=7 dtype=f64",
    "fused-mlp, tokens=13 hidden=24 inner=30",
    "fused-mlp, tokens=13 hidden=24 inner=30 dtype=f64",
    "fused-mlp, over=package tokens=13 hidden=24 inner=30",
    "fused-mlp, split=device tokens=13 hidden=24 inner=30",
    "fused-mlp, split=device over=package tokens=13 hidden=24 inner=30 dtype=f64",
    "attention-prefill, sequence=21 head_dim=16 tile_q=8 tile_k=5",
    "attention-prefill, over=package sequence=21 head_dim=16 tile_q=8 tile_k=5",
    "attention-prefill, split=device sequence=21 head_dim=16",
    "attention-prefill, split=device over=package sequence=9 head_dim=16 padding=9 dtype=f32",
    "attention-prefill, split=device sequence=21 head_dim=8 padding=0 dtype=f64",
    "attention-prefill, sequence=9 head_dim=16 padding=9 dtype=f32",
    "attention-prefill, sequence=21 head_dim=8 padding=0 dtype=f64",
    "attention-decode, context=33 heads=3 head_dim=16 tile_k=4",
    "attention-decode, context=2 heads=1 head_dim=8 over=cubes",
    "attention-decode, context=0 heads=2 head_dim=8 dtype=f32",
    "attention-decode, context=33 heads=3 head_dim=16 dtype=f64",
    "moe-dispatch, tokens=5 hidden=16 inner=24",
    "moe-dispatch, tokens=5 hidden=16 inner=24 skew=all dtype=f32",
    "moe-dispatch, tokens=3 hidden=16 inner=24 skew=even dtype=f64"
  })
  void bench_parameters_valuesAreWithinTheBoundAndModesAgree(String bench, String params) {
    String[] all = params.isEmpty() ? new String[0] : params.split(" ");
    RunResult full = run(bench, Mode.FULL, all);
    assertRight(full, bench + " " + params);
    assertThat((BigDecimal) full.metrics().get("crit_ns")).isPositive();
    assertThat(full.metrics()).containsKey("cause");

    assertRight(run(bench, Mode.VALUES, all), bench + " " + params + " in mode values");
    RunResult timed = run(bench, Mode.TIME, all);
    assertThat(timed.isOk()).isTrue();
    assertThat(timed.metrics().get("crit_ns")).isEqualTo(full.metrics().get("crit_ns"));
  }

  /** The bound is one that a wrong kernel would miss: f16 is not accepted where f32 is asked. */
  @ParameterizedTest
  @ValueSource(strings = {"softmax", "layernorm", "attention-prefill", "fused-mlp"})
  void bench_f32_errorIsFarBelowThatOfHalf(String bench) {
    String[] small =
        switch (bench) {
          case "softmax", "layernorm" -> new String[] {"rows=8", "columns=40", "dtype=f32"};
          case "fused-mlp" -> new String[] {"tokens=8", "hidden=16", "inner=20", "dtype=f32"};
          default -> new String[] {"sequence=16", "head_dim=16", "dtype=f32"};
        };
    ValueCheck values = run(bench, Mode.FULL, small).values().orElseThrow();
    assertThat(values.allowed()).isLessThan(3e-3);
    assertThat(values.maxAbsError()).isLessThan(1e-5);
  }

  /**
   * Weights over the aggregate bandwidth of a package of kb-compat at 0.8 of its HBM rate, with two
   * loads at a time: one leaves the memory idle while it is set up.
   */
  @Test
  void gpt3_decode_isBoundByTheMemoryOfThePackage() {
    gpt3(1536, 1.3);
  }

  /** The full model: 906 MB at 26.2 TB/s are 34.6 us. */
  @Test
  @Tag("slow")
  void gpt3_fullSize_isBoundByTheMemoryOfThePackage() {
    gpt3(12_288, 1.1);
  }

  private static void gpt3(int hidden, double slower) {
    RunResult result =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("gpt3-qkv"),
                RunOptions.DEFAULT
                    .withTopology("kb-compat")
                    .withOverrides(List.of("cube.hbm.efficiency=0.8", "pe.dma.read_queues=2"))
                    .withMode(Mode.TIME)
                    .withParams(List.of("hidden=" + hidden)));
    assertThat(result.isOk()).isTrue();
    double bound = ((BigDecimal) result.metrics().get("bound_ns")).doubleValue();
    double time = ((BigDecimal) result.metrics().get("crit_ns")).doubleValue();
    double weights = 2.0 * hidden * 3 * hidden / (128 * 204.8);
    assertThat(bound).isBetween(weights, 1.15 * weights); // activations come on top
    assertThat(time).isBetween(bound, slower * bound);
    assertThat(result.metrics().get("cause")).isEqualTo("DMA-bound");
  }

  @ParameterizedTest
  @CsvSource({
    "matmul-composite, '', contention, DMA-bound",
    "attention-prefill, sequence=1024, compute, MATH-bound",
    "matmul-composite, m=8 k=8 n=8, latency, fill-bound"
  })
  void cause_isThatOfTheLargestShareOfThePath(
      String bench, String param, String largest, String cause) {
    String[] params = param.isEmpty() ? new String[0] : param.split(" ");
    RunResult result = run("tiny", bench, Mode.TIME, params);
    assertThat(result.breakdown().getFirst().cause().text()).isEqualTo(largest);
    assertThat(result.metrics()).containsEntry("cause", cause);
  }

  /** The ring sends A around behind the products: only the first block and the last link show. */
  @Test
  void ring_behindProducts_takesLittleLongerThanTheProductsAlone() {
    String[] size = {"m=512", "k=256", "n=256", "pes=4"};
    double ring = crit("gemm-sharded", size, "split=ring");
    double columns = crit("gemm-sharded", size, "split=columns");
    assertThat(ring).isLessThan(1.5 * columns);
  }

  private static double crit(String bench, String[] params, String more) {
    String[] all = Arrays.copyOf(params, params.length + 1);
    all[params.length] = more;
    return ((BigDecimal) run("sip-2026", bench, Mode.TIME, all).metrics().get("crit_ns"))
        .doubleValue();
  }

  @ParameterizedTest
  @CsvSource({
    "matmul-composite, tile_m=16, 'give all three'",
    "gemm-sharded, pes=100, 'has 4 PEs'",
    "gemm-sharded, n=2, 'fewer than the 4 PEs'",
    "fused-mlp, tokens=2, 'one per PE'"
  })
  void parameters_thatCannotGoTogether_areToldWhatWould(String bench, String param, String what) {
    assertThatThrownBy(() -> run(bench, Mode.TIME, param))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(what);
  }

  /**
   * What a mask hides need not be read or multiplied, by hand: of 8 rows of 65,536 the lower
   * triangle, 36 numbers, and all are written, 131,072 B by a PE at 217.6 GB/s; of 1,000 positions
   * the last alone is seen.
   */
  @Test
  void bound_ofMaskedBenches_hasOnlyWhatIsSeen() {
    RunResult softmax =
        run("sip-2026", "softmax", Mode.TIME, "rows=8", "columns=65536", "mask=causal");
    assertThat(bound(softmax)).isEqualTo(602.4, within(0.5));
    RunResult none = run("sip-2026", "softmax", Mode.TIME, "rows=8", "columns=65536", "mask=none");
    assertThat(bound(none)).isEqualTo(1204.7, within(0.5));
    RunResult attention =
        run("sip-2026", "attention-prefill", Mode.TIME, "sequence=1000", "padding=999");
    double bytes = 1003 * 64 * 2.0;
    assertThat(bound(attention)).isEqualTo(bytes / 217.6, within(1.0));
    RunResult nothing =
        run("sip-2026", "attention-prefill", Mode.TIME, "sequence=64", "padding=16000");
    assertThat(bound(nothing))
        .as("of the result alone")
        .isEqualTo(64 * 64 * 2 / 217.6, within(1.0));
    RunResult uneven =
        run("sip-2026", "softmax", Mode.TIME, "rows=9", "columns=9000", "mask=causal");
    double most = Math.max(1 + 2 + 2 * 9000, 9 + 9000); // of the first PE and of the last
    assertThat(bound(uneven)).isEqualTo(most * 2 / 217.6, within(1.0));
  }

  private static double bound(RunResult result) {
    return ((BigDecimal) result.metrics().get("bound_ns")).doubleValue();
  }

  /**
   * Nine rows of 64 on two PEs, 0 to 4 on the first: a mask leaves the first i + 1 elements of row
   * i, or nothing of every third row; what it leaves is read, and all is written.
   */
  @ParameterizedTest
  @CsvSource({"none, 640", "causal, 335", "hidden, 512"})
  void softmax_isBoundByWhatItsMaskLeaves(String mask, int elements) {
    RunResult result =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("softmax"),
                RunOptions.DEFAULT
                    .withTopology("tiny")
                    .withMode(Mode.TIME)
                    .withParams(List.of("rows=9", "columns=64", "dtype=f16", "mask=" + mask)));
    double bytesPerSecond = Machines.load("tiny", List.of()).hbm().rate().bytesPerSecond();

    assertThat(result.metrics().get("bound_kind")).isEqualTo("memory");
    assertThat(Double.parseDouble(result.metrics().get("bound_ns").toString()))
        .isCloseTo(2 * elements / bytesPerSecond * 1e9, within(0.001));
  }
}
