package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.kernbench.device.simulator.SlotReuseTest.fill;

import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.Steps;
import org.kernbench.machine.SimulationException;

/** A program in steps does what it does in one piece; only a thread is missing. */
final class StepsTest {
  /** In one piece on a thread of its own is the twin, with a tape that never fills. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void randomPrograms_inSteps_sameOpLogAsOnAThread(int block) {
    for (int i = 0; i < 40; i++) {
      RandomCase c = RandomCase.of(77_000 + block * 40 + i);
      Mode mode = i % 2 == 1 ? Mode.FULL : Mode.TIME;
      String onThread = hash(c, mode, 0);
      for (int atOnce : new int[] {1, 3, Integer.MAX_VALUE}) {
        assertThat(hash(c, mode, atOnce)).as("%d at once, %s", atOnce, c).isEqualTo(onThread);
      }
    }
  }

  private static String hash(RandomCase c, Mode mode, int atOnce) {
    try (DeviceRig rig = c.rig(mode)) {
      Launch launch =
          rig.launch(
              c.pes(),
              i ->
                  port -> {
                    RandomProgram program = c.programs().get(i);
                    Steps all = program.begin(port, atOnce == 0 ? Integer.MAX_VALUE : atOnce);
                    return atOnce == 0 ? () -> all.run() : all;
                  });
      rig.sim.drive(launch);
      return rig.sim.opLog().hash();
    }
  }

  @Test
  void stepOfMoreThanATape_losesAndRepeatsNothing() {
    int commands = 3 * CommandTape.SIZE + 1;
    try (DeviceRig rig = DeviceRig.ring("pe.cpu.command_window=3")) {
      runSteps(rig, p -> CommandTapeTest.makesValues(p, commands));
      CommandTapeTest.assertMadeOnce(rig, commands);
    }
  }

  @Test
  void stepThatWaits_isRefused() {
    try (DeviceRig rig = DeviceRig.of(Mode.FULL, "ring")) {
      assertThatThrownBy(() -> runSteps(rig, p -> p.look(fill(p, 4, 1), 0, 4)))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("a kernel in steps waits at ")
          .hasMessageContaining("StepsTest.java:")
          .hasMessageContaining("in one piece");
    }
    try (DeviceRig rig = DeviceRig.ring()) {
      assertThatThrownBy(() -> runSteps(rig, PePort::clockPs))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("a kernel in steps waits");
    }
  }

  private static void runSteps(DeviceRig rig, Consumer<PePort> step) {
    Launch launch =
        rig.launch(
            1,
            i ->
                port ->
                    (Steps)
                        () -> {
                          step.accept(port);
                          return false;
                        });
    rig.sim.drive(launch);
  }
}
