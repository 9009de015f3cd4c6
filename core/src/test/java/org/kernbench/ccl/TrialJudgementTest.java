package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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
}
