package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;

/** What a training step must move is in its bound. */
final class StepBoundTest {
  /**
   * GPT of two layers: hidden 48, 12 heads of 4, inner 96, 96 ids, 512 positions, a head of its
   * own.
   */
  private static final long PARAMETERS =
      96 * 48
          + 512 * 48
          + 2 * (4 * 48 + 48 * 144 + 144 + 48 * 48 + 48 + 48 * 96 + 96 + 96 * 48 + 48)
          + 2 * 48
          + 48 * 96;

  private static RunResult run(String bench, List<String> params, String... overrides) {
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find(bench),
            RunOptions.DEFAULT
                .withMode(Mode.TIME)
                .withParams(params)
                .withOverrides(List.of(overrides)));
  }

  private static double boundNs(RunResult result) {
    assertThat(result.isOk()).as("%s", result.problems()).isTrue();
    return ((BigDecimal) result.metrics().get("bound_ns")).doubleValue();
  }

  /**
   * AdamW reads and writes the master copy and two moments, each in f32, and writes the weights: 26
   * B for a parameter of bf16, 24 B for one of f32, which is its own master copy.
   */
  @ParameterizedTest
  @CsvSource({"bf16, 26", "f32, 24"})
  void trainStep_slowMemory_isBoundByTheOptimizersTraffic(String dtype, int bytesEach) {
    List<String> params = List.of("tp=1", "sp=off", "dtype=" + dtype);
    RunResult result = run("train-step", params, "cube.hbm.efficiency=0.005");
    double gigabytesPerSecond = 256 * 0.005;
    assertThat(result.metrics()).containsEntry("bound_kind", "memory");
    assertThat(boundNs(result))
        .isBetween(
            bytesEach * PARAMETERS / gigabytesPerSecond * (1 - 1e-6),
            bytesEach * PARAMETERS / gigabytesPerSecond);
  }

  /** On a slow engine the optimizer's writes come after all products: 14 B a parameter of bf16. */
  @Test
  void trainStep_slowProducts_areFollowedByTheOptimizersWrites() {
    List<String> params = List.of("tp=1", "sp=off");
    String slow = "pe.gemm.clock=1 MHz";
    double step = boundNs(run("train-step", params, slow));
    Machine machine = Machines.load("sip-2026", List.of(slow));
    double writes = 14 * PARAMETERS / (machine.hbm().rate().bytesPerSecond() / 1e9);
    StepBound products = new StepBound(machine, 1e9, 1, 1);
    double perFlop = products.bound().ps() / 1e3 / 1e9;
    RunResult again = run("train-step", params, slow);
    double flops = 1e9 * ((BigDecimal) again.metrics().get("rank_gflop")).doubleValue();
    assertThat(again.metrics()).containsEntry("bound_kind", "compute, then memory");
    assertThat(step - flops * perFlop).isBetween(writes * 0.8, writes * 1.2);
  }

  @ParameterizedTest
  @CsvSource({
    "train-step, dp=2 batch=2 distributed_optimizer=on",
    "train-step, tp=2 cp=2 dp=2",
    "transformer-block, tp=2",
    "tp-mlp, tp=2",
    "mimo-train-step, distributed_optimizer=on"
  })
  void steps_withSlowMemory_areNotBelowTheirBound(String bench, String params) {
    RunResult result = run(bench, List.of(params.split(" ")), "cube.hbm.efficiency=0.005");
    assertThat(boundNs(result)).isPositive();
    assertThat(result.metrics()).containsEntry("bound_kind", "memory");
  }

  /**
   * With links of 10 MB/s, three from each package of the torus (two along the axis of three, one
   * along that of two), gradients in f32 take 4 B a parameter over three links; with an optimizer
   * in parts half of that. What else there is takes less than a thousandth.
   */
  @ParameterizedTest
  @CsvSource({"off, f32, 4", "on, f32, 2", "off, bf16, 2", "on, bf16, 1"})
  void trainStep_slowLinksBetweenPackages_isBoundByTheSumOfGradients(
      String divided, String type, int bytesEach) {
    String optimizer = "distributed_optimizer=" + divided;
    String gradients = "grad_dtype=" + type;
    List<String> params =
        List.of("tp=1", "sp=off", "dp=2", "rank_level=sip", "spread=lead", optimizer, gradients);
    RunResult result = run("train-step", params, "system.links.sip_to_sip.bandwidth=10 MB/s");
    double ns = bytesEach * PARAMETERS / (3 * 0.01);
    assertThat(boundNs(result)).isBetween(ns * (1 - 1e-3), ns * (1 + 1e-2));
    assertThat(result.metrics()).containsEntry("bound_kind", "forward pass, links, then memory");
    assertThat(((BigDecimal) result.metrics().get("crit_ns")).doubleValue())
        .isGreaterThan(boundNs(result));
  }

  /** Both modules' gradients leave a package; in bf16 they are half as many bytes. */
  @Test
  void mimo_slowLinksBetweenPackages_isBoundByTheSumsOfGradients() {
    double inF32 = mimoBoundNs("grad_dtype=f32");
    double inBf16 = mimoBoundNs("grad_dtype=bf16");
    assertThat(inBf16 / inF32).isBetween(0.499, 0.51);
    // a frozen encoder has no gradients to sum
    assertThat(mimoBoundNs("frozen=on")).isLessThan(0.95 * inF32);
    // the language model's embedding and head alone: twice 96 ids of 48
    assertThat(inF32).isGreaterThan(4 * 2 * 96 * 48 / (3 * 0.01));
  }

  private static double mimoBoundNs(String param) {
    List<String> params =
        List.of("encoder=tp=1,dp=2", "language=tp=1,dp=2", "rank_level=sip", "spread=lead", param);
    RunResult result = run("mimo-train-step", params, "system.links.sip_to_sip.bandwidth=10 MB/s");
    assertThat(result.metrics()).containsEntry("bound_kind", "forward pass, links, then memory");
    assertThat(((BigDecimal) result.metrics().get("crit_ns")).doubleValue())
        .isGreaterThan(boundNs(result));
    return boundNs(result);
  }
}
