package org.kernbench.ccl.algorithms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.ProtocolsSpec;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** Protocols of a collective library: the simulated ring against the tuning model's closed form. */
final class CallPacingTest {
  private static final double US = 1e6;

  private static CollectiveTrial.Result ring(
      int ranks, long bytes, Mode mode, List<String> machine, List<String> ccl) {
    Machine m = Machines.load("dgx-a100", machine);
    CclConfig config = CclConfig.load(java.util.Optional.empty(), ccl);
    List<Pe> leads = IntStream.range(0, ranks).mapToObj(i -> new Pe(i, 0, 0)).toList();
    CollectiveTrial trial =
        CollectiveTrial.of(
            m,
            CollectiveLibrary.algorithm(config, "ring"),
            config.of("ring"),
            RankLevel.SIP,
            leads);
    return trial.run(
        new CollectiveTrial.Question(
            CollectiveOp.ALL_REDUCE, ReduceKind.SUM, DType.F16, -1, bytes / 2),
        mode,
        SimulatorOptions.DEFAULT);
  }

  /** T of each protocol with the numbers of the preset, written out; the least counts. */
  private static double tuned(int n, double bytes) {
    double ramp = 0.5e9 + 44.5e9 * Math.sqrt(bytes / (1 << 20));
    double[][] protocols = {{6.6, 0.6, 0.4}, {14, 1.9, 0.736}, {8.4, 3.4, 0.8}};
    double least = Double.POSITIVE_INFINITY;
    for (double[] p : protocols) {
      double rate = Math.min(300e9 * p[2], ramp);
      least =
          Math.min(
              least, (p[0] + 2 * (n - 1) * p[1]) * US + 2.0 * (n - 1) / n * bytes / rate * 1e12);
    }
    return least;
  }

  @ParameterizedTest
  @CsvSource({"2, 65536", "4, 1048576", "4, 67108864", "8, 4194304", "5, 1048580"})
  void ring_withProtocols_takesWhatTheTuningModelSays(int ranks, long bytes) {
    double ps = ring(ranks, bytes, Mode.TIME, List.of(), List.of()).ps();

    // what a protocol does not hide: the last hop, and a little for each piece
    assertThat(ps / tuned(ranks, bytes)).isBetween(1.0, 1.12);
  }

  @Test
  void ring_withProtocols_hasTheSameSums() {
    assertThat(ring(4, 4096, Mode.FULL, List.of(), List.of()).problems()).isEmpty();
  }

  @Test
  void ring_protocolNone_isTheRingOfTheHardware() {
    List<String> none = List.of("algorithms.ring.protocol=none");
    double bare = ring(4, 1 << 24, Mode.TIME, List.of(), none).ps();
    double paced = ring(4, 1 << 24, Mode.TIME, List.of(), List.of()).ps();

    assertThat(bare).isLessThan(0.7 * paced);
    assertThat(bare).isGreaterThan(1.5 * (1 << 24) / 300e9 * 1e12);
  }

  /** What a call takes on eight H100 with a protocol, or none. */
  private static long drawn(String algorithm, long bytes, String protocol) {
    Machine m =
        Machines.load("dgx-h100", List.of("system.sips.reduces=" + algorithm.equals("in_switch")));
    CclConfig config =
        CclConfig.load(
            java.util.Optional.empty(),
            List.of("algorithms." + algorithm + ".protocol=" + protocol));
    List<Pe> leads = IntStream.range(0, 8).mapToObj(i -> new Pe(i, 0, 0)).toList();
    return CollectiveTrial.of(
            m,
            CollectiveLibrary.algorithm(config, algorithm),
            config.of(algorithm),
            RankLevel.SIP,
            leads)
        .timePs(
            new CollectiveTrial.Question(
                CollectiveOp.ALL_REDUCE, ReduceKind.SUM, DType.F16, -1, bytes / 2));
  }

  /**
   * Whatever moves the data pays the base and at least one step, 8.4 and 3.4 us of {@code simple}
   * on dgx-a100's library, and hands 1 MiB to the wire no faster than its share lets it.
   */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "ring",
        "double_binary_tree",
        "chain",
        "exchange",
        "two_shot",
        "packed_trees",
        "in_switch",
        "hierarchical",
        "ring_bidirectional"
      })
  void anyAlgorithm_withAProtocol_paysItsBaseAndSteps(String algorithm) {
    ProtocolsSpec spec = Machines.load("dgx-h100", List.of()).software().collective().orElseThrow();
    ProtocolsSpec.Protocol simple =
        spec.protocols().stream().filter(p -> p.name().equals("simple")).findFirst().orElseThrow();
    long step = Math.min(simple.stepPs(), simple.treeStepPs());
    for (long bytes : List.of(4096L, 1L << 20)) {
      long paced = drawn(algorithm, bytes, "simple");
      assertThat(paced)
          .as("%s of %s", algorithm, bytes)
          .isGreaterThan(drawn(algorithm, bytes, "none"))
          .isGreaterThan(simple.basePs() + step);
    }
  }

  @Test
  void ring_protocolThatTheMachineHasNot_isRefused() {
    assertThatThrownBy(
            () -> ring(4, 64, Mode.TIME, List.of(), List.of("algorithms.ring.protocol=simpel")))
        .isInstanceOf(CollectiveException.class)
        .hasMessageContaining("did you mean simple");
  }
}
