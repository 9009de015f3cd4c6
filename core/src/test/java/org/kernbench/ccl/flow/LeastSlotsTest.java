package org.kernbench.ccl.flow;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.SlotWalk;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * The least number of slots that is reported against the one that is measured, on a machine that
 * finishes each command before the next: with it all ranks come to the end, with one less they do
 * not.
 */
final class LeastSlotsTest {
  private static final int ELEMENTS = 3000;
  private static final int SLOT_BYTES = 16_384;

  @ParameterizedTest
  @CsvSource({"2, 4", "5, 4", "6, 1", "6, 2", "8, 4"})
  void leastSlots_serialIssue_areThoseMeasured(int p, int channels) {
    Machine machine =
        Machines.load(
            "ring",
            List.of(
                "system.sips.count=" + p,
                "pe.dma.message_channels=" + channels,
                "pe.cpu.issue=serial",
                "pe.cpu.command_window=512"));
    Group group = new Group(machine, RankLevel.SIP, Bed.leads(machine, RankLevel.SIP, p));
    AlgorithmConfig config = CclConfig.load(Optional.empty(), List.of()).of("ring");
    List<String> wrong = new ArrayList<>();
    int moreThanOne = 0;
    for (DrawnAlgorithm algorithm : DrawnTest.algorithms()) {
      if (!algorithm.operations().contains(CollectiveOp.ALL_REDUCE)) {
        continue;
      }
      for (Dataflow flow : algorithm.artist(group, config).draw(CollectiveOp.ALL_REDUCE, -1)) {
        FlowSteps steps = new FlowSteps(flow);
        int longest = steps.steps() - 1;
        for (FlowPace pace :
            List.of(
                new FlowPace(1, 1, longest, false),
                new FlowPace(6, 3, longest, false),
                new FlowPace(5, 1, 1, false),
                new FlowPace(6, 2, Math.max(1, longest / 2), true))) {
          FlowCut cut = FlowCut.even(ELEMENTS, pace.chunks(), flow.weights());
          int least = least(group, steps, new FlowKernel(steps, cut, pace, DType.F32));
          moreThanOne += least > 1 ? 1 : 0;
          boolean enough = ends(group, steps, cut, pace, least);
          boolean fewer = least > 1 && ends(group, steps, cut, pace, least - 1);
          if (!enough || fewer) {
            wrong.add(
                algorithm.name()
                    + " "
                    + pace
                    + ": reported "
                    + least
                    + ", enough "
                    + enough
                    + ", fewer "
                    + fewer);
          }
        }
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(moreThanOne).isPositive();
  }

  private static int least(Group group, FlowSteps steps, FlowKernel kernel) {
    try (Bed bed = Bed.open(group.machine(), Mode.TIME)) {
      CollectiveCall call =
          Bed.allReduce(ReduceKind.SUM, bed.vectors(group.leads(), DType.F32, ELEMENTS));
      QueuePlan plan = new QueuePlan(queues(group, 1), steps.connections(group));
      return SlotWalk.least(group, plan, kernel, call).orElseThrow();
    }
  }

  private static IpcqSpec queues(Group group, int slots) {
    IpcqSpec m = group.machine().ipcq();
    return new IpcqSpec(
        slots,
        SLOT_BYTES,
        m.bufferKind(),
        m.creditBytes(),
        m.slotAccess(),
        m.recvAwaitsCredit(),
        m.backpressure(),
        m.pollIntervalPs(),
        m.serialCost(),
        m.creditOverheadPs(),
        m.directions());
  }

  private static boolean ends(Group group, FlowSteps steps, FlowCut cut, FlowPace pace, int slots) {
    IpcqSpec queues = queues(group, slots);
    FlowKernel program = new FlowKernel(steps, cut, pace, DType.F32);
    try (Bed bed = Bed.open(group.machine(), Mode.TIME)) {
      List<Shard> x = bed.vectors(group.leads(), DType.F32, ELEMENTS);
      CollectiveCall call = Bed.allReduce(ReduceKind.SUM, x);
      bed.run(
          new QueuePlan(queues, steps.connections(group)),
          group.leads(),
          tl -> {
            int rank = group.rankOf(tl.pe());
            Payload vector = Payload.of(call, rank);
            program.run(tl, rank, vector, new Reduction(ReduceKind.SUM, group.size()));
          });
      return true;
    } catch (DeadlockException e) {
      return false;
    }
  }
}
