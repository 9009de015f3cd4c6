package org.kernbench.ccl.bounds;

import java.util.BitSet;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * Which links of a machine count for a group of ranks: those on a route between a rank's PE and a
 * PE or a memory, for kernels reach nothing in another way.
 */
final class UsedLinks {
  /** Ranks up to which the links of all routes are collected; beyond, all but the host's count. */
  private static final int ALL_ROUTES = 128;

  private static final long MOST_ROUTES = 1 << 16;

  private UsedLinks() {}

  /**
   * The links of all routes between ranks' PEs and what kernels reach; all but the host's where
   * that would take too long.
   *
   * @param leads by rank, their PEs
   * @param level the largest devices that no two ranks share
   */
  static BitSet of(Machine machine, List<Pe> leads, RankLevel level) {
    BitSet used = new BitSet(machine.linkCount());
    int[] places = leads.size() > ALL_ROUTES ? new int[0] : places(machine, leads, level);
    if (places.length == 0 || (long) leads.size() * places.length > MOST_ROUTES) {
      for (int link = 0; link < machine.linkCount(); link++) {
        used.set(link, machine.linkKind(link) != LinkKind.HOST_LINK);
      }
      return used;
    }
    int[] here = leads.stream().mapToInt(machine::peNode).toArray();
    BitSet gates = firstOfPackages(machine, here);
    gates.or(firstOfPackages(machine, places));
    for (int lead : here) {
      for (int there : places) {
        boolean within = machine.packageOf(lead) == machine.packageOf(there);
        if (there != lead && (within || gates.get(lead) || gates.get(there))) {
          mark(machine, lead, there, used);
          mark(machine, there, lead, used);
        }
      }
    }
    return used;
  }

  /**
   * The first of these nodes in each package. How a route leaves a package for another does not
   * depend on where it ends there, nor how it goes on from the gate of the last package on where it
   * began; so the links of all routes between two packages are those from and to the first.
   */
  private static BitSet firstOfPackages(Machine machine, int[] nodes) {
    BitSet packages = new BitSet();
    BitSet first = new BitSet();
    for (int node : nodes) {
      int sip = machine.packageOf(node);
      if (!packages.get(sip)) {
        packages.set(sip);
        first.set(node);
      }
    }
    return first;
  }

  private static void mark(Machine machine, int from, int to, BitSet used) {
    for (int link : machine.route(from, to).links()) {
      used.set(link);
    }
  }

  /**
   * Where bytes can come from and go to: the ranks, and one memory of every cube; where PEs of a
   * cube are different ranks, all memories of it.
   */
  static int[] places(Machine machine, List<Pe> leads, RankLevel level) {
    Set<Integer> places = new LinkedHashSet<>();
    Set<Integer> cubes = new HashSet<>();
    for (Pe lead : leads) {
      places.add(machine.peNode(lead));
      places.add(machine.hbmNode(lead));
      cubes.add(lead.sip() * machine.cubesPerSip() + lead.cube());
    }
    for (int cube = 0; cube < machine.sips() * machine.cubesPerSip(); cube++) {
      int sip = cube / machine.cubesPerSip();
      int at = cube % machine.cubesPerSip();
      boolean apart = level == RankLevel.PE && cubes.contains(cube);
      for (int pe = 0; pe < (apart ? machine.pesPerCube() : 1); pe++) {
        places.add(machine.hbmNode(new Pe(sip, at, pe)));
      }
      if (apart) {
        places.add(machine.sramNode(sip, at));
      }
    }
    return places.stream().mapToInt(p -> p).toArray();
  }
}
