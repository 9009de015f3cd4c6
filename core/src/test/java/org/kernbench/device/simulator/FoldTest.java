package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Turn;

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
