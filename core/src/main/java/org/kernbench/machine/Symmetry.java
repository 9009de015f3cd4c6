package org.kernbench.machine;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.DimensionKind;
import org.kernbench.machine.spec.NodesSpec;
import org.kernbench.machine.spec.SipTopology;

/**
 * The shifts of a machine: renamings of packages that leave everything else as it was. There is one
 * for each package, the one that takes package 0 to it: round a ring, along both axes of a torus,
 * and by number where every package has the same links to all others.
 *
 * <p>A shift takes nodes to nodes of the same kind and place in their package, links to links of
 * the same rate and latency, and routes to routes ({@code SymmetryTest}).
 */
public final class Symmetry {
  private final Machine machine;
  private final PackageNetwork network;
  private final List<Dimension> dimensions;
  private final int linksOfPackage;
  private final int firstHostLink;
  private final int firstSipLink;

  Symmetry(Machine machine, PackageNetwork network, int linksOfPackage, int firstSipLink) {
    this.machine = machine;
    this.network = network;
    this.dimensions = machine.dimensions();
    this.linksOfPackage = linksOfPackage;
    this.firstHostLink = machine.sips() * linksOfPackage;
    this.firstSipLink = firstSipLink;
  }

  /**
   * Why packages of a machine are not all alike, and what would make them so; empty if they are.
   */
  public static Optional<String> obstacle(Machine machine) {
    if (machine.sips() < 2) {
      return Optional.of("the machine has one package, which stands for no other");
    }
    if (machine.hasUnequalSipLinks()) {
      return Optional.of(
          "system.sips.links makes links different (%s); leave it out to fold"
              .formatted(machine.unequalSipLinks().getFirst()));
    }
    if (!machine.slowPackages().isEmpty()) {
      return Optional.of(
          "system.sips.slow makes packages different (%s); leave it out to fold"
              .formatted(machine.slowPackages().getFirst()));
    }
    int sharing = machine.nodes().map(NodesSpec::sharing).orElse(1);
    if (sharing > 1) {
      return Optional.of(
          "%s packages share a NIC in system.nodes; use nics: %s to fold"
              .formatted(sharing, machine.nodes().orElseThrow().packages()));
    }
    SipTopology topology = machine.sipTopology();
    if (topology == SipTopology.NETWORK) {
      return machine.dimensions().stream().allMatch(Dimension::isAlike)
          ? Optional.empty()
          : Optional.of(
              """
              packages at the ends of a mesh in system.network have fewer links; use kind: ring \
              to fold\
              """);
    }
    if (topology == SipTopology.MESH_2D_NO_WRAP) {
      return Optional.of(
          "packages at the edge of a mesh_2d_no_wrap have fewer links; use torus_2d to fold");
    }
    boolean ofTwo = machine.sipGridWidth() == 2 || machine.sipGridHeight() == 2;
    if (ofTwo && (topology.isGrid() || topology == SipTopology.RING_1D)) {
      return Optional.of(
          """
          on an axis of 2 packages one has its link on E or S, the other on W or N; use an axis \
          of 1, 3 or more to fold\
          """);
    }
    return Optional.empty();
  }

  /** For example {@code shifts of ring_1d}. */
  public String name() {
    return "shifts of " + machine.sipTopology().name().toLowerCase(Locale.ROOT);
  }

  /** How many shifts there are, the one that changes nothing among them: one for each package. */
  public int order() {
    return machine.sips();
  }

  /**
   * Where a package comes to.
   *
   * @param by the package that package 0 comes to
   */
  public int shiftedSip(int sip, int by) {
    if (machine.sipTopology() == SipTopology.NETWORK) {
      int shifted = 0;
      int stride = 1;
      for (Dimension each : dimensions) {
        int place = (sip / stride % each.size() + by / stride % each.size()) % each.size();
        shifted += place * stride;
        stride *= each.size();
      }
      return shifted;
    }
    if (!machine.sipTopology().isGrid()) {
      int sum = sip + by;
      return sum >= machine.sips() ? sum - machine.sips() : sum;
    }
    int width = machine.sipGridWidth();
    int x = (sip % width + by % width) % width;
    int y = (sip / width + by / width) % machine.sipGridHeight();
    return y * width + x;
  }

  /** Where a PE comes to. */
  public Pe shifted(Pe pe, int by) {
    return new Pe(shiftedSip(pe.sip(), by), pe.cube(), pe.pe());
  }

  /** Where a link comes to, by its id. */
  public int shiftedLink(int link, int by) {
    if (link < firstHostLink) {
      return shiftedSip(link / linksOfPackage, by) * linksOfPackage + link % linksOfPackage;
    }
    if (link < firstSipLink) {
      int local = link - firstHostLink;
      return firstHostLink + shiftedSip(local / 2, by) * 2 + local % 2;
    }
    return firstSipLink + network.shifted(link - firstSipLink, sip -> shiftedSip(sip, by));
  }

  /** The shift that takes a package to package 0. */
  public int backFrom(int sip) {
    return machine.displacement(sip, 0);
  }

  /** The link of package 0 that some shift takes to this one. */
  public int representative(int link) {
    return shiftedLink(link, backFrom(machine.packageOfLink(link)));
  }

  /** Links of package 0, those to and from the host and to others included. */
  public int classes() {
    return linksOfPackage + 2 + network.links() / machine.sips();
  }

  /** The number of a link among {@link #classes}, the same for all that shifts take to it. */
  public int classOf(int link) {
    if (link < firstHostLink) {
      return link % linksOfPackage;
    }
    if (link < firstSipLink) {
      return linksOfPackage + (link - firstHostLink) % 2;
    }
    return linksOfPackage + 2 + network.numberOfOwn(representative(link) - firstSipLink);
  }

  /**
   * The link of a class to which package 0 lies as said.
   *
   * @param seat {@link Machine#seat} of package 0 as seen from the link's package
   */
  public int linkOf(int linkClass, int seat) {
    int own = machine.seat(0, 0);
    return seat == own
        ? linkOf(linkClass)
        : shiftedLink(linkOf(linkClass), machine.displacement(seat, own));
  }

  /**
   * By class the class of the only link from which it can be entered, -1 without one: {@link
   * Machine#soleFeeders} of package 0, from the links at its own nodes alone.
   */
  public int[] soleFeeders() {
    Map<Integer, List<Integer>> into = new HashMap<>();
    for (int c = 0; c < classes(); c++) {
      int here = linkOf(c);
      into.computeIfAbsent(machine.linkTo(here), n -> new ArrayList<>()).add(here);
      if (machine.linkKind(here).isMemoryPort()) {
        into.computeIfAbsent(machine.linkFrom(here), n -> new ArrayList<>()).add(here);
      }
      int entered = machine.homeOf(machine.linkTo(here));
      if (entered != 0 && entered < machine.sips()) { // its image that comes in here
        int image = shiftedLink(here, backFrom(entered));
        into.computeIfAbsent(machine.linkTo(image), n -> new ArrayList<>()).add(image);
      }
    }
    for (int d = 0, stride = 1; d < dimensions.size(); stride *= dimensions.get(d).size(), d++) {
      Dimension each = dimensions.get(d);
      if (each.kind() == DimensionKind.SWITCH && each.size() > 1) {
        int toSwitch = firstSipLink + network.linkToSwitch(0, d);
        List<Integer> ups = into.computeIfAbsent(machine.linkTo(toSwitch), n -> new ArrayList<>());
        ups.add(shiftedLink(toSwitch, stride)); // a second stands for all others
        if (each.size() > 2) {
          ups.add(shiftedLink(toSwitch, 2 * stride));
        }
      }
    }
    Feeders links = new Feeders(machine);
    int[] feeders = new int[classes()];
    for (int c = 0; c < feeders.length; c++) {
      int id = linkOf(c);
      int found =
          machine.linkKind(id).isMemoryPort()
              ? -1
              : links.of(id, into.getOrDefault(machine.linkFrom(id), List.of()));
      feeders[c] = found < 0 ? -1 : classOf(found);
    }
    return feeders;
  }

  /** The link of package 0 in a class. */
  public int linkOf(int linkClass) {
    if (linkClass < linksOfPackage) {
      return linkClass;
    }
    int beyond = linkClass - linksOfPackage;
    return beyond < 2 ? firstHostLink + beyond : firstSipLink + network.own(beyond - 2);
  }
}
