package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.kernbench.device.simulator.SlotReuseTest.fill;
import static org.kernbench.device.simulator.SlotReuseTest.floats;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.device.Register;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.memory.Region;

/** Loads and stores of one program: those of the same bytes keep their order, others overlap. */
final class MemoryOrderTest {
  private static final int BYTES = 4096;

  @Test
  void readAfterWrite_sameBytes_readsWhatWasWritten() {
    try (DeviceRig rig = DeviceRig.of(Mode.FULL, "ring")) {
      rig.run(p -> {
        p.store(fill(p, BYTES, 7), 0, rig.hbm(0, 0, BYTES));
        Register back = p.load(rig.hbm(0, 1024, 256));
        p.store(back, 0, rig.hbm(0, 1 << 20, 256));
      });
      assertThat(rig.row(2).startPs()).isEqualTo(rig.row(1).endPs());
      assertThat(rig.row(2).cause()).isEqualTo(Cause.MEMORY_ORDER);
      assertThat(rig.row(2).causeOp()).isEqualTo(1);
      assertThat(floats(rig.read(rig.hbm(0, 1 << 20, 256)))).containsOnly(7);
    }
  }

  @Test
  void writeAfterRead_sameBytes_waitsForTheLoad() {
    try (DeviceRig rig = DeviceRig.of(Mode.FULL, "ring")) {
      rig.run(p -> {
        Register v = fill(p, 64, 3);
        p.fence(v);
        Register old = p.load(rig.hbm(0, 0, BYTES));
        p.store(v, 0, rig.hbm(0, BYTES - 64, 64));
        p.store(old, 0, rig.hbm(0, 1 << 20, BYTES));
      });
      assertThat(rig.row(2).startPs()).isEqualTo(rig.row(1).endPs());
      assertThat(rig.row(2).cause()).isEqualTo(Cause.MEMORY_ORDER);
      assertThat(floats(rig.read(rig.hbm(0, 1 << 20, BYTES)))).containsOnly(0);
      assertThat(floats(rig.read(rig.hbm(0, BYTES - 64, 64)))).containsOnly(3);
    }
  }

  @Test
  void writeAfterWrite_sameBytes_theLaterWins() {
    try (DeviceRig rig = DeviceRig.of(Mode.FULL, "ring")) {
      rig.run(p -> {
        Register one = fill(p, 1 << 16, 1);
        Register two = fill(p, 64, 2);
        p.store(one, 0, rig.hbm(0, 0, 1 << 16));
        p.store(two, 0, rig.hbm(0, 64, 64));
      });
      assertThat(rig.row(3).startPs()).isEqualTo(rig.row(2).endPs());
      float[] got = floats(rig.read(rig.hbm(0, 0, 256)));
      assertThat(got[15]).isEqualTo(1);
      assertThat(got[16]).isEqualTo(2);
      assertThat(got[31]).isEqualTo(2);
      assertThat(got[32]).isEqualTo(1);
    }
  }

  @Test
  void readAfterRead_sameBytes_overlap() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        p.load(rig.hbm(0, 0, BYTES));
        p.load(rig.hbm(0, 0, BYTES));
      });
      assertThat(rig.row(1).startPs())
          .isEqualTo(rig.row(1).issuePs())
          .isLessThan(rig.row(0).endPs());
    }
  }

  /**
   * One byte of overlap orders, none does not; the same offset of another memory is another place.
   */
  @ParameterizedTest
  @CsvSource({"4095, 0, true", "4096, 0, false", "0, 1, false"})
  void loadAfterStore_neighbouringBytes_orderedOnlyIfTheyMeet(
      long offset, int peOfMemory, boolean ordered) {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        p.store(fill(p, BYTES, 0), 0, rig.hbm(0, 0, BYTES));
        p.load(rig.hbm(peOfMemory, offset, 8));
      });
      assertThat(rig.row(2).startPs())
          .isEqualTo(ordered ? rig.row(1).endPs() : rig.row(2).issuePs());
    }
  }

  /** Rows of 64 B, 128 B apart: the other columns of the same matrix are free, these are not. */
  @ParameterizedTest
  @CsvSource({
    "64, 3, 128, false",
    "63, 3, 128, true",
    "0, 3, 128, true",
    "320, 1, 64, false",
    "300, 1, 64, true",
    "64, 2, 192, true"
  })
  void stridedRegions_interleavedRows_areOrderedOnlyIfColumnsMeet(
      long offset, int rows, long stride, boolean ordered) {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        p.store(fill(p, 256, 0), 0, new Region(rig.machine.addresses().hbm(p.pe(), 0), 4, 64, 128));
        p.load(new Region(rig.machine.addresses().hbm(p.pe(), offset), rows, 64, stride));
        p.load(rig.hbm(0, 512, 64));
      });
      assertThat(rig.row(2).cause() == Cause.MEMORY_ORDER).isEqualTo(ordered);
      assertThat(rig.row(3).startPs())
          .as("in order behind it")
          .isEqualTo(Math.max(rig.row(3).issuePs(), rig.row(2).startPs()));
    }
  }

  @Test
  void fence_ofOneStore_holdsWhatFollowsUntilItsAcknowledgement() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        Register v = fill(p, 64, 1);
        Register slow = p.store(v, 0, rig.hbm(4, 0, 64));
        Register quick = p.store(v, 0, rig.hbm(0, 0, 64));
        p.fence(quick);
        fill(p, 4, 0);
        p.fence(slow);
        fill(p, 4, 0);
      });
      assertThat(rig.row(3).issuePs()).isEqualTo(rig.row(2).endPs() + 1000);
      assertThat(rig.row(4).issuePs()).isEqualTo(rig.row(1).endPs() + 1000);
      assertThat(rig.row(4).cause()).isEqualTo(Cause.FENCE);
      assertThat(rig.row(4).causeOp()).isEqualTo(1);
    }
  }

  @Test
  void fenceAll_manyCommands_waitsForTheLast() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        p.load(rig.hbm(4, 0, 64));
        p.load(rig.hbm(0, 0, 64));
        fill(p, 4, 0);
        p.fenceAll();
        p.fenceAll();
        fill(p, 4, 0);
      });
      assertThat(rig.row(3).issuePs()).isEqualTo(rig.row(0).endPs() + 1000);
      assertThat(rig.row(3).causeOp()).isZero();
    }
  }

  /**
   * An unordered reader sees the memory as it is when its load starts: a store shows when it has
   * ended, not before.
   */
  @Test
  void store_onItsWay_isNotVisibleBeforeItsEnd() {
    try (DeviceRig rig = DeviceRig.of(Mode.FULL, "ring", "system.sips.count=2")) {
      List<byte[]> bytes = new ArrayList<>();
      rig.run(
          p -> p.store(fill(p, 64, 5), 0, rig.hbm(1, 0, 64)),
          p -> {
            for (int i = 0; i < 12; i++) {
              Register v = p.load(rig.hbm(1, 0, 64));
              bytes.add(p.look(v, 0, 64));
            }
          });
      long end = rig.rows(OpKind.STORE).getFirst().endPs();
      List<DeviceRig.Row> loads = rig.rows(OpKind.LOAD);
      assertThat(loads.getFirst().endPs()).isLessThan(end);
      assertThat(loads.getLast().startPs()).isGreaterThan(end);
      for (int i = 0; i < loads.size(); i++) {
        assertThat(floats(bytes.get(i))).containsOnly(loads.get(i).startPs() < end ? 0 : 5);
      }
    }
  }

  @Test
  void storedAndSignalled_otherPeReadsTheNewBytes() {
    try (DeviceRig rig = DeviceRig.of(Mode.FULL, "ring", "system.sips.count=2").connectRing(2)) {
      rig.run(
          p -> {
            Register v = fill(p, BYTES, 5);
            p.fence(p.store(v, 0, rig.hbm(1, 0, BYTES)));
            p.send(p.queue("E"), v, 0, 4);
          },
          p -> {
            p.fence(p.receive(p.queue("W"), 4, false, false));
            p.store(p.load(rig.hbm(1, 0, BYTES)), 0, rig.hbm(1, 1 << 20, BYTES));
          });
      assertThat(floats(rig.read(rig.hbm(1, 1 << 20, BYTES)))).containsOnly(5);
    }
  }
}
