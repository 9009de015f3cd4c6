package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.spec.OperationClass;

/** What a host sees, against queues worked out by hand. */
final class ObservedTimeTest {
  private static final int WAY = 10;
  private static final List<Integer> HOST = List.of(0);

  /** Kernels that the host calls at once, one behind the other, each of one length. */
  private static List<ObservedTime.Kernel> queue(int kernels, long hostPs, long eachPs) {
    List<ObservedTime.Kernel> all = new ArrayList<>();
    for (int i = 0; i < kernels; i++) {
      all.add(
          new ObservedTime.Kernel(HOST, hostPs, WAY, WAY + i * eachPs, WAY + (i + 1) * eachPs, -1));
    }
    return all;
  }

  @Test
  void delay_oneKernel_isTheHostsWork() {
    assertThat(ObservedTime.delayPs(queue(1, 21, 100))).isEqualTo(21);
  }

  /**
   * The longer of the two decides: with host work h and kernels of d, the last of n ends at h + n d
   * if d is at least h, at n h + d if not.
   */
  @ParameterizedTest
  @CsvSource({"1, 5, 9", "7, 5, 9", "7, 9, 5", "7, 9, 9", "40, 3, 1"})
  void delay_backToBack_isHiddenBehindExecution(int n, long host, long each) {
    long end = Math.max(host + n * each, n * host + each);

    assertThat(ObservedTime.delayPs(queue(n, host, each))).isEqualTo(end - n * each);
  }

  /** Where the host waits for each kernel, nothing is hidden. */
  @Test
  void delay_hostWaitsEachTime_addsUp() {
    List<ObservedTime.Kernel> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      long start = i * 100 + WAY;
      all.add(new ObservedTime.Kernel(HOST, 7, start, start, start + 50, i - 1));
    }
    assertThat(ObservedTime.delayPs(all)).isEqualTo(4 * 7);
  }

  /** Ranks that have nothing to do with each other are as late as one alone. */
  @Test
  void delay_ranksOnTheirOwn_areLateByTheirOwnHosts() {
    List<ObservedTime.Kernel> all = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      for (int rank = 0; rank < 8; rank++) {
        long start = WAY + 3 * i;
        all.add(new ObservedTime.Kernel(List.of(rank), 9, WAY, start, start + 3, -1));
      }
    }
    assertThat(ObservedTime.delayPs(all)).isEqualTo(5 * 9 + 3 - 5 * 3);
  }

  /** What ranks do together is as late as the last of them; then all are. */
  @Test
  void delay_ranksTogether_isThatOfTheLast() {
    List<ObservedTime.Kernel> all = new ArrayList<>();
    for (int i = 0; i < 3; i++) { // rank 1 calls three kernels of no length, rank 0 none
      all.add(new ObservedTime.Kernel(List.of(1), 20, WAY, WAY, WAY, -1));
    }
    all.add(new ObservedTime.Kernel(List.of(0, 1), 4, WAY, WAY, WAY + 30, -1));
    all.add(new ObservedTime.Kernel(List.of(0), 1, WAY + 30, WAY + 30, WAY + 50, 3));

    // rank 1 is late by 3 x 20 + 4, and rank 0, which waits for that, by 1 more
    assertThat(ObservedTime.delayPs(all)).isEqualTo(3 * 20 + 4 + 1);
  }

  /** A rank that ends early may be late by more than there is left of the run, or by less. */
  @ParameterizedTest
  @CsvSource({"40, 0", "90, 0", "150, 50"})
  void delay_lateRankThatEndsEarly_countsOnlyBeyondTheEnd(long host, long expected) {
    List<ObservedTime.Kernel> all =
        List.of(
            new ObservedTime.Kernel(List.of(0), 0, WAY, WAY, WAY + 200, -1),
            new ObservedTime.Kernel(List.of(1), host, WAY, WAY, WAY + 100, -1));
    assertThat(ObservedTime.delayPs(all)).isEqualTo(expected);
  }

  /** Two hosts wait for kernels that are done at one time, of which the log names the first. */
  @Test
  void delay_waitsThatEndTogether_areEachOfItsOwnKernel() {
    List<ObservedTime.Kernel> all =
        List.of(
            new ObservedTime.Kernel(List.of(0), 70, WAY, WAY, 100, -1),
            new ObservedTime.Kernel(List.of(1), 5, WAY, WAY, 100, -1),
            new ObservedTime.Kernel(List.of(1), 5, 100 + WAY, 100 + WAY, 1000, 0));
    assertThat(ObservedTime.delayPs(all)).isEqualTo(5 + 5);
  }

  /** A step of eight replicas is seen later than one rank's by what they do together alone. */
  @Test
  void observed_replicasOfAStep_areNotCalledByOneHost() {
    double one = hostsPartNs("dp=1", "batch=1");
    double eight = hostsPartNs("dp=8", "batch=8");
    assertThat(one).isGreaterThan(1_000_000);
    assertThat(eight).isBetween(0.9 * one, 1.2 * one);
  }

  private static double hostsPartNs(String... layout) {
    List<String> params = new ArrayList<>(List.of("tp=1", "layers=1", "tokens=32"));
    params.addAll(List.of(layout));
    RunResult result =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("train-step"),
                RunOptions.DEFAULT.withTopology("dgx-a100").withMode(Mode.TIME).withParams(params));
    return number(result, "observed_ns") - number(result, "crit_ns");
  }

  private static double number(RunResult result, String metric) {
    return ((Number) result.metrics().get(metric)).doubleValue();
  }

  @ParameterizedTest
  @CsvSource({
    "allReduce (ring), COLLECTIVE",
    "reduceScatter (cycle), COLLECTIVE",
    "all-to-all, COLLECTIVE",
    "allGather, COLLECTIVE",
    "softmax, SOFTMAX",
    "layernorm, LAYERNORM",
    "matmul-composite, MATMUL",
    "all_reduce, COLLECTIVE",
    "gelu, ELEMENTWISE",
    "fused-mlp, MATMUL",
    "moe-dispatch, MATMUL",
    "dw, MATMUL",
    "dx12, MATMUL",
    "dw-left, OTHER",
    "hello, OTHER"
  })
  void kindOf_kernelNames_areTheirClass(String kernel, OperationClass kind) {
    assertThat(ObservedTime.kindOf(kernel)).isEqualTo(kind);
  }
}
