package org.kernbench.device;

import org.jspecify.annotations.Nullable;
import org.kernbench.machine.IssuePolicy;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.sim.Simulation;

/**
 * When packages may run ahead of each other, and the beginning and end of that (docs/adr/0065).
 *
 * <p>Nobody may be able to tell: nobody looks at data, which would have to be there; no rows are
 * kept, whose numbers follow the order of the simulator; and a command that waits for a credit
 * holds up none but its queue. Then all that passes between packages takes at least the latency of
 * the links between them: messages, credits, accesses and their replies.
 */
final class ApartRun {
  private static final int[] ALL_AT_ONE_PLACE = {};

  private final Machine machine;
  private final Simulation sim;
  private final Interconnect fabric;
  private final boolean allowed;

  /** Launches over fewer packages run together: their records stay in the cache anyway. */
  private final int fewestPackages;

  /** Made when a launch runs apart for the first time. */
  private @Nullable PackagePlaces packages;

  /** Of a machine that computes and records so much. */
  ApartRun(
      Machine machine,
      Mode mode,
      SimulatorOptions options,
      Simulation sim,
      Interconnect fabric,
      int fewestPackages) {
    this.machine = machine;
    this.sim = sim;
    this.fabric = fabric;
    this.fewestPackages = fewestPackages;
    this.allowed =
        mode == Mode.TIME
            && options.opLogLimit() == 0
            && options.findings().isEmpty()
            && machine.pe().cpu().issue() != IssuePolicy.SERIAL;
  }

  /** The only launch starts, whose end the host waits for: if it may, it runs apart. */
  void beginIfAllowed(Launch launch) {
    if (!allowed
        || !sim.isQuiet()
        || launch.pes().stream().mapToInt(Pe::sip).distinct().count() < fewestPackages) {
      return;
    }
    PackagePlaces p = packages;
    if (p == null) {
      p = new PackagePlaces(machine);
      packages = p;
    }
    if (fabric.runApart(p.ofLink)) {
      sim.runApart(p.places);
    }
  }

  /** The launch is done, at {@code timePs}: no event is left that matters. */
  void end(long timePs) {
    if (sim.isApart()) {
      sim.runTogether(timePs);
      fabric.runApart(ALL_AT_ONE_PLACE);
    }
  }

  /** The run has failed, if it has not ended: what is left happens on one clock. */
  void giveUp() {
    if (sim.isApart()) {
      sim.giveUpApart();
      fabric.runApart(ALL_AT_ONE_PLACE);
    }
  }
}
