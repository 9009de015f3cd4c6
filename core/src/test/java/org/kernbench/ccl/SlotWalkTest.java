package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** The least slots of programs whose need follows from a drawing by hand. */
final class SlotWalkTest {
  /**
   * Rank 0 sends a message of three slots, then a small one over another queue, which rank 1 takes
   * first. With a channel for each queue the small one overtakes while the long one waits for its
   * slot; with one channel all of the long one must find room first.
   */
  @ParameterizedTest
  @CsvSource({"1, 3", "2, 1", "3, 1"})
  void least_longMessageBeforeTheOneThatIsAwaited_needsItsSlotsOrAChannel(int channels, int slots) {
    Machine machine =
        Machines.load(
            "ring",
            List.of(
                "system.sips.count=2",
                "pe.dma.message_channels=" + channels,
                "ipcq.slot_size=1 KiB"));
    List<Pe> leads = Bed.leads(machine, RankLevel.SIP, 2);
    QueuePlan plan =
        new QueuePlan(
            machine.ipcq(),
            List.of(
                new QueuePlan.Connection(leads.get(0), "long", leads.get(1), "long"),
                new QueuePlan.Connection(leads.get(0), "short", leads.get(1), "short")));
    Schedule.RankProgram program =
        (tl, rank, vector, reduction) -> {
          Shape three = Shape.of(3 * 256);
          if (rank == 0) {
            tl.send("long", tl.zeros(three, DType.F32));
            tl.send("short", tl.zeros(Shape.of(8), DType.F32));
          } else {
            tl.recv("short", Shape.of(8), DType.F32);
            tl.recv("long", three, DType.F32);
          }
        };
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      var call = Bed.allReduce(ReduceKind.SUM, bed.vectors(leads, DType.F32, 8));
      Group group = new Group(machine, RankLevel.SIP, leads);
      assertThat(SlotWalk.least(group, plan, program, call)).hasValue(slots);
    }
    IpcqSpec spec = machine.ipcq();
    assertThat(spec.slotBytes()).isEqualTo(1024);
  }
}
