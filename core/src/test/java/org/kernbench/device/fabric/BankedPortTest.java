package org.kernbench.device.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.sim.Simulation;

/** What is counted on the port of a memory that has banks. */
final class BankedPortTest {
  /** Reads and writes take the port for their bytes at its rate, however the banks serve them. */
  @ParameterizedTest
  @CsvSource({"4096, false", "4096, true", "1000, true"})
  void bytesThroughThePort_areCountedWithTheirTime(int bytes, boolean writes) {
    Machine machine = Machines.load("tiny", List.of("cube.hbm.fidelity=banked"));
    Simulation sim = new Simulation();
    Fabric fabric = Fabric.of(sim, machine, null);
    Pe pe = new Pe(0, 0, 0);
    Route route =
        writes
            ? machine.route(machine.peNode(pe), machine.hbmNode(pe))
            : machine.route(machine.hbmNode(pe), machine.peNode(pe));
    Fabric.Sink sink =
        new Fabric.Sink() {
          @Override
          public void onInjected(int arg, long timePs) {}

          @Override
          public void onDelivered(int arg, long timePs, long waitPs, int worstLink) {}
        };
    fabric.begin(1, FabricRoute.of(machine, route, 0, null), bytes, 0, sink, 0, true, null);
    fabric.begin(2, FabricRoute.of(machine, route, 0, null), bytes, 0, sink, 0, true, null);
    sim.run();
    int port = writes ? route.last() : route.first();
    assertThat(machine.linkKind(port)).isEqualTo(LinkKind.HBM_PORT);
    assertThat(fabric.bytesOn(port)).isEqualTo(2L * bytes);
    long chunk = machine.fabric().chunkBytes();
    long ps = 0;
    for (long left = bytes; left > 0; left -= chunk) {
      ps += machine.link(port).rate().durationPs(Math.min(left, chunk));
    }
    assertThat(fabric.busyPs(port)).isEqualTo(2 * ps);
  }
}
