package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.benches.BenchRegistry;

/** Benches on machines of which some packages are slower than the others. */
final class SlowPackagesTest {
  private static final BenchRegistry BENCHES = BenchRegistry.standard();
  private static final Runner RUNNER = Runner.of("test", Progress.SILENT);

  private static RunResult run(String bench, String machine, String params, String overrides) {
    List<String> set = new ArrayList<>(List.of(overrides.split(";;")));
    set.removeIf(String::isEmpty);
    return RUNNER.run(
        BENCHES.find(bench),
        RunOptions.DEFAULT
            .withTopology(machine)
            .withMode(Mode.TIME)
            .withParams(List.of(params.split(" ")))
            .withOverrides(set));
  }

  /**
   * All packages slow alike is a machine with lower clocks, or slower memory: the same program,
   * plans included, in the same time.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ccl-allreduce | ring | algorithm=auto n_elem=16384 | 0-7 compute 0.1"
            + " | pe.math.clock=200 MHz;;pe.gemm.clock=200 MHz",
        "ccl-allreduce | ring | algorithm=packed_trees n_elem=16384 | 0-7 compute 0.05"
            + " | pe.math.clock=100 MHz;;pe.gemm.clock=100 MHz",
        "ccl-allreduce | ring | algorithm=ring n_elem=65536 | 0-7 compute 0.02"
            + " | pe.math.clock=40 MHz;;pe.gemm.clock=40 MHz",
        "ccl-allreduce | ring | algorithm=auto n_elem=16384 | 0-7 hbm 0.5"
            + " | cube.hbm.efficiency=0.425",
        "matmul-composite | tiny | m=256 n=256 k=512 | 0 compute 0.5"
            + " | pe.math.clock=1 GHz;;pe.gemm.clock=1 GHz",
        "matmul-composite | tiny | m=256 n=256 k=512 | 0 hbm 0.1 | cube.hbm.efficiency=0.085",
        "transformer-block | ring | tp=4 tokens=32 batch=1 | 0-7 compute 0.1"
            + " | pe.math.clock=200 MHz;;pe.gemm.clock=200 MHz",
      })
  void allPackagesSlowAlike_isTheMachineWithSlowerParts(
      String bench, String machine, String params, String slow, String slower) {
    RunResult some = run(bench, machine, params, "system.sips.slow=" + slow);
    RunResult all = run(bench, machine, params, slower);
    assertThat(some.problems()).isEmpty();
    assertThat(some.sim().opLogHash()).isEqualTo(all.sim().opLogHash());
  }

  /** The first package has the least to do, and the slowest memory: no bound of its own counts. */
  @ParameterizedTest
  @CsvSource({"0 hbm 0.5", "0 links 0.5", "0 hbm 0.01", "5 hbm 0.01", "0-5 compute 0.1"})
  void groupedGemm_slowPackage_isNotBelowItsBound(String slow) {
    RunResult result =
        run(
            "gemm-sharded",
            "sip-2026",
            "over=packages split=grouped m=4096 k=16 n=1024",
            "system.sips.slow=" + slow);
    assertThat(result.problems()).isEmpty();
    assertThat(result.status()).isEqualTo(RunResult.Status.OK);
  }
}
