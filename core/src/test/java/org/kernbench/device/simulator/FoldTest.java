package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.LaneMask;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.Register;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Turn;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;

/** One package for all gives every row of every package, or says why it cannot. */
final class FoldTest {
  private static void assertSame(EquivariantCase c) {
    try (Simulator full = Simulator.open(c.machine, Mode.TIME, SimulatorOptions.DEFAULT);
        Simulator folded = c.folded(true, c::program)) {
      c.run(full);
      TreeMap<Integer, List<String>> all =
          EquivariantCase.rowsByPackage(c.machine, full.opLog(), false);
      TreeMap<Integer, List<String>> one =
          EquivariantCase.rowsByPackage(c.machine, folded.opLog(), false);
      assertThat(one.keySet()).as("%s", c).containsExactly(0);
      assertThat(all).hasSize(c.sips());
      all.forEach(
          (sip, rows) -> assertThat(rows).as("%s, package %s", c, sip).isEqualTo(one.get(0)));
      assertThat(folded.opLog().hash()).as("%s", c).isEqualTo(full.opLog().hash());
      assertThat(folded.opLog().completed()).isEqualTo(full.opLog().completed());
      assertThat(folded.peakSlots()).isEqualTo(full.peakSlots());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7})
  void equivariantPrograms_foldedToOnePackage_giveTheRowsOfAll(int block) {
    for (int seed = block * 50; seed < (block + 1) * 50; seed++) {
      assertSame(new EquivariantCase(1_000_000 + seed));
    }
  }

  /** A hundred thousand in all. */
  @ParameterizedTest
  @Tag("slow")
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19})
  void equivariantPrograms_fiveThousandMore_giveTheRowsOfAll(int block) {
    for (int seed = block * 5_000; seed < (block + 1) * 5_000; seed++) {
      assertSame(new EquivariantCase(2_000_000 + seed));
    }
  }

  // ---- what is not alike ----

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "system.sips.links=2-3 250001 ps|system.sips.links makes links different",
        "system.sips.slow=1 compute 0.999999|system.sips.slow makes packages different",
        "cube.hbm.fidelity=banked|cube.hbm.fidelity: flat",
        "fabric.buffer=64 KiB|leave fabric.buffer out",
      })
  void machineWithOnePartThatDiffers_isRefused(String override, String why) {
    Machine machine =
        Machines.load(
            "ring",
            List.of(
                override, "fabric.virtual_channels=" + (override.startsWith("fabric") ? 2 : 1)));
    assertThatThrownBy(() -> Fold.of(machine))
        .isInstanceOf(CannotFoldException.class)
        .hasMessageContaining(why);
  }

  /** One program of the last package has one load more: refused, and without the check wrong. */
  @Test
  void oneCommandMore_onOnePackage_isRefused_andWithoutTheCheckDiffers() {
    for (int seed = 0; seed < 20; seed++) {
      EquivariantCase c = new EquivariantCase(3_000_000 + seed);
      int odd = c.sips() - 1 - seed % 2;
      assertThatThrownBy(() -> c.folded(true, port -> more(c, port, odd)))
          .isInstanceOf(CannotFoldException.class)
          .hasMessageContaining("expected the same with peers renamed");
      try (Simulator full = Simulator.open(c.machine, Mode.TIME, SimulatorOptions.DEFAULT);
          Simulator folded = c.folded(false, port -> more(c, port, odd))) {
        c.run(full, port -> more(c, port, odd));
        assertThat(EquivariantCase.rowsByPackage(c.machine, full.opLog(), false).get(odd))
            .isNotEqualTo(EquivariantCase.rowsByPackage(c.machine, folded.opLog(), false).get(0));
        assertThat(folded.opLog().hash()).isNotEqualTo(full.opLog().hash());
      }
    }
  }

  private static Runnable more(EquivariantCase c, PePort port, int odd) {
    return () -> {
      c.program(port).run();
      if (port.pe().sip() == odd) {
        port.release(SlotReuseTest.fill(port, 256, 0));
      }
    };
  }

  /** What a program does after the same beginning, which on one package is done otherwise. */
  private enum Odd {
    ACCUMULATE_WORK {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.accumulate(add(odd ? 8 : 16), v[0], 0, v[1], 0, v[2]);
      }
    },
    ACCUMULATE_OPERANDS {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.accumulate(add(16), v[odd ? 1 : 0], 0, v[odd ? 0 : 1], 0, v[2]);
      }
    },
    ACCUMULATE_SUMS {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.accumulate(add(16), v[0], 0, v[1], 0, v[odd ? 1 : 2]);
      }
    },
    COMPUTE_WORK {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.compute(add(odd ? 8 : 16), 64, v[0], 0, v[1], 0, v[2], 0);
      }
    },
    COMPUTE_LAST_OPERAND {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.compute(add(16), 64, v[0], 0, v[1], 0, odd ? Register.NONE : v[2], 0);
      }
    },
    COMPUTE_BYTES {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.compute(add(16), odd ? 128 : 64, v[0], 0, v[1], 0, Register.NONE, 0);
      }
    },
    TASK_READS {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.schedule(List.of(v[odd ? 1 : 0]), task -> {});
      }
    },
    TASK_READS_MORE {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.schedule(odd ? List.of() : List.of(v[0]), task -> {});
      }
    },
    TASK_BODY {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.schedule(
            List.of(v[0]), task -> task.compute(add(16), odd ? 32 : 64, v[0], 0, v[1], 0, v[2], 0));
      }
    },
    FENCE {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.fence(v[odd ? 1 : 0]);
      }
    },
    FENCE_READERS {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.fenceReaders(v[odd ? 1 : 0]);
      }
    },
    FENCE_OF_ANOTHER_SORT {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        if (odd) {
          port.fence(v[0]);
        } else {
          port.fenceReaders(v[0]);
        }
      }
    },
    FENCE_ALL {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        if (odd) {
          port.fence(v[2]);
        } else {
          port.fenceAll();
        }
      }
    },
    RELEASE {
      @Override
      void run(PePort port, boolean odd) {
        Register[] v = three(port);
        port.release(v[odd ? 1 : 0]);
      }
    };

    abstract void run(PePort port, boolean odd);

    private static ComputeOp add(int lanes) {
      return new ComputeOp.Binary(BinaryOp.ADD, DType.F32, lanes);
    }

    private static Register[] three(PePort port) {
      return new Register[] {
        SlotReuseTest.fill(port, 64, 0),
        SlotReuseTest.fill(port, 64, 0),
        SlotReuseTest.fill(port, 64, 0)
      };
    }
  }

  /** Every number that decides time is compared; the same programs everywhere are taken. */
  @ParameterizedTest
  @EnumSource(Odd.class)
  void oneCommandThatDiffers_isRefused(Odd odd) {
    EquivariantCase c = new EquivariantCase(3_000_000);
    Fold fold = Fold.of(c.machine);
    List<Pe> pes = fold.representatives(c.allPes());
    QueuePlan plan = fold.representatives(c.plan());

    fold.compare(pes, plan, port -> () -> odd.run(port, false), List.of());

    assertThatThrownBy(() ->
            fold.compare(
                pes, plan, port -> () -> odd.run(port, port.pe().sip() == c.sips() - 1), List.of()))
        .isInstanceOf(CannotFoldException.class)
        .hasMessageContaining("expected the same with peers renamed");
  }

  /** What cannot be known before it runs, or may differ without being seen. */
  @Test
  void programThatLooks_orHasMasksOrVirtualAddresses_isRefusedInItsOwnWords() {
    EquivariantCase c = new EquivariantCase(3_000_000);
    Region there = Region.of(new VirtualAddress(4096), 64);
    Map<String, Consumer<PePort>> programs = new LinkedHashMap<>();
    programs.put("the kernel looks at the clock, so", PePort::clockPs);
    programs.put(
        "the kernel looks which message comes first, so", port -> port.select(List.of(0), 0));
    programs.put(
        "the kernel looks at data, so", port -> port.look(SlotReuseTest.fill(port, 64, 0), 0, 8));
    programs.put("reads or writes by virtual addresses", port -> port.load(there));
    programs.put(
        "loads or stores with a mask, whose lanes may differ",
        port -> port.load(there, mask(SlotReuseTest.fill(port, 64, 0))));
    programs.put(
        "with a mask, whose lanes may differ between packages; run with --fold off",
        port -> {
          Register value = SlotReuseTest.fill(port, 64, 0);
          port.store(value, 0, there, mask(value));
        });
    programs.forEach((why, program) ->
        assertThatThrownBy(() ->
                Fold.of(c.machine)
                    .compare(
                        Fold.of(c.machine).representatives(c.allPes()),
                        Fold.of(c.machine).representatives(c.plan()),
                        port -> () -> program.accept(port),
                        List.of()))
            .isInstanceOf(CannotFoldException.class)
            .hasMessageContaining(why));
  }

  private static LaneMask mask(Register lanes) {
    return new LaneMask(lanes, 0, 4, new LaneMask.Lane(0));
  }

  @Test
  void programIsRunInModeTime_onItsMachine_withTheQueuesOfItsPlace() {
    EquivariantCase c = new EquivariantCase(3_000_000);
    Fold fold = Fold.of(c.machine);
    List<List<String>> seen = new ArrayList<>();
    fold.compare(
        fold.representatives(c.allPes()),
        fold.representatives(c.plan()),
        port -> {
          assertThat(port.mode()).isEqualTo(Mode.TIME);
          assertThat(port.machine()).isSameAs(c.machine);
          assertThat(port.queue("nowhere")).isEqualTo(-1);
          List<String> directions = port.directions();
          directions.forEach(d -> assertThat(port.queue(d)).isEqualTo(directions.indexOf(d)));
          seen.add(directions);
          return () -> {};
        },
        List.of());
    assertThat(seen).isNotEmpty();
  }

  @Test
  void bytesInAnotherOrder_withoutTheirNames_areRefused() {
    int refused = 0;
    for (int seed = 0; seed < 40; seed++) {
      EquivariantCase c = new EquivariantCase(4_000_000 + seed);
      Fold fold = Fold.of(c.machine);
      QueuePlan plan = fold.representatives(c.plan());
      try {
        fold.compare(fold.representatives(c.allPes()), plan, c::program, List.of());
        assertThat(c.turn())
            .as("%s", c)
            .satisfiesAnyOf(
                turn -> assertThat(turn).isEqualTo(Turn.NONE),
                turn -> assertThat(c.accesses()).isZero());
      } catch (CannotFoldException e) {
        assertThat(e).hasMessageContaining("expected the same with peers renamed");
        refused++;
      }
    }
    assertThat(refused).isGreaterThan(5);
  }

  @Test
  void queueThatOnePackageLacks_isRefused() {
    EquivariantCase c = new EquivariantCase(5);
    List<QueuePlan.Connection> connections = new ArrayList<>(c.plan().connections());
    connections.removeLast();
    QueuePlan plan = new QueuePlan(c.machine.ipcq(), connections);
    assertThatThrownBy(() -> Fold.of(c.machine).representatives(plan))
        .isInstanceOf(CannotFoldException.class)
        .hasMessageContaining("none likewise from package " + (c.sips() - 1));
  }

  @Test
  void packageThatTakesPartWithFewerPes_isRefused() {
    EquivariantCase c = new EquivariantCase(6);
    List<Pe> pes = new ArrayList<>(c.allPes());
    pes.removeLast();
    assertThatThrownBy(() -> Fold.of(c.machine).representatives(pes))
        .isInstanceOf(CannotFoldException.class)
        .hasMessageContaining("let all packages take part alike");
    assertThatThrownBy(
            () -> Fold.of(c.machine).representatives(pes.subList(c.pesPerPackage(), pes.size())))
        .isInstanceOf(CannotFoldException.class)
        .hasMessageContaining("the PE at its place in package 0 does not");
  }

  @Test
  void kernelThatLooks_isRefused() {
    Machine machine = Machines.load("ring", List.of());
    Fold fold = Fold.of(machine);
    QueuePlan none = new QueuePlan(machine.ipcq(), List.of());
    List<Pe> one = List.of(new Pe(0, 0, 0));
    assertThatThrownBy(() -> fold.compare(one, none, port -> port::clockPs, List.of()))
        .isInstanceOf(CannotFoldException.class)
        .hasMessageContaining("looks at the clock");
    assertThatThrownBy(() ->
            fold.compare(
                one,
                none,
                port -> () -> port.look(SlotReuseTest.fill(port, 4, 0), 0, 4),
                List.of()))
        .isInstanceOf(CannotFoldException.class)
        .hasMessageContaining("looks at data");
  }

  @Test
  void note_saysWhatWasFolded() {
    EquivariantCase c = new EquivariantCase(8, "ring_1d", List.of("system.sips.count=5"));
    Fold fold = Fold.of(c.machine);
    fold.compare(
        fold.representatives(c.allPes()),
        fold.representatives(c.plan()),
        c::program,
        List.of(c.turn()));
    assertThat(fold.note())
        .isEqualTo(
            "folded 5 packages in 1 orbit (shifts of ring_1d); 5 programs compared; rows of package"
                + " 0 stand for all");
  }
}
