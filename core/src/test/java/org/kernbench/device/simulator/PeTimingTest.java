package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.kernbench.device.simulator.PeIssueTest.add;
import static org.kernbench.device.simulator.PeIssueTest.exp;
import static org.kernbench.device.simulator.PeIssueTest.fill;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.Register;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.RouterSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.ReduceOp;

/**
 * Times of single commands and of issue, in closed form; numbers of the preset {@code ring} (see
 * {@link DeviceRig}), in ps.
 */
final class PeTimingTest {
  private static final long DISPATCH = 1_000;
  private static final long SETUP = 28_000;
  private static final long REQUEST = 2_000 + 7_250;
  private static final long PORT = 30_500;
  private static final long BACK = 7_250 + 4_000;

  /** Picoseconds at GB/s, rounded up. */
  static long at(double gigabytesPerSecond, long bytes) {
    return Math.ceilDiv(bytes * 1_000_000L, Math.round(gigabytesPerSecond * 1000));
  }

  /** The same over the fabric, which moves chunks of 1 KiB and rounds each up. */
  static long chunked(double gigabytesPerSecond, long bytes) {
    return bytes / 1024 * at(gigabytesPerSecond, 1024) + at(gigabytesPerSecond, bytes % 1024);
  }

  @ParameterizedTest
  @CsvSource({"1", "256", "1024", "1025", "16384", "100000"})
  void load_idleMachine_isSetupRequestAccessAndBytes(int bytes) {
    try (DeviceRig rig = DeviceRig.ring()) {
      Launch launch = rig.run(p -> p.load(rig.hbm(0, 64, bytes)));
      var load = rig.row(0);
      assertThat(load.issuePs()).isEqualTo(launch.startPs() + DISPATCH);
      assertThat(load.startPs()).isEqualTo(load.issuePs());
      assertThat(load.ps()).isEqualTo(SETUP + REQUEST + PORT + BACK + chunked(217.6, bytes));
      assertThat(launch.criticalPs()).isEqualTo(DISPATCH + load.ps());
      assertThat(launch.criticalOp()).isZero();
      assertThat(load.cause()).isEqualTo(Cause.KERNEL_START);
    }
  }

  @ParameterizedTest
  @CsvSource({"1", "4096", "100000"})
  void store_idleMachine_isSetupWayAccessBytesAndAcknowledgement(int bytes) {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> p.store(fill(p, 100_000), 0, rig.hbm(0, 0, bytes)));
      assertThat(rig.row(1).startPs()).isEqualTo(rig.row(0).endPs());
      assertThat(rig.row(1).ps()).isEqualTo(SETUP + REQUEST + PORT + chunked(217.6, bytes) + BACK);
    }
  }

  @ParameterizedTest
  @CsvSource({"1", "1025", "16384", "100000"})
  void transfers_idleMachine_meetNobody(int bytes) {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> p.fence(p.store(p.load(rig.hbm(2, 0, bytes)), 0, rig.hbm(3, 0, bytes))));
      assertThat(rig.sim.opLog().contentionPs(0)).isZero();
      assertThat(rig.sim.opLog().contentionPs(1)).isZero();
    }
  }

  /**
   * The stages of idle routers are no contention, four cycles and more in each; what is left is
   * that packets wait for the next edge of a clock.
   */
  @Test
  void transfers_throughIdleRouters_waitForTheirClockAlone() {
    Machine machine = Machines.load("../examples/machines/mesh-4x4.yaml", List.of());
    RouterSpec router = machine.fabric().router().orElseThrow();
    long cyclePs = 1_000_000_000_000L / router.clockHz();
    assertThat(router.pipelineCycles()).isGreaterThanOrEqualTo(4);
    try (DeviceRig rig = new DeviceRig(machine, Mode.TIME, SimulatorOptions.DEFAULT)) {
      rig.run(p -> p.fence(p.load(rig.hbm(0, 0, 100))));
      assertThat(rig.sim.opLog().contentionPs(0)).isLessThan(2 * cyclePs); // there and back
    }
  }

  @Test
  void load_stridedRegion_costsItsBytesOnly() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> p.load(new Region(rig.machine.addresses().hbm(p.pe(), 0), 16, 64, 4096)));
      assertThat(rig.row(0).bytes()).isEqualTo(1024);
      assertThat(rig.row(0).ps()).isEqualTo(SETUP + REQUEST + PORT + BACK + chunked(217.6, 1024));
    }
  }

  @Test
  void loadAndStore_sramOfTheCube_useItsPort() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> p.store(p.load(rig.sram(0, 0, 4096)), 0, rig.sram(0, 8192, 4096)));
      assertThat(rig.row(0).ps()).isEqualTo(SETUP + 4_000 + 20_000 + 2_000 + 4_000 + at(256, 4096));
      assertThat(rig.row(1).ps()).isEqualTo(SETUP + 4_000 + 20_000 + at(256, 4096) + 2_000 + 4_000);
    }
  }

  @Test
  void load_sliceOfAnotherPackage_crossesTheLinkTwice() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> p.load(rig.hbm(1, 0, 4096)));
      long between = 12_000 + 250_000 + 12_000;
      assertThat(rig.row(0).ps())
          .isEqualTo(SETUP + REQUEST + between + PORT + BACK + between + at(200, 4096));
    }
  }

  /** 2 GHz, 256 B per cycle, 10 cycles to start, operands at 1024 GB/s. */
  @Test
  void math_everyKind_isTheGreaterOfLanesAndOperands() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        Register a = fill(p, 16_384); // 64 vectors; writes 16384 B
        Register b = exp(p, a); // at a quarter of the rate
        add(p, a, b); // three streams of TCM
        p.compute(
            new ComputeOp.Reduce(ReduceOp.SUM, DType.F32, 4, 1024, 1),
            16,
            a,
            0,
            Register.NONE,
            0,
            Register.NONE,
            0);
        p.compute(
            new ComputeOp.Cast(DType.F32, DType.F16, 4096),
            8192,
            a,
            0,
            Register.NONE,
            0,
            Register.NONE,
            0);
        fill(p, 4);
      });
      assertThat(rig.rows())
          .extracting(DeviceRig.Row::ps)
          .containsExactly(
              (10 + 64) * 500L,
              (10 + 64 * 4) * 500L,
              at(1024, 3 * 16_384),
              (10 + 64) * 500L,
              (10 + 64) * 500L,
              (10 + 1) * 500L);
    }
  }

  /** D7 of docs/spec/gemm.md with its published check values; at 1 GHz a cycle is 1000 ps. */
  @ParameterizedTest
  @CsvSource({
    "filled, 16, 22, 16, 64, 187",
    "filled, 16, 41, 16, 128, 473",
    "filled, 128, 64, 64, 1024, 1277",
    "filled, 128, 128, 256, 2048, 4603",
    "chained, 16, 22, 16, 64, 158",
    "chained, 128, 128, 256, 2048, 4350",
    "chained, 16, 1, 1, 1, 31"
  })
  void gemm_shape_takesItsCycles(String mode, int array, int m, int n, int k, long cycles) {
    try (DeviceRig rig =
        DeviceRig.ring(
            "pe.gemm.rows=" + array,
            "pe.gemm.columns=" + array,
            "pe.gemm.clock=1 GHz",
            "pe.gemm.mode=" + mode)) {
      rig.run(p ->
          p.compute(
              new ComputeOp.Gemm(DType.F16, DType.F16, m, n, k, false),
              m * n * 2,
              fill(p, m * k * 2),
              0,
              fill(p, k * n * 2),
              0,
              Register.NONE,
              0));
      assertThat(rig.row(2).ps()).isEqualTo(cycles * 1000);
    }
  }

  @ParameterizedTest
  @CsvSource({"shared", "separate"})
  void gemmAndMath_independent_excludeEachOtherOnlyIfTheyShare(String slot) {
    try (DeviceRig rig = DeviceRig.ring("pe.accel_slot=" + slot)) {
      rig.run(p -> {
        Register a = p.load(rig.hbm(0, 0, 512));
        p.fence(a);
        p.compute(
            new ComputeOp.Gemm(DType.F16, DType.F16, 16, 16, 16, false),
            512,
            a,
            0,
            a,
            0,
            Register.NONE,
            0);
        fill(p, 256);
      });
      var gemm = rig.row(1);
      var math = rig.row(2);
      assertThat(gemm.startPs()).isEqualTo(rig.row(0).endPs() + DISPATCH);
      assertThat(math.issuePs()).isEqualTo(gemm.issuePs() + DISPATCH);
      assertThat(math.startPs()).isEqualTo(slot.equals("shared") ? gemm.endPs() : math.issuePs());
      assertThat(math.cause()).isEqualTo(slot.equals("shared") ? Cause.ENGINE : Cause.FENCE);
    }
  }

  @ParameterizedTest
  @CsvSource({"1", "2", "4"})
  void loads_moreThanQueues_startWhenAQueueIsFree(int queues) {
    try (DeviceRig rig =
        DeviceRig.ring("pe.dma.read_queues=" + queues, "pe.cpu.command_window=9")) {
      Launch launch =
          rig.run(p -> {
            for (int i = 0; i < 9; i++) {
              p.load(rig.hbm(0, i * 4096L, 256));
            }
          });
      List<DeviceRig.Row> loads = rig.rows();
      for (int i = 0; i < 9; i++) {
        var load = loads.get(i);
        assertThat(load.issuePs()).isEqualTo(launch.startPs() + (i + 1) * DISPATCH);
        assertThat(load.startPs())
            .isEqualTo(i < queues ? load.issuePs() : loads.get(i - queues).endPs());
        assertThat(load.cause()).isEqualTo(i < queues ? Cause.KERNEL_START : Cause.ENGINE);
      }
    }
  }

  @Test
  void serialIssue_independentCommands_followEachOther() {
    try (DeviceRig rig = DeviceRig.ring("pe.cpu.issue=serial")) {
      rig.run(p -> {
        p.load(rig.hbm(0, 0, 256));
        fill(p, 256);
        p.load(rig.hbm(0, 4096, 256));
      });
      assertThat(rig.row(1).startPs()).isEqualTo(rig.row(0).endPs() + DISPATCH);
      assertThat(rig.row(2).startPs()).isEqualTo(rig.row(1).endPs() + DISPATCH);
      assertThat(rig.row(2).cause()).isEqualTo(Cause.SERIAL_ISSUE);
      assertThat(rig.row(2).causeOp()).isEqualTo(1);
    }
  }

  @Test
  void overlappedIssue_independentCommands_overlap() {
    try (DeviceRig rig = DeviceRig.ring()) {
      Launch launch =
          rig.run(p -> {
            p.load(rig.hbm(0, 0, 256));
            fill(p, 256);
            p.store(fill(p, 256), 0, rig.hbm(0, 4096, 256));
          });
      assertThat(rig.row(1).startPs()).isEqualTo(launch.startPs() + 2 * DISPATCH);
      assertThat(rig.row(3).startPs()).isLessThan(rig.row(0).endPs());
    }
  }

  @ParameterizedTest
  @CsvSource({"2", "3", "5", "64"})
  void window_full_goesOnWhenHalfOfItIsDone(int window) {
    try (DeviceRig rig =
        DeviceRig.ring("pe.cpu.command_window=" + window, "pe.dma.read_queues=1")) {
      rig.run(p -> {
        for (int i = 0; i < 12; i++) {
          p.load(rig.hbm(0, i * 4096L, 256));
        }
      });
      List<DeviceRig.Row> loads = rig.rows();
      if (window >= 12) {
        assertThat(loads).noneMatch(r -> r.cause() == Cause.WINDOW);
        return;
      }
      int mustEnd = window - window / 2; // of the first window
      var held = loads.get(window);
      assertThat(held.issuePs()).isEqualTo(loads.get(mustEnd - 1).endPs() + DISPATCH);
      for (int i = 0; i < 12; i++) {
        final int k = i;
        long inFlight =
            loads.stream().limit(i).filter(r -> r.endPs() > loads.get(k).issuePs()).count();
        assertThat(inFlight).isLessThan(window);
      }
    }
  }

  /** The engine is free long before; the window is what the third command waits for. */
  @Test
  void window_full_isTheCauseOfTheNextCommand() {
    try (DeviceRig rig = DeviceRig.ring("pe.cpu.command_window=2", "pe.dma.read_queues=4")) {
      rig.run(p -> {
        for (int i = 0; i < 3; i++) {
          p.load(rig.hbm(0, i * 4096L, 256));
        }
      });
      assertThat(rig.row(2).startPs()).isEqualTo(rig.row(0).endPs() + DISPATCH);
      assertThat(rig.row(2).cause()).isEqualTo(Cause.WINDOW);
      assertThat(rig.row(2).causeOp()).isEqualTo(rig.row(0).id());
    }
  }

  @Test
  void tcm_full_stallsUntilTheLastReaderOfAReleasedValueHasFinished() {
    try (DeviceRig rig =
        DeviceRig.ring(
            "ipcq.slots=1", "ipcq.directions=1", "pe.tcm.size=64 KiB", "ipcq.slot_size=1 KiB")) {
      rig.run(p -> {
        Register a = p.load(rig.hbm(0, 0, 40_000));
        p.store(a, 0, rig.hbm(0, 1 << 20, 40_000));
        p.release(a);
        p.load(rig.hbm(0, 2 << 20, 40_000));
      });
      assertThat(rig.row(2).issuePs()).isEqualTo(rig.row(1).endPs() + DISPATCH);
      assertThat(rig.row(2).cause()).isEqualTo(Cause.TCM_SPACE);
      assertThat(rig.row(2).causeOp()).isEqualTo(1);
    }
  }

  /**
   * A send will leave its channel at a time that is already known; a reader that ends before frees
   * its room before.
   */
  @Test
  void tcm_full_takesTheRoomThatIsFreeFirst() {
    try (DeviceRig rig =
        DeviceRig.ring(
                "system.sips.count=2",
                "ipcq.slots=1",
                "ipcq.directions=1",
                "pe.tcm.size=64 KiB",
                "ipcq.slot_size=20 KiB",
                "fabric.chunk=64 KiB",
                "cube.links.pe_to_router.bandwidth=16 GB/s")
            .connect(new QueuePlan.Connection(new Pe(0, 0, 0), "E", new Pe(1, 0, 0), "W"))) {
      rig.run(
          p -> {
            Register sent = fill(p, 20_000);
            p.send(p.queue("E"), sent, 0, 20_000);
            Register read = fill(p, 20_000);
            for (int i = 0; i < 3; i++) {
              p.compute(
                  new ComputeOp.Reduce(ReduceOp.SUM, DType.F32, 1, 5000, 1),
                  4,
                  read,
                  0,
                  Register.NONE,
                  0,
                  Register.NONE,
                  0);
            }
            p.release(sent);
            p.release(read);
            p.load(rig.hbm(0, 0, 20_000));
          },
          p -> p.receive(p.queue("W"), 20_000, false, false));
      var lastReader = rig.rows(0, OpKind.MATH).getLast();
      var load = rig.rows(OpKind.LOAD).getFirst();
      assertThat(rig.rows(OpKind.SEND).getFirst().startPs() + at(16, 20_000))
          .isGreaterThan(lastReader.endPs());
      assertThat(load.issuePs()).isEqualTo(lastReader.endPs() + DISPATCH);
      assertThat(load.causeOp()).isEqualTo(lastReader.id());
    }
  }

  /** A send is the PE's business until its channel is free; the message arrives later. */
  @Test
  void launch_lastCommandASend_endsWhenItsChannelIsFree() {
    try (DeviceRig rig = DeviceRig.ring("system.sips.count=2").connectRing(2)) {
      Launch launch = rig.run(p -> p.send(p.queue("E"), fill(p, 4096), 0, 4096));
      var send = rig.rows(OpKind.SEND).getFirst();
      long overhead = rig.machine.pe().dma().messageOverheadPs();
      assertThat(launch.endPs()).isEqualTo(send.startPs() + overhead + at(256, 4096));
      assertThat(launch.criticalOp()).isEqualTo(send.id());
      assertThat(rig.rows()).hasSize(2);
      assertThat(send.endPs()).isGreaterThan(launch.endPs());
    }
  }

  @Test
  void launch_manyPlaces_startTogetherAndLateEnough() {
    try (DeviceRig rig = DeviceRig.of(Mode.TIME, "sip-2026")) {
      List<Pe> pes = List.of(new Pe(0, 0, 0), new Pe(0, 15, 7), new Pe(5, 10, 3), new Pe(2, 3, 1));
      Launch launch = rig.sim.launch("k", pes, p -> () -> fill(p, 256));
      rig.sim.drive(launch);
      long latest = pes.stream().mapToLong(rig.machine::controlLatencyPs).max().orElseThrow();
      assertThat(launch.startPs()).isEqualTo(latest);
      assertThat(rig.rows()).hasSize(4).allMatch(r -> r.startPs() == latest + DISPATCH);
      assertThat(launch.criticalPs()).isEqualTo(DISPATCH + 11 * 500);
    }
  }

  @Test
  void launch_peStillBusy_startsForAllWhenItIsFree() {
    try (DeviceRig rig = DeviceRig.ring()) {
      Consumer<PePort> busy = p -> p.load(rig.hbm(0, 0, 1 << 20));
      Launch first = rig.launch(List.of(busy));
      List<Consumer<PePort>> all = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        all.add(p -> fill(p, 256));
      }
      Launch second = rig.launch(all);
      rig.sim.drive(second);
      assertThat(first.isDone()).isTrue();
      assertThat(second.startPs()).isEqualTo(first.endPs());
      assertThat(rig.rows(OpKind.MATH))
          .hasSize(4)
          .allMatch(r -> r.startPs() == second.startPs() + DISPATCH);
    }
  }

  @Test
  void launch_afterAnother_waitsForItsOwnWayFromTheHost() {
    try (DeviceRig rig = DeviceRig.ring()) {
      Launch first = rig.run(p -> fill(p, 256));
      Launch second = rig.run(p -> fill(p, 256));
      assertThat(second.enqueuedPs()).isEqualTo(first.endPs());
      assertThat(second.startPs())
          .isEqualTo(first.endPs() + rig.machine.controlLatencyPs(rig.pe(0)));
    }
  }

  @Test
  void clock_overlapped_isTheTimeOfIssue() {
    try (DeviceRig rig = DeviceRig.ring()) {
      List<Long> clocks = new ArrayList<>();
      Launch launch =
          rig.run(p -> {
            clocks.add(p.clockPs());
            Register a = p.load(rig.hbm(0, 0, 4096));
            clocks.add(p.clockPs());
            p.fence(a);
            clocks.add(p.clockPs());
            fill(p, 256);
            clocks.add(p.clockPs());
          });
      long start = launch.startPs();
      assertThat(clocks)
          .containsExactly(
              start, start + DISPATCH, rig.row(0).endPs(), rig.row(0).endPs() + DISPATCH);
    }
  }

  @Test
  void clock_serial_isTheTimeAtWhichTheNextCommandIssues() {
    try (DeviceRig rig = DeviceRig.ring("pe.cpu.issue=serial")) {
      List<Long> clocks = new ArrayList<>();
      rig.run(p -> {
        p.load(rig.hbm(0, 0, 4096));
        clocks.add(p.clockPs());
        fill(p, 256);
        fill(p, 256);
        clocks.add(p.clockPs());
      });
      assertThat(clocks).containsExactly(rig.row(0).endPs(), rig.row(2).endPs());
    }
  }

  @Test
  void look_value_issuesTheNextCommandWhenItExists() {
    try (DeviceRig rig = DeviceRig.of(Mode.FULL, "ring")) {
      rig.run(p -> {
        Register a = fill(p, 1 << 16);
        p.look(a, 0, 4);
        fill(p, 4);
      });
      assertThat(rig.row(1).startPs()).isEqualTo(rig.row(0).endPs() + DISPATCH);
      assertThat(rig.row(1).cause()).isEqualTo(Cause.LOOK);
      assertThat(rig.row(1).causeOp()).isZero();
    }
  }
}
