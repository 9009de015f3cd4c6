package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;

/** Packages that are alike and do alike have the same rows, every one: no tie goes by a number. */
final class SymmetricRowsTest {
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7})
  void equivariantPrograms_allPackages_haveTheRowsOfPackage0(int block) {
    for (int seed = block * 50; seed < (block + 1) * 50; seed++) {
      EquivariantCase c = new EquivariantCase(seed);
      try (Simulator sim = Simulator.open(c.machine, Mode.TIME, SimulatorOptions.DEFAULT)) {
        c.run(sim);
        TreeMap<Integer, List<String>> rows = EquivariantCase.rowsByPackage(c.machine, sim.opLog());
        assertThat(rows).hasSize(c.sips());
        List<String> first = rows.get(0);
        rows.forEach((sip, list) -> assertThat(list).as("%s, package %s", c, sip).isEqualTo(first));
      }
    }
  }

  /** A ring's queue ends share two channels, whichever of a PE's connections comes first. */
  @Test
  void channels_ofRanksThatAreInstalledInAnotherOrder_areTheSame() {
    try (DeviceRig rig = DeviceRig.ring("system.sips.count=4", "pe.dma.message_channels=2")) {
      rig.connectRing(4);
      rig.run(
          java.util.Collections.nCopies(
              4,
              p -> {
                p.send(p.queue("E"), SlotReuseTest.fill(p, 4096, 1), 0, 4096);
                p.send(p.queue("W"), SlotReuseTest.fill(p, 1024, 1), 0, 1024);
                p.release(p.receive(p.queue("E"), 1024, true, false));
                p.release(p.receive(p.queue("W"), 4096, true, false));
              }));
      TreeMap<Integer, List<String>> rows =
          EquivariantCase.rowsByPackage(rig.machine, rig.sim.opLog());
      rows.values().forEach(list -> assertThat(list).isEqualTo(rows.get(0)));
    }
  }
}
