package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.io.ByteArrayOutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.simulator.RunWatch;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.Folding;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.benches.AllReduceRun;
import org.kernbench.eval.benches.Pattern;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;

final class ProgressLineTest {
  private final StringWriter err = new StringWriter();
  private final AtomicLong ns = new AtomicLong();

  private ProgressLine line(boolean interactive) {
    Terminal terminal =
        Terminal.on(new ByteArrayOutputStream(), new PrintWriter(err), false, interactive);
    return new ProgressLine(terminal, false, ns::get);
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

  /**
   * All packages on one clock, or each group of them on its own: what was shown last is the end.
   */
  @ParameterizedTest
  @CsvSource({"8", "300"})
  void terminal_oneSimulation_showsHowFarItIs_andTheTimeLeft(int ranks) {
    ProgressLine line = line(true);
    RunWatch watch = line.watch().orElseThrow();
    SimulatorOptions recording = SimulatorOptions.DEFAULT.withOpLogLimit(0).showing(watch);
    Machine machine = Machines.load("ring", List.of("system.sips.count=" + ranks));
    CclConfig ring = CclConfig.load(Optional.empty(), List.of("defaults.algorithm=ring"));
    Outcome outcome =
        new AllReduceRun(
                machine, 256 * ranks, DType.F32, Pattern.RANK, Mode.TIME, recording, Folding.OFF)
            .run(CollectiveLibrary.open(machine, ring));
    RunWatch.HowFar end = watch.howFar();
    assertThat(end.events()).isEqualTo(outcome.events());
    long before = 1_000_000; // the launch comes first
    assertThat(end.timePs()).isBetween(outcome.critPs(), outcome.critPs() + before);
    assertThat((double) end.endPs()).isCloseTo(outcome.critPs(), withinPercentage(10));

    watch.follows(() -> 2_000_000, () -> 1_234_567);
    watch.expects(() -> OptionalLong.of(7_000_000));
    seconds(4);
    line.look();
    assertThat(err.toString())
        .endsWith(
            "running, 4 s: 1.2 million events, 2.0 of about 7.0 us simulated, about 10 s left");
    watch.expects(OptionalLong::empty);
    line.look();
    assertThat(err.toString()).endsWith("running, 4 s: 1.2 million events, 2.0 us simulated");
  }

  @Test
  void pipe_isNotWorthAForecast() {
    RunWatch watch = line(false).watch().orElseThrow();
    watch.expects(() -> {
      throw new AssertionError("asked");
    });
    assertThat(watch.howFar()).isEqualTo(new RunWatch.HowFar(0, 0, 0));
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

  /** What {@code --quiet} asks for, on a terminal too: no line, and nobody who watches. */
  @Test
  void quiet_onATerminal_showsNothing() {
    Terminal terminal = Terminal.on(new ByteArrayOutputStream(), new PrintWriter(err), false, true);
    ProgressLine line = new ProgressLine(terminal, true, ns::get);
    line.at(1, 4, "n_elem=64");
    seconds(100);
    assertThat(line.look()).isFalse();
    line.clear();
    assertThat(err.toString()).isEmpty();
    assertThat(line.watch()).isEmpty();
    assertThat(line(true).watch()).isPresent();
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void kernelThatIssuesNothingFor30Seconds_isNamedOnce_withItsPeAndLine(Mode mode)
      throws InterruptedException {
    ProgressLine line = line(false);
    Machine machine = Machines.load("tiny", List.of());
    AtomicBoolean in = new AtomicBoolean();
    AtomicBoolean out = new AtomicBoolean();
    SimulatorOptions options = SimulatorOptions.DEFAULT.showing(line.watch().orElseThrow());
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
