package org.kernbench.nn.kernels;

import java.util.HashMap;
import java.util.Map;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.torch.placement.Mesh;

/**
 * What it costs to bring {@link Copies} to the places along one axis of the grid of cubes, from the
 * routes and links of the machine: the time of the link that carries most, for each byte of a
 * share; and for copies that are handed on the way of a block there and back in each step, for
 * which nothing else is under way.
 *
 * @param directPs if each cube fetches every share from where it lies, ps for each byte
 * @param handedOnPs if it fetches them from its neighbours, ps for each byte
 * @param stepsPs of the steps, whatever the bytes
 * @param oncePs of one step
 */
record CopyCost(double directPs, double handedOnPs, long stepsPs, long oncePs) {
  /** Bytes of which the time is taken, for it is in whole picoseconds. */
  private static final long UNIT = 1 << 20;

  /** Whether copies are better handed on. */
  boolean handsOn(long shareBytes) {
    return stepsPs + handedOnPs * shareBytes < directPs * shareBytes;
  }

  /** The costs along an axis of a mesh, 0 or 1. */
  static CopyCost of(Machine machine, Mesh mesh, int axis) {
    int copies = mesh.axes().get(axis).size();
    Links all = new Links(machine);
    double handedOn = 0;
    long steps = 0;
    long once = 0;
    for (int step = 1; step < copies; step++) {
      Links links = new Links(machine);
      for (Pe pe : mesh.pes()) {
        int at = mesh.coordinate(mesh.placeOf(pe)).get(axis);
        for (int side = -1; side <= 1; side += 2) {
          int share = at + side * step;
          if (share >= 0 && share < copies) {
            links.carry(moved(mesh, pe, axis, side), pe);
            all.carry(moved(mesh, pe, axis, side * step), pe);
          }
        }
      }
      handedOn += links.mostPs();
      steps += links.longestPs;
      once = Math.max(once, links.longestPs);
    }
    return new CopyCost(all.mostPs(), handedOn, steps, once);
  }

  private static Pe moved(Mesh mesh, Pe pe, int axis, int by) {
    int wide = mesh.axes().get(1).size();
    int cubes = by * (axis == 0 ? wide : 1);
    return new Pe(pe.sip(), pe.cube() + cubes, pe.pe());
  }

  /** What the links carry if every PE has one byte to fetch from another. */
  private static final class Links {
    private final Machine machine;
    private final Map<Integer, Double> psOf = new HashMap<>();
    private long longestPs;

    Links(Machine machine) {
      this.machine = machine;
    }

    void carry(Pe from, Pe to) {
      Route route = machine.route(machine.hbmNode(from), machine.peNode(to));
      Route store = machine.route(machine.peNode(to), machine.hbmNode(to));
      for (int link : route.links()) {
        add(link);
      }
      for (int link : store.links()) {
        add(link);
      }
      long both = 2 * machine.pe().dma().setupPs() + route.latencyPs() + store.latencyPs();
      longestPs = Math.max(longestPs, both);
    }

    private void add(int link) {
      psOf.merge(link, machine.specOf(link).durationPs(UNIT) / (double) UNIT, Double::sum);
    }

    double mostPs() {
      return psOf.values().stream().mapToDouble(ps -> ps).max().orElse(0);
    }
  }
}
