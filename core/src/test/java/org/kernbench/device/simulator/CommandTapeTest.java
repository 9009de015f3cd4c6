package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.kernbench.device.simulator.SlotReuseTest.fill;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;

/** Programs say commands ahead of the CPU that takes them; nothing but the speed shows it. */
final class CommandTapeTest {
  /**
   * With a tape of one entry, every command is taken before the next is said: a program that runs
   * in step with its CPU, as it would without a tape.
   */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void randomPrograms_everyTapeSize_sameOpLog(int block) {
    for (int i = 0; i < 40; i++) {
      RandomCase c = RandomCase.of(15_000 + block * 40 + i);
      boolean looks = i % 2 == 1;
      Mode mode = looks ? Mode.FULL : Mode.TIME;
      String inStep;
      try (DeviceRig rig = c.rig(mode, 1)) {
        c.run(rig, looks);
        inStep = rig.sim.opLog().hash();
      }
      for (int size : new int[] {2, 7, CommandTape.SIZE}) {
        try (DeviceRig rig = c.rig(mode, size)) {
          c.run(rig, looks);
          assertThat(rig.sim.opLog().hash()).as("tape of %d, %s", size, c).isEqualTo(inStep);
        }
      }
    }
  }

  /** What a program says is said once, however often it must wait for the window. */
  @Test
  void programOfManyCommands_fullTape_losesAndRepeatsNothing() {
    try (DeviceRig rig = DeviceRig.ring("pe.cpu.command_window=3")) {
      int commands = 5 * CommandTape.SIZE + 1;
      rig.run(p -> makesValues(p, commands));
      assertMadeOnce(rig, commands);
    }
  }

  /** Makes and gives up values that all differ in size. */
  static void makesValues(PePort p, int count) {
    for (int i = 0; i < count; i++) {
      p.release(fill(p, 4 * (i + 1), i));
    }
  }

  static void assertMadeOnce(DeviceRig rig, int count) {
    assertThat(rig.rows().stream().mapToInt(DeviceRig.Row::bytes).toArray())
        .hasSize(count)
        .isSorted()
        .doesNotHaveDuplicates();
  }
}
