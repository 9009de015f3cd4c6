package org.kernbench.machine;

import java.util.ArrayList;
import java.util.List;

/**
 * Two PEs that show one of a machine's distances.
 *
 * @param from first PE
 * @param to second PE
 * @param what how the second lies to the first
 */
record Neighbours(Pe from, Pe to, String what) {

  /** Next PE in the cube, next cube, and next package from the facing edge; those that exist. */
  static List<Neighbours> of(Machine machine) {
    List<Neighbours> result = new ArrayList<>();
    Pe first = new Pe(0, 0, 0);
    if (machine.pesPerCube() > 1) {
      result.add(new Neighbours(first, new Pe(0, 0, 1), "the next PE"));
    }
    if (machine.cubesPerSip() > 1) {
      result.add(new Neighbours(first, new Pe(0, 1, 0), "the next cube"));
    }
    if (machine.sips() > 1) {
      boolean alongX = machine.sipGridWidth() > 1 || !machine.sipTopology().isGrid();
      int edge =
          alongX
              ? machine.cubeMeshWidth() - 1
              : machine.cubeMeshWidth() * (machine.cubeMeshHeight() - 1);
      result.add(new Neighbours(new Pe(0, edge, 0), new Pe(1, 0, 0), "the next sip"));
    }
    return result;
  }
}
