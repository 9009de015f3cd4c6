package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.kernbench.device.simulator.PeIssueTest.fill;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.OpKind;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;

/** The scheduler beside the programs of a PE, sums that stay in the array, and buffers' readers. */
final class TileSchedulerTest {
  private static final ComputeOp.Gemm STEP =
      new ComputeOp.Gemm(DType.F32, DType.F32, 8, 8, 8, true);

  private static Register product(PePort p, ComputeOp.Gemm op, Register a, Register c) {
    return p.compute(op, op.m() * op.n() * 4, a, 0, a, 0, c, 0);
  }

  @Test
  void schedule_programGoesOn_andTheTokenIsTheEndOfTheWork() {
    try (DeviceRig rig = DeviceRig.ring("pe.cpu.issue=serial", "pe.dma.read_queues=1")) {
      long[] after = new long[2];
      rig.run(p -> {
        Register token =
            p.schedule(
                List.of(),
                s -> {
                  s.load(rig.hbm(0, 0, 4096));
                  s.load(rig.hbm(0, 8192, 4096));
                });
        after[0] = p.clockPs();
        p.fence(token);
        after[1] = p.clockPs();
      });
      var loads = rig.rows(OpKind.LOAD);
      long start = loads.get(0).issuePs() - 500; // scheduler_dispatch
      assertThat(after[0]).as("the program paid one dispatch and went on").isEqualTo(start);
      assertThat(loads.get(1).issuePs()).as("not serial").isEqualTo(start + 1000);
      assertThat(after[1]).isEqualTo(loads.get(1).endPs());
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void schedule_valuesReleasedByTheProgram_areStillRead(Mode mode) {
    try (DeviceRig rig = DeviceRig.of(mode, "ring")) {
      Launch launch =
          rig.run(p -> {
            Register a = fill(p, 256);
            Register token = p.schedule(List.of(a), s -> s.store(a, 0, rig.hbm(0, 0, 256)));
            p.release(a);
            p.fence(token);
          });
      assertThat(launch.isDone()).isTrue();
      if (mode != Mode.TIME) {
        assertThat(rig.read(rig.hbm(0, 0, 4))).isNotEqualTo(new byte[4]);
      }
    }
  }

  @Test
  void schedule_programThatReadsAfterReleasing_isAnErrorOnceTheWorkIsDone() {
    try (DeviceRig rig = DeviceRig.ring()) {
      assertThatThrownBy(() ->
              rig.run(p -> {
                Register a = fill(p, 256);
                Register token = p.schedule(List.of(a), s -> s.store(a, 0, rig.hbm(0, 0, 256)));
                p.release(a);
                p.fence(token);
                p.clockPs();
                p.store(a, 0, rig.hbm(0, 512, 256));
              }))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("has released");
    }
  }

  @Test
  void schedule_launch_endsWithTheWork() {
    try (DeviceRig rig = DeviceRig.ring()) {
      Launch launch = rig.run(p -> p.schedule(List.of(), s -> s.load(rig.hbm(0, 0, 65_536))));
      assertThat(launch.endPs()).isEqualTo(rig.row(0).endPs());
      assertThat(launch.criticalOp()).isEqualTo(rig.row(0).id());
    }
  }

  @Test
  void schedule_secondTask_beginsToIssueWhenTheFirstHasIssued() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        p.schedule(List.of(), s -> s.load(rig.hbm(0, 0, 65_536)));
        p.fence(p.schedule(List.of(), s -> s.load(rig.hbm(0, 65_536, 4096))));
      });
      assertThat(rig.row(1).issuePs()).isLessThan(rig.row(0).endPs());
    }
  }

  /** A task is a command like any other: it leaves the window when it is done, and no sooner. */
  @ParameterizedTest
  @ValueSource(ints = {2, 64})
  void schedule_windowIsFull_waitsUntilHalfOfTheTasksAreDone(int window) {
    try (DeviceRig rig = DeviceRig.ring("pe.cpu.command_window=" + window)) {
      rig.run(p -> {
        for (int i = 0; i < 5; i++) {
          int from = i * 65_536;
          p.schedule(List.of(), s -> s.load(rig.hbm(0, from, 65_536)));
        }
      });
      var loads = rig.rows(OpKind.LOAD);
      assertThat(loads).hasSize(5);
      boolean waits = loads.get(2).issuePs() >= loads.get(0).endPs();
      assertThat(waits).isEqualTo(window == 2);
      assertThat(loads.get(4).issuePs() >= loads.get(2).endPs()).isEqualTo(window == 2);
    }
  }

  /** Thousands of tasks in a row neither nest deeply nor lose one another. */
  @Test
  void schedule_manyTasks_allEnd() {
    try (DeviceRig rig = DeviceRig.ring("pe.cpu.command_window=100000")) {
      rig.run(p -> {
        List<Register> tokens = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
          tokens.add(p.schedule(List.of(), s -> s.release(fill(s, 4))));
        }
        tokens.forEach(p::fence);
      });
      assertThat(rig.rows(OpKind.MATH)).hasSize(5000);
    }
  }

  @Test
  void memoryOrder_storeOfTheProgramBeforeLoadOfTheWork_isKept() {
    for (int seed = 0; seed < 20; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      int before = random.nextInt(1, 5);
      try (DeviceRig rig = DeviceRig.of(Mode.FULL, "ring")) {
        rig.run(p -> {
          for (int i = 0; i < before; i++) {
            p.store(fill(p, 65_536), 0, rig.hbm(0, 0, 65_536));
          }
          Register last =
              p.compute(
                  new ComputeOp.Fill(DType.F32, 64, 7),
                  256,
                  Register.NONE,
                  0,
                  Register.NONE,
                  0,
                  Register.NONE,
                  0);
          p.store(last, 0, rig.hbm(0, 0, 256));
          Register token =
              p.schedule(
                  List.of(), s -> s.store(s.load(rig.hbm(0, 0, 256)), 0, rig.hbm(0, 1 << 20, 256)));
          p.store(fill(p, 65_536), 0, rig.hbm(0, 1 << 21, 65_536));
          p.fence(token);
        });
        assertThat(DType.F32.getDouble(rig.read(rig.hbm(0, (1 << 20) + 252, 4)), 0)).isEqualTo(7);
      }
    }
  }

  /** A 64 x 64 array at 2 GHz: 8 cycles each, and 126 to drain the last. */
  @Test
  void chained_sumsTakenOnInTheArray_payFillAndDrainOnce() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        Register a = fill(p, 256);
        Register sums = fill(p, 256);
        p.fence(sums);
        for (int i = 0; i < 10; i++) {
          sums = product(p, STEP, a, sums);
        }
      });
      var products = rig.rows(OpKind.GEMM);
      for (int i = 1; i < 10; i++) {
        long ready = Math.max(products.get(i - 1).startPs() + 4_000, products.get(i).issuePs());
        assertThat(products.get(i).startPs()).isEqualTo(ready);
      }
      assertThat(products.getLast().ps()).isEqualTo((8 + 126) * 500);
    }
  }

  /** Another product in between has pushed the sums out of the array: they come back from TCM. */
  @Test
  void chained_sumsThatLeftTheArray_areWaitedFor() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        Register a = fill(p, 256);
        Register one = fill(p, 256);
        Register other = fill(p, 256);
        Register first = product(p, STEP, a, one);
        product(p, STEP, a, other);
        product(p, STEP, a, first);
      });
      var products = rig.rows(OpKind.GEMM);
      assertThat(products.get(2).startPs()).isEqualTo(products.get(0).endPs());
    }
  }

  @ParameterizedTest
  @CsvSource({"filled, 10", "flat, 10", "chained, 10"})
  void modes_chainOfProducts_hasItsClosedForm(String mode, int steps) {
    try (DeviceRig rig =
        DeviceRig.ring(
            "pe.gemm.mode=" + mode,
            "pe.cpu.dispatch=0 ns",
            "pe.gemm.rows=8",
            "pe.gemm.columns=8")) {
      rig.run(p -> {
        Register a = fill(p, 256);
        Register sums = fill(p, 256);
        p.fence(sums);
        for (int i = 0; i < steps; i++) {
          sums = product(p, STEP, a, sums);
        }
      });
      var products = rig.rows(OpKind.GEMM);
      long cycles =
          switch (mode) {
            case "filled" -> steps * (8 + 14 - 1L);
            case "flat" -> steps * 8L;
            default -> steps * 8L + 14;
          };
      assertThat(products.getLast().endPs() - products.getFirst().startPs())
          .isEqualTo(cycles * 500);
    }
  }

  @Test
  void accumulate_inPlace_takesNoNewRoom() {
    int bytes = 512 * 512 * 4; // 1 MiB: two of them and the operands would not fit 2 MiB
    ComputeOp.Gemm op = new ComputeOp.Gemm(DType.F32, DType.F32, 512, 512, 4, true);
    for (Mode mode : List.of(Mode.FULL, Mode.VALUES)) {
      try (DeviceRig rig = DeviceRig.of(mode, "ring", "ipcq.slots=1")) {
        rig.run(p -> {
          Register a = fill(p, 512 * 4 * 4);
          Register sums =
              p.compute(
                  new ComputeOp.Fill(DType.F32, bytes / 4, 0),
                  bytes,
                  Register.NONE,
                  0,
                  Register.NONE,
                  0,
                  Register.NONE,
                  0);
          for (int i = 0; i < 4; i++) {
            sums = p.accumulate(op, a, 0, a, 0, sums);
          }
          p.store(sums, 0, rig.hbm(0, 0, bytes));
          p.release(sums);
          p.fence(fill(p, 1 << 20)); // the room is given back once, not five times
        });
        double one = DType.F32.getDouble(rig.read(rig.hbm(0, 0, 4)), 0);
        assertThat(one).isEqualTo(DType.F32.getDouble(rig.read(rig.hbm(0, bytes - 4, 4)), 0));
      }
    }
  }

  @Test
  void fenceReaders_loadIntoABuffer_waitsForItsReader() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        Register a = p.load(rig.hbm(0, 0, 256));
        p.store(a, 0, rig.hbm(0, 65_536, 256));
        p.release(a);
        p.fenceReaders(a);
        p.load(rig.hbm(0, 512, 256));
      });
      var second = rig.rows(OpKind.LOAD).get(1);
      assertThat(second.startPs()).isEqualTo(rig.rows(OpKind.STORE).getFirst().endPs() + 1000);
      assertThat(second.cause()).isEqualTo(Cause.TCM_SPACE);
    }
  }

  @Test
  void work_thatFindsNoRoom_isReportedWithTheValuesThatFillTcm() {
    try (DeviceRig rig = DeviceRig.ring()) {
      assertThatThrownBy(() ->
              rig.run(p -> {
                Register big = fill(p, 1 << 20);
                p.fence(p.schedule(List.of(), s -> s.load(rig.hbm(0, 0, 3 << 19))));
                p.store(big, 0, rig.hbm(0, 0, 4));
              }))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("1572864 bytes of TCM");
    }
  }
}
