package org.kernbench.ccl;

import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.machine.spec.PeSpec;
import org.kernbench.sim.ClockRate;
import org.kernbench.sim.Rate;

/**
 * What a message costs in the model of the closed forms: {@code o + s/B + L} until it is whole at
 * the far side, and the sender's channel for {@code max(o, s/B1)}. Only for choosing among
 * schedules; time itself comes from the simulation.
 *
 * @param latencyPs L: sum over the route
 * @param narrowest B: the slowest link of the route
 * @param injection B1: the first link, which all directions of a PE share
 * @param overheadPs o: channel time of a message besides its payload
 */
public record LinkCosts(long latencyPs, Rate narrowest, Rate injection, long overheadPs) {

  /** Those of a message from one PE to another. */
  public static LinkCosts between(Machine machine, Pe from, Pe to) {
    Route route = machine.route(from, to);
    return new LinkCosts(
        route.latencyPs(), route.narrowest(), route.injection(), route.overheadPs());
  }

  /** The slower and farther of the two, term by term. */
  public LinkCosts worse(LinkCosts other) {
    return new LinkCosts(
        Math.max(latencyPs, other.latencyPs),
        slower(narrowest, other.narrowest),
        slower(injection, other.injection),
        Math.max(overheadPs, other.overheadPs));
  }

  private static Rate slower(Rate a, Rate b) {
    return a.bytesPerSecond() <= b.bytesPerSecond() ? a : b;
  }

  /** Time between two messages of this size on one link. */
  long occupancyPs(long bytes) {
    return overheadPs + narrowest.durationPs(bytes);
  }

  /** Rate of the slowest link of the route. */
  public double bytesPerSecond() {
    return narrowest.bytesPerSecond();
  }

  /** From the start of a message until it is whole at the far side. */
  public long messagePs(long bytes) {
    return occupancyPs(bytes) + latencyPs;
  }

  /** The rank's PE whose engines are the slowest. */
  public static PeSpec slowestPe(Group group) {
    PeSpec slowest = group.machine().pe();
    if (group.machine().slowPackages().isEmpty()) {
      return slowest;
    }
    for (Pe lead : group.leads()) {
      PeSpec pe = group.machine().pe(lead.sip());
      if (pe.math().clockHz() < slowest.math().clockHz()) {
        slowest = pe;
      }
    }
    return slowest;
  }

  /** What adding one vector of this size costs a PE, without waiting. */
  public static long additionPs(PeSpec pe, long bytes) {
    var math = pe.math();
    long cycles = math.startupCycles() + Math.ceilDiv(bytes, math.lanesBytesPerCycle());
    long compute = ClockRate.ofHz(math.clockHz()).durationPs(cycles);
    return math.operandRate().isPresent()
        ? Math.max(compute, math.operandRate().get().durationPs(3 * bytes))
        : compute;
  }
}
