package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.kernbench.config.UsageException;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.benches.BenchRegistry;

/** Programs of one package on another one, and on each in turn. */
final class DeviceRunTest {
  private static final RunOptions TWO_PACKAGES =
      RunOptions.DEFAULT
          .withTopology("tiny")
          .withOverrides(List.of("system.sips.count=2", "system.sips.topology=ring_1d"));

  private static final Runner RUNNER = Runner.of("test", Progress.SILENT);

  private static Bench bench(String name) {
    return BenchRegistry.standard().find(name);
  }

  private static Stream<Bench> benchesOfOnePackage() {
    return BenchRegistry.standard().all().stream()
        .filter(b -> b.params().contains(DeviceChoice.PARAM));
  }

  @Test
  void benchesThatTakeADevice_areThoseOfKernels() {
    assertThat(benchesOfOnePackage().map(Bench::name))
        .containsExactlyInAnyOrder(
            "attention-decode",
            "attention-prefill",
            "fused-mlp",
            "gelu",
            "gemm-sharded",
            "gemm-single-pe",
            "gpt3-qkv",
            "layernorm",
            "matmul-composite",
            "moe-dispatch",
            "qkv-gemm",
            "softmax",
            "va-offset-verify");
  }

  @TestFactory
  Stream<DynamicTest> secondPackage_doesAllTheWorkInTheTimeOfTheFirst() {
    return benchesOfOnePackage()
        .map(bench ->
            DynamicTest.dynamicTest(
                bench.name(),
                () -> {
                  RunResult first = RUNNER.run(bench, TWO_PACKAGES);
                  RunResult second = DeviceRun.of(RUNNER, bench, TWO_PACKAGES, "sip:1").result();

                  assertThat(second.isOk()).as("%s", second.problems()).isTrue();
                  assertThat(second.metrics().get("crit_ns"))
                      .isEqualTo(first.metrics().get("crit_ns"));
                  assertThat(second.params().get("device")).hasToString("sip:1");
                  assertThat(packages(second.log().orElseThrow())).containsOnly(1);
                  assertThat(packages(first.log().orElseThrow())).containsOnly(0);
                }));
  }

  private static List<Integer> packages(OpLog log) {
    return IntStream.range(0, log.size())
        .filter(log::has)
        .mapToObj(id -> log.pe(id).sip())
        .distinct()
        .toList();
  }

  @Test
  void all_hasARowForEachPackage() {
    DeviceRun run = DeviceRun.of(RUNNER, bench("softmax"), TWO_PACKAGES, "all");

    assertThat(run.result().rows())
        .extracting(row -> row.get("device"))
        .containsExactly("sip:0", "sip:1");
    assertThat(run.options().params()).containsExactly("device=sip:0"); // both take as long
  }

  @Test
  void all_ofABenchWithRows_putsTheDeviceBeforeEach() {
    RunResult result =
        DeviceRun.of(RUNNER, bench("va-offset-verify"), TWO_PACKAGES, "all").result();

    assertThat(result.rows()).hasSize(8);
    assertThat(result.rows().getLast()).containsEntry("device", "sip:1").containsKey("reads");
  }

  @Test
  void benchOfAllPackages_isRefused() {
    assertThatThrownBy(() -> DeviceRun.of(RUNNER, bench("ccl-allreduce"), TWO_PACKAGES, "sip:1"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("does not run on one package");
  }
}
