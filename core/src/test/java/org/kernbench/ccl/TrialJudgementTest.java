package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** Whoever leaves a barrier before, or just when, the late rank came is named. */
final class TrialJudgementTest {
  @ParameterizedTest
  @CsvSource({"0, 49", "0, 50", "1, 50", "3, 1", "2, 51"})
  void barrier_oneLeaves_isNamedUnlessLater(int rank, double at) {
    Machine machine = Machines.load("tiny", List.of());
    Group group = new Group(machine, RankLevel.CUBE, Bed.leads(machine, RankLevel.CUBE, 4));
    var question =
        new CollectiveTrial.Question(CollectiveOp.BARRIER, ReduceKind.SUM, DType.F32, -1, 0);
    TrialJudgement judgement = new TrialJudgement(group, new TrialData(machine, group, question));
    double[] times = new double[5];
    Arrays.fill(times, 90);
    times[rank] = at;
    times[4] = 50; // when the late one came
    judgement.barrier(3, times);
    if (at > 50) {
      assertThat(judgement.problems()).isEmpty();
    } else {
      assertThat(judgement.problems())
          .containsExactly(
              "rank %d left the barrier at %.3f ns, before rank 3 came at 50.000 ns"
                  .formatted(rank, at));
    }
  }

  /**
   * Of every second element sums are exact in any order, and no rank's part is small beside them:
   * in the narrowest types, too, one that is left out is seen.
   */
  @ParameterizedTest
  @CsvSource({
    "F16, 96",
    "BF16, 96",
    "BF16, 300",
    "F8E4M3, 4",
    "F8E4M3, 96",
    "F8E5M2, 96",
    "F32, 96",
    "F16, 5000"
  })
  void exactSamples_ofEachRank_countInTheirSum(DType dtype, int ranks) {
    Machine machine = Machines.load("ring", List.of("system.sips.count=" + ranks));
    Group group = new Group(machine, RankLevel.SIP, Bed.leads(machine, RankLevel.SIP, ranks));
    int elements = 2 * ranks;
    TrialData data =
        new TrialData(
            machine,
            group,
            new CollectiveTrial.Question(
                CollectiveOp.ALL_REDUCE, ReduceKind.SUM, dtype, -1, elements));
    double[] magnitudes = new double[elements];
    for (int rank = 0; rank < ranks; rank++) {
      boolean seen = false;
      for (int i = 0; i < elements; i++) {
        double held = data.held(rank, i);
        if (data.isExact(i)) {
          assertThat(held).isEqualTo(Math.rint(held));
          magnitudes[i] += Math.abs(held);
          seen |= held != 0;
        }
      }
      assertThat(seen).as("rank %s", rank).isTrue();
    }
    assertThat(Arrays.stream(magnitudes).max().orElse(0)).isBetween(1.0, 1 / dtype.unitRoundoff());
    assertThat(data.isExact(0)).isTrue();
    assertThat(data.isExact(1)).isFalse();
  }

  /** The default type and as many ranks as a package has cubes in the larger presets. */
  @ParameterizedTest
  @CsvSource({"F16, SUM", "BF16, SUM", "BF16, AVG", "F32, SUM"})
  void sum_withoutOneOf96Ranks_isWrong(DType dtype, ReduceKind reduce) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    Machine machine = Machines.load("sip-2026", List.of());
    for (boolean isBroken : List.of(false, true)) {
      CollectiveAlgorithm ring = CollectiveLibrary.algorithm(config, "ring");
      CollectiveTrial trial =
          CollectiveTrial.of(
              machine,
              isBroken ? new Sabotaged(ring, Sabotaged.Flaw.MISSING_REDUCTION) : ring,
              config.of("ring"),
              RankLevel.CUBE,
              Bed.leads(machine, RankLevel.CUBE, 96));
      List<String> problems =
          trial
              .run(
                  new CollectiveTrial.Question(CollectiveOp.ALL_REDUCE, reduce, dtype, -1, 256),
                  Mode.VALUES)
              .problems();
      assertThat(problems.isEmpty()).as("%s", problems).isEqualTo(!isBroken);
    }
  }
}
