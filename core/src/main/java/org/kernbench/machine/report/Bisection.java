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
 * @param links links that leave the first half and work
 * @param bytesPerSecond what can cross it at once in one direction, in that with less
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

  /** The packages in the first half of a dimension and the others. */
  private static Bisection acrossDimension(Machine machine, int d) {
    int half = machine.dimensions().get(d).size() / 2;
    Crossing crossing = new Crossing();
    for (int id = 0; id < machine.linkCount(); id++) {
      if (machine.linkKind(id) == LinkKind.SIP_TO_SIP
          && machine.dimensionOf(id) == d
          && !machine.isDead(id)) {
        crossing.add(
            sideOf(machine, d, half, machine.homeOf(machine.linkFrom(id))),
            sideOf(machine, d, half, machine.homeOf(machine.linkTo(id))),
            machine.specOf(id).rate().bytesPerSecond());
      }
    }
    return crossing.cut("sips, across dimension " + d, false);
  }

  private static Side sideOf(Machine machine, int d, int half, int home) {
    return home >= machine.sips()
        ? Side.SWITCH
        : machine.place(home, d) < half ? Side.FIRST : Side.SECOND;
  }

  private static Bisection cut(Machine machine, String name, LinkKind kind, boolean alongX) {
    Crossing crossing = new Crossing();
    for (int id = 0; id < machine.linkCount(); id++) {
      if (machine.linkKind(id) == kind && !machine.isDead(id)) {
        Link link = machine.link(id);
        Node from = machine.node(link.fromNode());
        if (kind == LinkKind.SIP_TO_SIP || from.sip() == 0) {
          crossing.add(
              sideOf(machine, from, kind, alongX),
              sideOf(machine, machine.node(link.toNode()), kind, alongX),
              machine.specOf(id).rate().bytesPerSecond());
        }
      }
    }
    return crossing.cut(name, kind == LinkKind.CUBE_TO_CUBE);
  }

  /** Where a node is: in one half, in the other, or a switch between them. */
  private enum Side {
    FIRST,
    SECOND,
    SWITCH
  }

  /** What goes from side to side: from half to half at once, or into a switch and out of it. */
  private static final class Crossing {
    private final int[][] links = new int[Side.values().length][Side.values().length];
    private final double[][] rates = new double[Side.values().length][Side.values().length];

    void add(Side from, Side to, double rate) {
      links[from.ordinal()][to.ordinal()]++;
      rates[from.ordinal()][to.ordinal()] += rate;
    }

    private double rate(Side from, Side to) {
      int sw = Side.SWITCH.ordinal();
      int a = from.ordinal();
      int b = to.ordinal();
      return rates[a][b] + Math.min(rates[a][sw], rates[sw][b]);
    }

    Bisection cut(String name, boolean ofSip) {
      int first = Side.FIRST.ordinal();
      return new Bisection(
          name,
          ofSip,
          links[first][Side.SECOND.ordinal()] + links[first][Side.SWITCH.ordinal()],
          Math.min(rate(Side.FIRST, Side.SECOND), rate(Side.SECOND, Side.FIRST)));
    }
  }

  private static Side sideOf(Machine machine, Node node, LinkKind kind, boolean alongX) {
    return node.kind() == NodeKind.SWITCH
        ? Side.SWITCH
        : isFirstHalf(machine, node, kind, alongX) ? Side.FIRST : Side.SECOND;
  }

  private static boolean isFirstHalf(Machine machine, Node node, LinkKind kind, boolean alongX) {
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
