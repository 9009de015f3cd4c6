package org.kernbench.ccl.library;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.CollectiveTrial.Checked;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** What a trial says of barriers, right and wrong ones, in each mode. */
final class CollectiveTrialTest {
  private static final Machine RING = Machines.load("ring", List.of("system.sips.count=4"));
  private static final CollectiveTrial.Question BARRIER =
      new CollectiveTrial.Question(CollectiveOp.BARRIER, ReduceKind.SUM, DType.F32, -1, 0);

  /** A barrier that lets everybody through. */
  private record NoBarrier() implements CollectiveAlgorithm {
    @Override
    public String name() {
      return "tree_barrier";
    }

    @Override
    public Set<CollectiveOp> operations() {
      return new HashSet<>(List.of(CollectiveOp.BARRIER));
    }

    @Override
    public RankLevel defaultRankLevel() {
      return RankLevel.SIP;
    }

    @Override
    public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
      return new Schedule() {
        @Override
        public List<QueuePlan.Connection> connections() {
          return List.of();
        }

        @Override
        public RankProgram program(CollectiveCall call) {
          return (tl, rank, vector, reduction) -> {};
        }
      };
    }
  }

  private static CollectiveTrial.Result run(CollectiveAlgorithm algorithm, Mode mode) {
    AlgorithmConfig config = CclConfig.load(Optional.empty(), List.of()).of("tree_barrier");
    return CollectiveTrial.of(
            RING, algorithm, config, RankLevel.SIP, Bed.leads(RING, RankLevel.SIP, 4))
        .run(BARRIER, mode);
  }

  private static CollectiveAlgorithm tree() {
    return CollectiveLibrary.builtIn("tree_barrier");
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void barrier_ofTheTree_holdsInEveryMode(Mode mode) {
    assertThat(run(tree(), mode).problems()).isEmpty();
  }

  /** Three ranks leave before each that comes late. Without time there is no before. */
  @Test
  void barrier_thatIsNone_isSeenWhereThereIsTime() {
    for (Mode mode : List.of(Mode.FULL, Mode.TIME)) {
      List<String> problems = new ArrayList<>(run(new NoBarrier(), mode).problems());
      assertThat(problems)
          .anyMatch(p -> p.matches("rank \\d left the barrier at .* before rank .*"));
    }
    assertThat(run(new NoBarrier(), Mode.VALUES).problems())
        .noneMatch(p -> p.contains("left the barrier"));
  }

  @Test
  void efficiency_isBoundOverTime_andOneWhereNothingTakesTime() {
    assertThat(result(8000, 2000).efficiency()).isEqualTo(0.25);
    assertThat(result(2000, 2000).efficiency()).isEqualTo(1);
    assertThat(result(0, 0).efficiency()).isEqualTo(1);
  }

  /** The tolerance beside the largest deviation is that of a value that deviates so far. */
  @Test
  void checked_together_haveTheToleranceOfTheLargestDeviation() {
    Checked exact = new Checked(3, 0, 0, 0.5);
    Checked off = new Checked(4, 0, 0.25, 0.3);
    Checked wrong = new Checked(5, 2, 0.25, 0.1);
    assertThat(Checked.NONE.plus(exact)).isEqualTo(exact);
    assertThat(off.plus(Checked.NONE)).isEqualTo(off);
    assertThat(exact.plus(off)).isEqualTo(off.plus(exact)).isEqualTo(new Checked(7, 0, 0.25, 0.3));
    assertThat(off.plus(wrong)).isEqualTo(wrong.plus(off)).isEqualTo(new Checked(9, 2, 0.25, 0.1));
    assertThat(exact.plus(new Checked(1, 0, 0, 0.7))).isEqualTo(new Checked(4, 0, 0, 0.7));
  }

  private static CollectiveTrial.Result result(long ps, long boundPs) {
    return new CollectiveTrial.Result(
        "ring",
        ps,
        new Bounds.Bound(boundPs, "latency"),
        0,
        OptionalLong.empty(),
        OptionalLong.empty(),
        0,
        0,
        Checked.NONE,
        0,
        List.of());
  }
}
