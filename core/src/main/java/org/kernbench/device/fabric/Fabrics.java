package org.kernbench.device.fabric;

import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Symmetry;
import org.kernbench.sim.Simulation;

/** The sorts of {@link Interconnect}, and which of them a machine has. */
public final class Fabrics {
  private Fabrics() {}

  /**
   * The links of a machine: with finite buffers, and routers that are clocked, if it says so.
   *
   * @param folded the shifts by which packages are folded, null for none; never with buffers
   */
  public static Interconnect of(Simulation sim, Machine machine, @Nullable Symmetry folded) {
    if (machine.fabric().router().isPresent()) {
      return RouterFabric.of(sim, machine);
    }
    return machine.fabric().isBuffered()
        ? BufferedFabric.of(sim, machine)
        : Fabric.of(sim, machine, folded);
  }
}
