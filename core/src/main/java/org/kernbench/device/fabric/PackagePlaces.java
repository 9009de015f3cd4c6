package org.kernbench.device.fabric;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.sim.Places;

/**
 * Packages as places of the simulation: what happens in one reaches another over a link between
 * them, and no sooner than that link's latency. A link belongs to the package where it begins (one
 * whose times follow from those of the link before is worked out there); what is in no package is
 * one more place. The links of the host are left out: no program uses them.
 */
public final class PackagePlaces {
  public final Places places;

  /** By link id. */
  final int[] ofLink;

  /** Of all packages of a machine. */
  public PackagePlaces(Machine machine) {
    int count = machine.sips() + 1;
    ofLink = new int[machine.linkCount()];
    Map<Long, Long> latencies = new HashMap<>();
    for (int id = 0; id < ofLink.length; id++) {
      int from = machine.packageOf(machine.linkFrom(id));
      int to = machine.packageOf(machine.linkTo(id));
      ofLink[id] = from;
      if (from != to && machine.linkKind(id) != LinkKind.HOST_LINK) {
        latencies.merge((long) from * count + to, machine.specOf(id).latencyPs(), Math::min);
      }
    }
    long[] arcs = latencies.keySet().stream().mapToLong(Long::longValue).sorted().toArray();
    places =
        Places.of(
            count,
            Arrays.stream(arcs).mapToInt(arc -> (int) (arc / count)).toArray(),
            Arrays.stream(arcs).mapToInt(arc -> (int) (arc % count)).toArray(),
            Arrays.stream(arcs).map(latencies::get).toArray());
  }
}
