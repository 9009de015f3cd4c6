package org.kernbench.eval.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.chakra.NodeType;
import org.kernbench.chakra.TraceNode;
import org.kernbench.chakra.TraceStep;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.torch.placement.RankLevel;

/**
 * Times of local work on a package of one PE: 16.384 TFLOP/s (64 x 64 at 2 GHz) and 217.6 GB/s (the
 * preset {@code ring}).
 */
final class StepTimesTest {
  private static final Machine MACHINE = Machines.load("ring", List.of("system.sips.count=2"));

  @ParameterizedTest
  @CsvSource({
    // type, as recorded ps, operations, bytes: with recorded times, and computed anew
    "COMP, 7, 16384000, 0, 7, 1000000",
    "COMP, 7, 16384000, 870400, 7, 4000000",
    "COMP, 7, 65536000, 217600, 7, 4000000",
    "COMP, 0, 16384000, 0, 0, 1000000",
    "COMP, 7, 0, 0, 7, 7",
    "COMP, 0, 0, 0, 0, 0",
    "COMP, 0, 0, 1, 0, 5",
    "COMP, 0, 1, 0, 0, 1",
    "MEM_LOAD, 7, 0, 217600, 7, 1000000",
    "MEM_LOAD, 0, 0, 217600, 1000000, 1000000",
    "MEM_LOAD, 0, 16384000, 0, 0, 0",
    "MEM_LOAD, 0, 0, 0, 0, 0",
    "MEM_STORE, 0, 16384000, 2176, 10000, 10000",
  })
  void localWork_takesWhatWasRecorded_orWhatItsSizeTakes(
      NodeType type, long recorded, long operations, long bytes, long kept, long anew) {
    TraceNode node =
        new TraceNode(
            1,
            "work",
            type,
            List.of(),
            0,
            recorded,
            false,
            operations,
            bytes,
            OptionalLong.empty(),
            Optional.empty());

    assertThat(times(false).localPs(step(node, 0))).isEqualTo(kept);
    assertThat(times(true).localPs(step(node, 0))).isEqualTo(anew);
  }

  /** A PE that stands for a GPU has many multiprocessors; its peak is what users are told. */
  @ParameterizedTest
  @CsvSource({
    "'', 989.43e12",
    "pe.gemm.macs=4096, 1978.9e12",
    "pe.gemm.units=66, 494.7e12",
    "pe.gemm.rows=264, 989.43e12"
  })
  void computation_onMultiprocessors_takesWhatTheirPeakSays(String change, double flops) {
    List<String> set = change.isEmpty() ? List.of() : List.of(change);
    StepTimes times = times(Machines.load("dgx-h100", set), true);

    long ps = times.localPs(step(computation(1_000_000_000_000L), 0));
    assertThat(ps / 1e12).isCloseTo(1e12 / flops, withinPercentage(0.1));
  }

  /** A rank in a slow package has that package's peak and memory. */
  @ParameterizedTest
  @CsvSource({
    "1 compute 0.5, 0, COMP, 16384000, 0, 1000000",
    "1 compute 0.5, 1, COMP, 16384000, 0, 2000000",
    "1 compute 0.5, 1, MEM_LOAD, 0, 217600, 1000000",
    "1 hbm 0.25, 0, MEM_LOAD, 0, 217600, 1000000",
    "1 hbm 0.25, 1, MEM_LOAD, 0, 217600, 4000000",
    "1 hbm 0.25, 1, COMP, 16384000, 0, 1000000",
  })
  void localWork_inASlowPackage_takesLonger(
      String slow, int rank, NodeType type, long operations, long bytes, long ps) {
    Machine machine =
        Machines.load("ring", List.of("system.sips.count=2", "system.sips.slow=" + slow));
    TraceNode node =
        new TraceNode(
            1,
            "work",
            type,
            List.of(),
            0,
            0,
            false,
            operations,
            bytes,
            OptionalLong.empty(),
            Optional.empty());

    assertThat(times(machine, true).localPs(step(node, rank))).isEqualTo(ps);
  }

  private static TraceStep step(TraceNode node, int rank) {
    return new TraceStep(0, node.type(), List.of(rank), List.of(node), 0, List.of());
  }

  private static TraceNode computation(long operations) {
    return new TraceNode(
        1,
        "work",
        NodeType.COMP,
        List.of(),
        0,
        7,
        false,
        operations,
        0,
        OptionalLong.empty(),
        Optional.empty());
  }

  private static StepTimes times(boolean recomputes) {
    return times(MACHINE, recomputes);
  }

  private static StepTimes times(Machine machine, boolean recomputes) {
    return new StepTimes(machine, RankLevel.SIP, new TraceVectors(DType.BF16, true), recomputes);
  }
}
