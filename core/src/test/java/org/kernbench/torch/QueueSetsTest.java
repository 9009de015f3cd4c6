package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.device.QueueSet;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.CollectiveRun;

/**
 * Queues stay installed for the next collective that is alike, as long as they fit half of the TCM.
 */
final class QueueSetsTest {
  private static final int RANKS = 6;

  /**
   * Slots of 160 KiB each way round a ring of two, so 320 KiB: three sets fit the half of a TCM of
   * 2 MiB that kernels leave, four do not.
   */
  private static Torch torch() {
    return Rooms.open(
        Machines.load(
            "ring",
            List.of(
                "system.sips.count=" + RANKS,
                "ipcq.slots=10",
                "ipcq.slot_size=16 KiB",
                "ipcq.directions=2",
                "pe.tcm.size=2 MiB")),
        Mode.FULL);
  }

  /** Sums over pairs of rank 0 and another, in an order; the sets of queues that these used. */
  private static List<QueueSet> sets(int... partners) {
    try (Torch torch = torch()) {
      Rooms.spawn(
          torch,
          w -> {
            List<ProcessGroup> pairs = new ArrayList<>();
            for (int other = 1; other < RANKS; other++) {
              pairs.add(w.distributed().newGroup(0, other));
            }
            for (int other : partners) {
              ProcessGroup pair = pairs.get(other - 1);
              if (pair.isMember()) {
                Tensor t = w.torch().full(Shape.of(4), DType.F32, 1 + w.rank(), "t");
                pair.allReduce(t);
                assertThat(t.toDoubles()).containsOnly(2 + other);
              }
            }
          });
      return torch.distributed().history().stream().map(CollectiveRun::queueSet).toList();
    }
  }

  @Test
  void sameGroup_usesItsQueuesAgain() {
    List<QueueSet> sets = sets(1, 2, 1, 3, 2);

    assertThat(sets.get(2)).isSameAs(sets.get(0));
    assertThat(sets.get(4)).isSameAs(sets.get(1));
    assertThat(sets.get(3)).isNotSameAs(sets.get(0)).isNotSameAs(sets.get(1));
  }

  /** 1, 2 and 3 fill the half; 1 is used again, so 4 takes the place of 2, and then 2 that of 3. */
  @Test
  void fullHalf_theSetThatWasNotUsedForTheLongestTimeMakesRoom() {
    List<QueueSet> sets = sets(1, 2, 3, 1, 4, 1, 2, 4, 3);

    assertThat(sets.get(3)).isSameAs(sets.get(0));
    assertThat(sets.get(5)).isSameAs(sets.get(0));
    assertThat(sets.get(6)).isNotSameAs(sets.get(1));
    assertThat(sets.get(7)).isSameAs(sets.get(4));
    assertThat(sets.get(8)).isNotSameAs(sets.get(2));
  }
}
