package org.kernbench.eval.benches;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.report.ResultCsv;
import org.kernbench.eval.report.RunDiff;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.tensor.DType;

/** Figures of benches beside what they must be: bounds, checks, observed times, conditions. */
final class BenchFiguresTest {
  private static RunResult run(String bench, RunOptions options, String... params) {
    return Runner.of("test", Progress.SILENT)
        .run(BenchRegistry.standard().find(bench), options.withParams(List.of(params)));
  }

  private static RunOptions timed(String machine, String... set) {
    return RunOptions.DEFAULT.withTopology(machine).withMode(Mode.TIME).withOverrides(List.of(set));
  }

  private static double number(RunResult result, String metric) {
    return ((Number) result.metrics().get(metric)).doubleValue();
  }

  // ---- bounds ----

  /**
   * Loads and stores pass links of their own direction at once: together twice what one carries.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "gelu | 32 | elements=1048576",
        "softmax | 16 | rows=4096 columns=256 mask=none",
        "matmul-composite | 8 | m=4096 k=16 n=4096"
      })
  void bound_behindNarrowLinks_isBelowTheTime(String bench, int rate, String params) {
    RunResult found =
        run(
            bench,
            timed("sip-2026", "cube.links.pe_to_router.bandwidth=" + rate + " GB/s"),
            params.split(" "));
    assertThat(found.problems()).isEmpty();
    assertThat(number(found, "bound_ns")).isBetween(1.0, number(found, "crit_ns"));
  }

  /** A rank reads its part of A and B and writes its own rows; columns take less than that once. */
  @Test
  void bound_ofAProductDividedByK_isBelowThatByColumns() {
    String[] shape = {"m=1024", "n=1024", "k=128", "over=package", "split=k"};
    RunResult byK = run("gemm-sharded", timed("sip-2026"), shape);
    shape[4] = "split=columns";
    RunResult byColumns = run("gemm-sharded", timed("sip-2026"), shape);

    assertThat(number(byK, "bound_ns")).isLessThan(number(byColumns, "crit_ns"));
  }

  /** That of the machine, not the longest of the run's own calls. */
  @Test
  void bound_ofManyRanks_isThatOfItsCall() {
    RunResult many = run("rank-scale", timed("ring"), "ranks=8", "group=8", "calls=1");
    RunResult one =
        run(
            "collective",
            timed("ring", "system.sips.count=8"),
            "dtype=i32",
            "reduce=max",
            "min_size=16B",
            "max_size=16B");

    assertThat(number(many, "bound_ns")).isEqualTo(number(one, "bound_ns"));
    assertThat(many.metrics().get("bound_kind")).isEqualTo("latency");
  }

  /** Ranks that are each a row of their own have nothing to reduce, and nothing takes time. */
  @Test
  void manyRanks_eachAlone_doNothing() {
    RunResult alone = run("rank-scale", timed("ring"), "ranks=8", "group=1", "calls=1");
    assertThat(alone.problems()).allMatch(problem -> !problem.contains("Exception"));
    assertThat(alone.metrics()).doesNotContainKey("crit_ns");
  }

  /** In whole nanoseconds short messages take no time on a link. */
  @ParameterizedTest
  @CsvSource({"64 KiB", "256 B"})
  void bound_inWholeNanoseconds_isBelowTheTime(String chunk) {
    RunResult found =
        run(
            "collective",
            timed(
                "model-sips",
                "system.network=[{kind: ring, size: 2, bandwidth: 135 GB/s, latency: 100 ns, time: whole_ns}]",
                "fabric.chunk=" + chunk),
            "op=broadcast",
            "min_size=1MiB",
            "max_size=1MiB");
    assertThat(found.problems()).isEmpty();
  }

  /** A channel of banks gives a burst every tCCDS, whatever its pins could carry. */
  @ParameterizedTest
  @CsvSource({"cube.hbm.dram.access=16 B, 128", "cube.hbm.channel_bandwidth=64 GB/s, 256"})
  void peak_ofBanks_isThatOfTheirBursts(String change, double gigabytes) {
    RunResult found =
        run(
            "pe-dma",
            timed(
                "tiny",
                "cube.hbm.fidelity=banked",
                "cube.links.hbm_to_router.bandwidth=1 TB/s",
                "cube.links.pe_to_router.bandwidth=1 TB/s",
                change),
            "bytes=1MiB");
    Map<String, Object> own = found.rows().getFirst();
    assertThat(number(own, "peak_gigabytes_per_s")).isEqualTo(gigabytes);
    assertThat(number(own, "utilisation")).isBetween(0.8, 1.0);
  }

  /** A100: 312 TFLOP/s in f16, 156 in TF32, 19.5 in f64, of which 0.9 are sustained. */
  @ParameterizedTest
  @CsvSource({"f16, 312", "f32, 156", "f64, 19.5"})
  void products_onAGpu_haveTheRateOfTheirType(String type, double teraflops) {
    RunResult found =
        run("matmul-composite", timed("dgx-a100"), "m=8192", "k=8192", "n=8192", "dtype=" + type);
    double reached = number(found, "tflops_per_pe");
    assertThat(reached / teraflops).isBetween(0.85, 0.9);
    assertThat(number(found, "array_utilisation")).isCloseTo(reached / teraflops, within(0.002));
    double flops = 2.0 * 8192 * 8192 * 8192;
    assertThat(number(found, "bound_ns"))
        .isCloseTo(flops / (1e3 * teraflops), within(0.003 * flops / (1e3 * teraflops)));
  }

  /** Of a GPU its multiprocessors count, whatever array it would have in another mode. */
  @ParameterizedTest
  @CsvSource({"bf16, 54, 1", "bf16, 216, 1", "f32, 108, 0.5", "f64, 108, 0.0625"})
  void bound_ofAStep_isThatOfItsMultiprocessors(String type, int units, double rate) {
    RunResult found =
        run(
            "transformer-block",
            timed("dgx-a100", "pe.gemm.units=" + units),
            "model=gpt2-small",
            "tokens=1024",
            "batch=1",
            "tp=1",
            "dtype=" + type);
    double peak = units * 1024 * 2 * 1.41 * rate; // flop/ns
    double products = number(found, "rank_gflop") * 1e9 / peak;
    assertThat(found.metrics().get("bound_kind")).isEqualTo("compute");
    assertThat(number(found, "bound_ns")).isCloseTo(products, within(0.001 * products));
    assertThat(number(found, "mfu_pct"))
        .isCloseTo(100 * products / number(found, "crit_ns"), within(0.01));
  }

  /** A PE reads its expert and the rows of its tokens, and writes as many rows. */
  @Test
  void memory_ofADispatch_hasTheRowsOfItsTokens() {
    RunResult found =
        run("moe-dispatch", timed("tiny"), "tokens=256", "hidden=512", "inner=1", "skew=even");
    double bytes = 2 * (2 * 512 + 2 * 256 * 512);
    assertThat(found.metrics().get("bound_kind")).isEqualTo("memory");
    assertThat(number(found, "bound_ns")).isCloseTo(bytes / 217.6, within(0.1));
    assertThat(number(found, "gb_per_s_per_pe"))
        .isCloseTo(bytes / number(found, "crit_ns"), within(0.01));
  }

  /** Before a write to a closed row banks take longer than their least latency, too. */
  @Test
  void storeToBanks_isTimeOfMemory() {
    RunResult found = run("hello-send", timed("tiny", "cube.hbm.fidelity=banked"));
    assertThat(found.breakdown().toString()).contains("memory").doesNotContain("other");
  }

  /** All slices of HBM are beside all engines. */
  @Test
  void memory_ofAllPes_isThatOfAll() {
    int seen = 0;
    for (Map<String, Object> row : run("milestone-1h-gemm", timed("sip-2026")).rows()) {
      if (row.get("memory_gb_per_s") instanceof Number memory) {
        double most =
            Math.min(
                number(row, "peak_tflop_per_s"),
                number(row, "intensity") * memory.doubleValue() / 1e3);
        assertThat(number(row, "tflop_per_s")).isLessThanOrEqualTo(most * 1.0001);
        seen++;
      }
    }
    assertThat(seen).isGreaterThan(5);
  }

  private static double number(Map<String, Object> row, String column) {
    return ((Number) row.get(column)).doubleValue();
  }

  // ---- checks ----

  /** Sums of products of eighths are exact, so that a term that is left out is seen. */
  @ParameterizedTest
  @CsvSource({"F16, 65536, 100, 0.05", "BF16, 256, 8, 0.033", "F32, 65536, 100, 7e-6"})
  void allowed_ofAProduct_isTheRoundingOfItsResult(DType d, int k, double largest, double most) {
    assertThat(KernelBed.productBound(d, k, new double[] {largest})).isBetween(most / 2, most);
  }

  /** Beyond what an accumulator holds, sums may be rounded, too. */
  @Test
  void allowed_ofAVeryLongProduct_hasItsSums() {
    int k = (1 << 18) + 1;
    assertThat(KernelBed.productBound(DType.F32, k, new double[] {1}))
        .isGreaterThan(k * (double) k * DType.F32.unitRoundoff());
  }

  @ParameterizedTest
  @CsvSource({"f16", "bf16", "f32", "f64"})
  void values_ofProducts_areExactUpToTheirType(String dtype) {
    RunResult found =
        run(
            "gemm-sharded",
            RunOptions.DEFAULT.withTopology("tiny"),
            "split=ring",
            "dtype=" + dtype,
            "m=24",
            "k=40",
            "n=36");
    assertThat(found.values().orElseThrow().isCorrect()).isTrue();
    assertThat(found.values().orElseThrow().maxAbsError())
        .isLessThan(dtype.equals("bf16") ? 0.04 : 0.006);
  }

  // ---- observed ----

  /** Whoever makes a product, the host's work for it is that of a product. */
  @ParameterizedTest
  @CsvSource({"columns", "device"})
  void observed_ofAProduct_hasTheLaunchOfAProduct(String split) {
    String[] shape = {"m=256", "k=256", "n=256"};
    RunResult plain = run("matmul-composite", timed("dgx-a100"), shape);
    RunResult sharded =
        run("gemm-sharded", timed("dgx-a100"), "m=256", "k=256", "n=256", "split=" + split);
    double launch =
        plain.machine().orElseThrow().software().of(OperationClass.MATMUL).launchPs() / 1e3;

    assertThat(launch).isGreaterThan(10_000);
    for (RunResult each : List.of(plain, sharded)) {
      assertThat(number(each, "observed_ns") - number(each, "crit_ns"))
          .isCloseTo(launch + 3096, within(1.0));
    }
  }

  // ---- conditions ----

  @Test
  void conditions_haveWhatTheUserSaysOfCollectives() {
    RunOptions plain = timed("tiny");
    RunOptions cut = plain.withCclOverrides(List.of("algorithms.ring.sub_chunks = 4"));
    RunResult a = run("ccl-allreduce", plain, "rank_level=cube", "algorithm=ring");
    RunResult b = run("ccl-allreduce", cut, "rank_level=cube", "algorithm=ring");

    assertThat(RunDiff.of(a, b).conditions())
        .containsExactly(new RunDiff.Condition("ccl:algorithms.ring.sub_chunks", "", "4"));
  }

  /** A file of rows says which run they are of. */
  @Test
  void csv_ofABenchWithRows_hasTheRun() {
    RunResult found = run("gemm-sharded", timed("tiny"), "split=device", "m=64");
    List<String> lines = ResultCsv.write(found).lines().toList();
    List<String> names = List.of(lines.getFirst().split(","));
    List<String> cells = List.of(lines.get(1).split(","));

    assertThat(names).doesNotHaveDuplicates();
    assertThat(cells.get(names.indexOf("m"))).isEqualTo("64");
    assertThat(cells.get(names.indexOf("status"))).isEqualTo("ok");
    assertThat(Double.parseDouble(cells.get(names.indexOf("crit_ns"))))
        .isEqualTo(number(found, "crit_ns"));
    assertThat(Double.parseDouble(cells.get(names.indexOf("run_bound_ns"))))
        .isEqualTo(number(found, "bound_ns"));
    assertThat(names.indexOf("bound_ns")).isGreaterThan(names.indexOf("operation"));
  }

  /** How much work there is stands with the result. */
  @Test
  void products_areCounted() {
    List<String> said = new ArrayList<>();
    for (String split : List.of("columns", "summa", "batched", "grouped")) {
      Map<String, Object> of = run("gemm-sharded", timed("tiny"), "split=" + split).params();
      said.add(
          split + " " + of.get("pes") + " " + of.get("products") + " " + of.get("product_rows"));
    }
    // rows of grouped: (g * 37 + 128) mod 129 for g = 1, 2, 3; the first has none
    assertThat(said)
        .containsExactly("columns 2 1 128", "summa 1 1 128", "batched 2 4 512", "grouped 2 4 219");
  }
}
