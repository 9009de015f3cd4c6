package org.kernbench.eval.replay;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.chakra.NodeType;
import org.kernbench.chakra.TraceNode;
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

    assertThat(times(false).localPs(node)).isEqualTo(kept);
    assertThat(times(true).localPs(node)).isEqualTo(anew);
  }

  private static StepTimes times(boolean recomputes) {
    return new StepTimes(MACHINE, RankLevel.SIP, new TraceVectors(DType.BF16, true), recomputes);
  }
}
