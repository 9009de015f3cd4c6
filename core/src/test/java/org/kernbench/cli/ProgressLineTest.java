package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.Simulator;
import org.kernbench.device.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;

final class ProgressLineTest {
  private final StringWriter err = new StringWriter();
  private final AtomicLong ns = new AtomicLong();

  private ProgressLine line(boolean interactive) {
    Terminal terminal =
        Terminal.on(new ByteArrayOutputStream(), new PrintWriter(err), false, interactive);
    return new ProgressLine(terminal, ns::get);
  }

  private void seconds(double s) {
    ns.set((long) (s * 1e9));
  }

  @Test
  void terminal_after2Seconds_showsTheTimeLeft_andLeavesNothing() {
    ProgressLine line = line(true);
    line.at(1, 4, "n_elem=64");
    seconds(1.9);
    line.look();
    assertThat(err.toString()).isEmpty();
    seconds(3);
    line.look();
    assertThat(err.toString()).endsWith("[######------------------] 1/4 n_elem=64, 3 s, 9 s left");
    line.clear();
    assertThat(err.toString()).endsWith("\r\033[K");
    assertThat(line.look()).isFalse();
  }

  @Test
  void terminal_runWithoutPoints_showsHowLongItTook() {
    ProgressLine line = line(true);
    seconds(5);
    line.look();
    assertThat(err.toString()).endsWith("running, 5 s");
  }

  @Test
  void pipe_getsNothing() {
    ProgressLine line = line(false);
    line.at(1, 4, "n_elem=64");
    seconds(100);
    line.look();
    line.clear();
    assertThat(err.toString()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void kernelThatIssuesNothingFor30Seconds_isNamedOnce_withItsPeAndLine(Mode mode)
      throws InterruptedException {
    ProgressLine line = line(false);
    Machine machine = Machines.load("tiny", List.of());
    AtomicBoolean in = new AtomicBoolean();
    AtomicBoolean out = new AtomicBoolean();
    SimulatorOptions options =
        SimulatorOptions.DEFAULT.showingKernels(line.kernels().orElseThrow());
    Thread run =
        Thread.ofPlatform()
            .start(() -> {
              try (Simulator simulator = Simulator.open(machine, mode, options)) {
                simulator.drive(
                    simulator.launch(
                        LaunchRequest.of("spins", List.of(new Pe(0, 1, 0))),
                        port ->
                            () -> {
                              in.set(true);
                              while (!out.get()) {
                                Thread.onSpinWait();
                              }
                            }));
              }
            });
    while (!in.get()) {
      Thread.onSpinWait();
    }
    line.look();
    seconds(29);
    line.look();
    assertThat(err.toString()).isEmpty();
    seconds(31);
    line.look();
    seconds(99);
    line.look();
    out.set(true);
    run.join();
    line.look();
    assertThat(err.toString())
        .containsOnlyOnce("kernbench: kernel spins@sip0.cube1.pe0 has run for 30 s without issuing")
        .contains(", at ProgressLineTest.java:");
  }
}
