package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.IpcqSpec;

/** Message slots in memories that they just fill, and with one queue more. */
final class SlotSpaceTest {
  /** A cube has 2 PEs, 16 MiB of SRAM, and 2 GiB of HBM; a PE 2 MiB of TCM. */
  private static Machine machine(String kind, String slotSize, int slots) {
    return Machines.load(
        "tiny",
        List.of(
            "ipcq.buffer_kind=" + kind,
            "ipcq.slot_size=" + slotSize,
            "ipcq.slots=" + slots,
            "ipcq.directions=1"));
  }

  /** So many queue pairs from a PE to another; each has an end there and an end here. */
  private static List<QueuePlan.Connection> pairs(int count, Pe a, Pe b) {
    List<QueuePlan.Connection> all = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      all.add(new QueuePlan.Connection(a, "to" + i, b, "from" + i));
    }
    return all;
  }

  @ParameterizedTest
  @CsvSource({
    // two ends of a pair are in one SRAM if both PEs are in one cube
    "sram, 1 MiB, 8, 0, 1, 1, the cube's SRAM of 16 MiB",
    "sram, 1 MiB, 4, 0, 1, 2, the cube's SRAM of 16 MiB",
    "sram, 1 MiB, 8, 1, 0, 2, the cube's SRAM of 16 MiB",
    "hbm, 64 MiB, 8, 0, 1, 2, the PE's HBM slice of 1 GiB",
    "hbm, 64 MiB, 4, 1, 1, 4, the PE's HBM slice of 1 GiB"
  })
  void check_memoryThatIsJustFull_fitsAndOneMoreDoesNot(
      String kind, String size, int slots, int cube, int pe, int pairs, String memory) {
    Machine machine = machine(kind, size, slots);
    IpcqSpec queues = machine.ipcq();
    Pe other = new Pe(0, cube, pe);
    assertThatCode(() -> SlotSpace.check(machine, queues, pairs(pairs, new Pe(0, 0, 0), other)))
        .doesNotThrowAnyException();
    assertThatThrownBy(
            () -> SlotSpace.check(machine, queues, pairs(pairs + 1, new Pe(0, 0, 0), other)))
        .isInstanceOf(CollectiveException.class)
        .hasMessageContaining(
            "message slots, %d x %s for each direction, do not fit %s;"
                .formatted(slots, size, memory));
    assertThatCode(() -> SlotSpace.checkTcm(machine, queues, pairs(100, new Pe(0, 0, 0), other)))
        .as("checked elsewhere")
        .doesNotThrowAnyException();
  }

  /** One slot's room is left for an operand: 2 MiB hold 3 queues of 4 slots of 128 KiB, not 4. */
  @Test
  void checkTcm_roomForAnOperand_isKept() {
    Machine machine = machine("tcm", "128 KiB", 4);
    IpcqSpec queues = machine.ipcq();
    Pe other = new Pe(0, 2, 1);
    assertThatCode(() -> SlotSpace.checkTcm(machine, queues, pairs(3, new Pe(0, 0, 0), other)))
        .doesNotThrowAnyException();
    assertThatThrownBy(() -> SlotSpace.checkTcm(machine, queues, pairs(4, new Pe(0, 0, 0), other)))
        .isInstanceOf(CollectiveException.class)
        .hasMessageContaining("sip0.cube0.pe0: message slots, 4 x 128 KiB for each of 4 directions")
        .hasMessageContaining("in the TCM of 2 MiB");
    assertThatCode(() -> SlotSpace.check(machine, queues, pairs(99, new Pe(0, 0, 0), other)))
        .doesNotThrowAnyException();
    Machine exact = machine("tcm", "1 MiB", 1);
    assertThatCode(() -> SlotSpace.checkTcm(exact, exact.ipcq(), pairs(1, new Pe(0, 0, 0), other)))
        .doesNotThrowAnyException();
  }
}
