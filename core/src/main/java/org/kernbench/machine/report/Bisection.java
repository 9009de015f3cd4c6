package org.kernbench.machine.report;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.machine.Link;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Node;
import org.kernbench.machine.NodeKind;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.SipTopology;

/**
 * A cut through the middle of the cubes of a package or of the packages.
 *
 * @param name which cut
 * @param ofSip true for cubes inside a package
 * @param links links that cross it in one direction and work
 * @param bytesPerSecond what they carry together in that direction
 */
record Bisection(String name, boolean ofSip, int links, double bytesPerSecond) {

  /** The cuts across each axis that has more than one position, counted on the machine's links. */
  static List<Bisection> of(Machine machine) {
    List<Bisection> cuts = new ArrayList<>();
    if (machine.cubeMeshWidth() > 1) {
      cuts.add(cut(machine, "cubes, across x", LinkKind.CUBE_TO_CUBE, true));
    }
    if (machine.cubeMeshHeight() > 1) {
      cuts.add(cut(machine, "cubes, across y", LinkKind.CUBE_TO_CUBE, false));
    }
    if (machine.sipTopology() == SipTopology.NETWORK) {
      for (int d = 0; d < machine.dimensions().size(); d++) {
        cuts.add(acrossDimension(machine, d));
      }
      return cuts;
    }
    boolean grid = machine.sipTopology().isGrid();
    if (machine.sips() > 1 && (!grid || machine.sipGridWidth() > 1)) {
      cuts.add(cut(machine, grid ? "sips, across x" : "sips", LinkKind.SIP_TO_SIP, true));
    }
    if (grid && machine.sipGridHeight() > 1) {
      cuts.add(cut(machine, "sips, across y", LinkKind.SIP_TO_SIP, false));
    }
    return cuts;
  }

  /** The packages in the first half of a dimension from the others; a switch is with the others. */
  private static Bisection acrossDimension(Machine machine, int d) {
    int half = machine.dimensions().get(d).size() / 2;
    int links = 0;
    double rate = 0;
    for (int id = 0; id < machine.linkCount(); id++) {
      if (machine.linkKind(id) == LinkKind.SIP_TO_SIP
          && machine.dimensionOf(id) == d
          && !machine.isDead(id)) {
        int from = machine.homeOf(machine.linkFrom(id));
        int to = machine.homeOf(machine.linkTo(id));
        boolean leaves = from < machine.sips() && machine.place(from, d) < half;
        boolean stays = to < machine.sips() && machine.place(to, d) < half;
        if (leaves && !stays) {
          links++;
          rate += machine.specOf(id).rate().bytesPerSecond();
        }
      }
    }
    return new Bisection("sips, across dimension " + d, false, links, rate);
  }

  private static Bisection cut(Machine machine, String name, LinkKind kind, boolean alongX) {
    int links = 0;
    double rate = 0;
    for (int id = 0; id < machine.linkCount(); id++) {
      if (machine.linkKind(id) == kind && !machine.isDead(id)) {
        Link link = machine.link(id);
        Node from = machine.node(link.fromNode());
        Node to = machine.node(link.toNode());
        boolean counted = kind == LinkKind.SIP_TO_SIP || from.sip() == 0;
        if (counted
            && isFirstHalf(machine, from, kind, alongX)
            && !isFirstHalf(machine, to, kind, alongX)) {
          links++;
          rate += machine.specOf(id).rate().bytesPerSecond();
        }
      }
    }
    return new Bisection(name, kind == LinkKind.CUBE_TO_CUBE, links, rate);
  }

  /** The switch counts as being on the far side, so that each link to it is counted once. */
  private static boolean isFirstHalf(Machine machine, Node node, LinkKind kind, boolean alongX) {
    if (node.kind() == NodeKind.SWITCH) {
      return false;
    }
    if (kind == LinkKind.CUBE_TO_CUBE) {
      int width = machine.cubeMeshWidth();
      return alongX
          ? node.cube() % width < (width + 1) / 2
          : node.cube() / width < (machine.cubeMeshHeight() + 1) / 2;
    }
    if (!machine.sipTopology().isGrid()) {
      return node.sip() < machine.sips() / 2;
    }
    int width = machine.sipGridWidth();
    return alongX
        ? node.sip() % width < (width + 1) / 2
        : node.sip() / width < (machine.sipGridHeight() + 1) / 2;
  }
}
