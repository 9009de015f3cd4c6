package org.kernbench.machine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.kernbench.machine.spec.LinkKind;

/**
 * Two PEs that show one of a machine's distances.
 *
 * @param from first PE
 * @param to second PE
 * @param what how the second lies to the first
 */
public record Neighbours(Pe from, Pe to, String what) {

  /** Next PE in the cube, next cube, and next package from the facing edge; those that exist. */
  public static List<Neighbours> of(Machine machine) {
    List<Neighbours> result = new ArrayList<>();
    Pe first = new Pe(0, 0, 0);
    if (machine.pesPerCube() > 1) {
      result.add(new Neighbours(first, new Pe(0, 0, 1), "the next PE"));
    }
    if (machine.cubesPerSip() > 1) {
      result.add(new Neighbours(first, new Pe(0, 1, 0), "the next cube"));
    }
    if (machine.sips() > 1) {
      Neighbours next = nextSip(machine);
      result.add(isUsual(machine, next) ? next : overALink(machine));
    }
    return result;
  }

  private static Neighbours nextSip(Machine machine) {
    boolean alongX = machine.sipGridWidth() > 1 || !machine.sipTopology().isGrid();
    int edge =
        alongX
            ? machine.cubeMeshWidth() - 1
            : machine.cubeMeshWidth() * (machine.cubeMeshHeight() - 1);
    return new Neighbours(new Pe(0, edge, 0), new Pe(1, 0, 0), "the next sip");
  }

  /**
   * Whether the way between them is as it is between most neighbours: no link on it is unequal, and
   * it goes through no other package.
   */
  private static boolean isUsual(Machine machine, Neighbours pair) {
    if (!machine.hasUnequalSipLinks()) {
      return true;
    }
    int[] way = machine.route(machine.peNode(pair.from), machine.peNode(pair.to)).links();
    return Arrays.stream(way).noneMatch(machine::isUnequal)
        && Arrays.stream(way)
            .map(link -> machine.packageOf(machine.linkTo(link)))
            .filter(sip -> sip < machine.sips()) // no switch
            .allMatch(sip -> sip == pair.from.sip() || sip == pair.to.sip());
  }

  /** Over a link that is as most are, the one to the next package if it is; else one that works. */
  private static Neighbours overALink(Machine machine) {
    int found = -1;
    for (int id = 0; id < machine.linkCount(); id++) {
      if (machine.linkKind(id) == LinkKind.SIP_TO_SIP
          && !machine.isDead(id)
          && machine.packageOf(machine.linkFrom(id)) < machine.sips()
          && machine.packageOf(machine.linkTo(id)) < machine.sips()) {
        boolean better = found < 0 || rank(machine, id) < rank(machine, found);
        found = better ? id : found;
      }
    }
    if (found < 0) {
      return nextSip(machine); // through a switch
    }
    int from = machine.packageOf(machine.linkFrom(found));
    int to = machine.packageOf(machine.linkTo(found));
    Side side = Side.values()[machine.node(machine.linkFrom(found)).index()];
    String what =
        from == 0 && to == 1 ? "the next sip" : "the next sip (" + from + " to " + to + ")";
    return new Neighbours(
        new Pe(from, edge(machine, side), 0), new Pe(to, edge(machine, side.opposite()), 0), what);
  }

  /** Lower is a better example: like most links; from the first package to the second. */
  private static int rank(Machine machine, int id) {
    boolean usual = !machine.isUnequal(id);
    boolean next =
        machine.packageOf(machine.linkFrom(id)) == 0 && machine.packageOf(machine.linkTo(id)) == 1;
    return (usual ? 0 : 2) + (next ? 0 : 1);
  }

  /** A cube at a side of its package. */
  private static int edge(Machine machine, Side side) {
    return switch (side) {
      case E -> machine.cubeMeshWidth() - 1;
      case S -> machine.cubeMeshWidth() * (machine.cubeMeshHeight() - 1);
      case W, N -> 0;
    };
  }
}
