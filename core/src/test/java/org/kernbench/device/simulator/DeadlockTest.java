package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.machine.Machines;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;

/** What a run that cannot go on says: who waits for what, where, and what would help. */
final class DeadlockTest {
  private static Register fill(PePort p, int bytes) {
    return p.compute(
        new ComputeOp.Fill(DType.F32, bytes / 4, 1),
        bytes,
        Register.NONE,
        0,
        Register.NONE,
        0,
        Register.NONE,
        0);
  }

  private static DeviceRig rig(Mode mode, String... overrides) {
    String[] all = new String[overrides.length + 1];
    all[0] = "system.sips.count=2";
    System.arraycopy(overrides, 0, all, 1, overrides.length);
    return new DeviceRig(
            Machines.load("ring", List.of(all)), mode, SimulatorOptions.DEFAULT.withLines())
        .connectRing(2);
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void receiveReceive_namesTheCycleWithLines(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      Consumer<PePort> east =
          p -> {
            p.fence(p.receive(p.queue("E"), 64, false, false));
            p.send(p.queue("E"), fill(p, 64), 0, 64);
          };
      Consumer<PePort> west =
          p -> {
            p.fence(p.receive(p.queue("W"), 64, false, false));
            p.send(p.queue("W"), fill(p, 64), 0, 64);
          };
      assertThatThrownBy(() -> rig.run(east, west))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("deadlock at t=")
          .hasMessageContaining("wait cycle:")
          .hasMessageContaining(rig.pe(0) + ": recv E")
          .hasMessageContaining(rig.pe(1) + ": recv W")
          .hasMessageContaining("no message from " + rig.pe(1) + " (W)")
          .hasMessageContaining("at DeadlockTest.java:")
          .hasMessageContaining("let one of them send first");
    }
  }

  @Test
  void sendsBeforeReceives_saysHowManySlotsAreNeeded() {
    try (DeviceRig rig = rig(Mode.TIME, "ipcq.slots=2")) {
      assertThatThrownBy(() -> rig.run(p -> exchange(p, "E", 5), p -> exchange(p, "W", 5)))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("2 of 2 slots in use at " + rig.pe(1) + " (W)")
          .hasMessageContaining("need 5 slots, the queues have 2");
    }
    try (DeviceRig rig = rig(Mode.TIME, "ipcq.slots=5")) {
      rig.run(p -> exchange(p, "E", 5), p -> exchange(p, "W", 5));
      assertThat(rig.sim.peakSlots()).isEqualTo(5);
    }
  }

  private static void exchange(PePort p, String direction, int n) {
    Register v = fill(p, 64);
    for (int i = 0; i < n; i++) {
      p.send(p.queue(direction), v, 0, 64);
    }
    p.fenceAll();
    for (int i = 0; i < n; i++) {
      p.release(p.receive(p.queue(direction), 64, false, false));
    }
  }

  @Test
  void valuesThatKeepTheirSlots_areNamedAsTheHolders() {
    try (DeviceRig rig = rig(Mode.TIME, "ipcq.slots=2")) {
      assertThatThrownBy(() ->
              rig.run(
                  p -> {
                    for (int i = 0; i < 3; i++) {
                      p.send(p.queue("E"), fill(p, 64), 0, 64);
                    }
                  },
                  p -> {
                    for (int i = 0; i < 3; i++) {
                      p.receive(p.queue("W"), 64, false, false);
                    }
                    p.fenceAll();
                    p.clockPs();
                  }))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("2 of them held by received values")
          .hasMessageContaining("release");
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void missingSend_saysWhoShouldHaveSent(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      assertThatThrownBy(() ->
              rig.run(p -> fill(p, 4), p -> p.fence(p.receive(p.queue("W"), 64, false, false))))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("1 wait remains")
          .hasMessageContaining("no message from " + rig.pe(0) + " (E)")
          .hasMessageContaining("no matching send");
    }
  }

  @Test
  void look_atAMessageThatNeverComes_namesTheLook() {
    try (DeviceRig rig = rig(Mode.FULL)) {
      assertThatThrownBy(() ->
              rig.run(
                  p -> fill(p, 4), p -> p.look(p.receive(p.queue("W"), 64, false, false), 0, 4)))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("looks at a value at DeadlockTest.java:")
          .hasMessageContaining("recv W of 64 B at DeadlockTest.java:");
    }
  }

  @Test
  void tcm_fullOfLiveValues_namesThem() {
    try (DeviceRig rig = rig(Mode.TIME)) {
      assertThatThrownBy(() ->
              rig.run(p -> {
                fill(p, 700_000);
                fill(p, 800_000);
                fill(p, 900_000);
                p.clockPs();
              }))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("needs 900000 bytes of TCM at DeadlockTest.java:")
          .hasMessageContaining("live values")
          .hasMessageContaining("700000 bytes at DeadlockTest.java:")
          .hasMessageContaining("800000 bytes at DeadlockTest.java:")
          .hasMessageContaining("release");
    }
  }

  /** The largest first; what waits for room, or comes after that, has none. */
  @Test
  void tcm_full_namesWhatHasRoom() {
    try (DeviceRig rig = rig(Mode.TIME)) {
      assertThatThrownBy(() ->
              rig.run(p -> {
                for (int bytes : new int[] {300_000, 600_000, 500_000, 1_000_000, 1_100_000}) {
                  fill(p, bytes);
                }
                p.clockPs();
              }))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("needs 1000000 bytes")
          .hasMessageMatching(
              "(?s).* are free beside live values 600000 bytes at [^,;]*, 500000 bytes at [^,;]*, "
                  + "300000 bytes at DeadlockTest.java:[0-9]+\n.*");
    }
  }

  /**
   * On a machine that issues serially a receiver's release lets the sender go on: what is wrong
   * then with the sender's next command is told with the sender's name and line.
   */
  @Test
  void sendersError_foundDuringTheReceiversRelease_namesTheSender() {
    try (DeviceRig rig =
        new DeviceRig(
                Machines.load(
                    "ring", List.of("system.sips.count=2", "ipcq.slots=1", "pe.cpu.issue=serial")),
                Mode.FULL,
                SimulatorOptions.DEFAULT.withLines())
            .connectRing(2)) {
      assertThatThrownBy(() ->
              rig.run(
                  p -> {
                    Register v = fill(p, 64);
                    p.send(p.queue("E"), v, 0, 64);
                    p.send(p.queue("E"), v, 0, 64);
                    fill(p, 4 << 20);
                  },
                  p -> {
                    Register first = p.receive(p.queue("W"), 64, false, false);
                    p.look(first, 0, 4);
                    p.release(first);
                  }))
          .isInstanceOf(SimulationException.class)
          .hasMessageStartingWith(rig.pe(0) + ": a value of 4194304 bytes at DeadlockTest.java:");
    }
  }

  @Test
  void tcm_valueLargerThanAllOfIt_isRefusedAtOnce() {
    try (DeviceRig rig = rig(Mode.TIME)) {
      assertThatThrownBy(() -> rig.run(p -> fill(p, 4 << 20)))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("4194304 bytes at DeadlockTest.java:")
          .hasMessageContaining("smaller tiles");
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void message_ofAnotherSize_namesBothSides(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      assertThatThrownBy(() ->
              rig.run(
                  p -> p.send(p.queue("E"), fill(p, 64), 0, 64),
                  p -> p.receive(p.queue("W"), 128, false, false)))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("recv W at " + rig.pe(1))
          .hasMessageContaining("128 bytes")
          .hasMessageContaining(rig.pe(0).toString())
          .hasMessageContaining("64 bytes");
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void message_shorterByWholeFragments_isNoticed(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      assertThatThrownBy(() ->
              rig.run(
                  p -> p.send(p.queue("E"), fill(p, 32_768), 0, 16_384),
                  p -> p.receive(p.queue("W"), 32_768, false, false)))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("32768 bytes");
    }
  }
}
