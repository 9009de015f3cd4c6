package org.kernbench.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.kernbench.device.SlotReuseTest.fill;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;

/** Packages that run ahead of each other: nothing but the speed shows it. */
final class RunApartTest {
  private static final SimulatorOptions NO_ROWS = new SimulatorOptions(0, false);
  private static final int[] DISTANCES = {1, 2, 5};

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5})
  void randomPrograms_packagesApart_sameOperationsAndTimes(int block) {
    int apart = 0;
    for (int i = 0; i < 40; i++) {
      RandomCase c = RandomCase.of(30_000 + block * 40 + i);
      String together;
      long events;
      try (DeviceRig rig = c.rig(NO_ROWS, Integer.MAX_VALUE)) {
        together = outcome(rig, c.run(rig));
        events = rig.sim.eventCount();
      }
      try (DeviceRig rig = c.rig(NO_ROWS, 2)) {
        assertThat(outcome(rig, c.run(rig))).as("%s", c).isEqualTo(together);
        apart += rig.sim.eventCount() < events ? 1 : 0; // no event ends a program then
      }
    }
    assertThat(apart).isGreaterThan(10); // the others issue serially
  }

  /**
   * All PEs do the same at the same time, two in each package, over one and over several packages:
   * messages and remote accesses meet on links, often at one picosecond.
   */
  @ParameterizedTest
  @ValueSource(strings = {"ring_1d", "torus_2d", "mesh_2d_no_wrap", "switch"})
  void trafficInStep_packagesApart_sameOperationsAndTimes(String topology) {
    for (int seed = 0; seed < 25; seed++) {
      List<Integer> moves = new SplittableRandom(seed).ints(25, 0, 6).boxed().toList();
      int slots = 1 + seed % 3;
      String together;
      try (DeviceRig rig = traffic(topology, slots, Integer.MAX_VALUE)) {
        together = outcome(rig, rig.run(inStep(rig, moves)));
      }
      try (DeviceRig rig = traffic(topology, slots, 2)) {
        assertThat(outcome(rig, rig.run(inStep(rig, moves)))).isEqualTo(together);
      }
    }
  }

  /** A kernel that fails leaves one clock, and a machine that can be asked and closed. */
  @Test
  void kernelThatFails_packagesApart_endsTheRunAsOnOneClock() {
    try (DeviceRig rig = traffic("ring_1d", 2, 2)) {
      List<Consumer<PePort>> programs = inStep(rig, List.of(3, 4, 1, 5, 3));
      programs.set(
          7,
          p -> {
            p.send(p.queue("+1"), fill(p, 256, 0), 0, 256);
            p.receive(p.queue("-1"), 512, true, false); // the others send 256
          });
      assertThatThrownBy(() -> rig.run(programs))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("sent another size");
      long now = rig.sim.nowPs();
      assertThat(now).isPositive();
      assertThat(
              rig.sim.hostCopyPs(
                  rig.machine.addresses().hbm(rig.pe(0), 0), 64, CopyDirection.HOST_TO_DEVICE))
          .isPositive();
    }
  }

  private static DeviceRig traffic(String topology, int slots, int packagesToRunApart) {
    Machine machine =
        Machines.load(
            "ring",
            List.of(
                "system.sips.topology=" + topology,
                "system.sips.count=" + 9,
                "cube.noc.w=2",
                "cube.pe_layout.pe_per_corner=2",
                "ipcq.slots=" + slots,
                "ipcq.slot_size=1 KiB"));
    DeviceRig rig =
        new DeviceRig(
            machine,
            Simulator.open(machine, Mode.TIME, NO_ROWS, CommandTape.SIZE, packagesToRunApart));
    int n = machine.peCount();
    List<QueuePlan.Connection> connections = new ArrayList<>();
    for (int distance : DISTANCES) {
      for (int i = 0; i < n; i++) {
        connections.add(
            new QueuePlan.Connection(
                rig.pe(i), "+" + distance, rig.pe((i + distance) % n), "-" + distance));
      }
    }
    return rig.connect(connections.toArray(QueuePlan.Connection[]::new));
  }

  private static List<Consumer<PePort>> inStep(DeviceRig rig, List<Integer> moves) {
    int n = rig.machine.peCount();
    List<Consumer<PePort>> programs = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      int me = i;
      programs.add(p -> {
        for (int k = 0; k < moves.size(); k++) {
          int distance = DISTANCES[moves.get(k) % DISTANCES.length];
          int other = (me + distance) % n;
          int bytes = 256 << (k % 3);
          switch (moves.get(k)) {
            case 0 -> p.release(p.load(rig.hbm(other, 0, bytes)));
            case 1 -> p.store(fill(p, bytes, 0), 0, rig.hbm(k * 5 % n, me * 1024L, bytes));
            case 2 -> p.release(p.load(rig.hbm(me, 0, bytes)));
            default -> {
              p.send(p.queue("+" + distance), fill(p, bytes, 0), 0, bytes);
              p.release(p.receive(p.queue("-" + distance), bytes, k % 2 == 0, false));
            }
          }
        }
      });
    }
    return programs;
  }

  private static String outcome(DeviceRig rig, Launch launch) {
    return rig.sim.opLog().hash()
        + " "
        + launch.endPs()
        + " "
        + rig.sim.nowPs()
        + " "
        + rig.sim.peakSlots();
  }
}
