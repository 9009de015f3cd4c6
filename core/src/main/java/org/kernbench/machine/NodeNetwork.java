package org.kernbench.machine;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.DimensionKind;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.LinkOverride;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.machine.spec.NodesSpec;

/**
 * Nodes of packages, joined by NICs: the first dimensions join the packages of a node, the others
 * the NICs of the same number in different nodes.
 *
 * <p>Both are a {@link LevelNetwork}: the one inside has a last dimension without links, in which
 * nodes differ; the one between has NICs for packages, and a first dimension without links, in
 * which the NICs of a node differ. A NIC is two relays, the NIC and its port, with one link each
 * way between them: all that its packages send to other nodes enters the one, what comes for them
 * the other, and what passes on to a third node goes by the port alone.
 *
 * <p>A way to another node goes inside its node until it is at a package that shares a NIC with
 * those at the place of its end, as a rule at once; then from NIC to NIC, and from there straight
 * to its end.
 *
 * <p>Links in order: those inside nodes; by package the link to its NIC and the one back; by NIC
 * the link to its port and the one back; those between ports. Relays likewise: switches inside,
 * NICs, ports, switches between.
 */
final class NodeNetwork implements PackageNetwork {
  private final NodesSpec nodes;
  private final List<Dimension> dimensions;
  private final int sips;
  private final int nics;
  private final LevelNetwork inside;
  private final LevelNetwork between;
  private final int firstAttach;
  private final int firstNic;
  private final int firstBetween;

  NodeNetwork(MachineConfig.SystemConfig system, NodesSpec nodes) {
    this.nodes = nodes;
    dimensions = system.dimensions();
    sips = system.sips();
    int count = sips / nodes.packages();
    nics = count * nodes.nics();
    List<Dimension> inner = new ArrayList<>(dimensions.subList(0, nodes.inside()));
    inner.add(Dimension.of(DimensionKind.RING, count, nodes.link()));
    List<Dimension> outer = new ArrayList<>();
    outer.add(Dimension.of(DimensionKind.RING, nodes.nics(), nodes.link()));
    outer.addAll(dimensions.subList(nodes.inside(), dimensions.size()));
    List<LinkOverride> here = new ArrayList<>();
    List<LinkOverride> there = new ArrayList<>();
    for (LinkOverride each : system.overrides()) {
      if (isInside(each)) {
        here.add(each);
      } else {
        there.add(each.between(between(each.from(), nodes), between(each.to(), nodes)));
      }
    }
    inside = new LevelNetwork(inner, inner.size() - 1, here);
    between = new LevelNetwork(outer, 0, there);
    firstAttach = inside.links();
    firstNic = firstAttach + 2 * sips;
    firstBetween = firstNic + 2 * nics;
  }

  // ---- packages and NICs ----

  private int nic(int sip) {
    return sip / nodes.packages() * nodes.nics() + sip % nodes.packages() / nodes.sharing();
  }

  /** The first package that uses a NIC. */
  private int firstOf(int nic) {
    return nic / nodes.nics() * nodes.packages() + nic % nodes.nics() * nodes.sharing();
  }

  private boolean isSameNode(int a, int b) {
    return a / nodes.packages() == b / nodes.packages();
  }

  /** The package at the place of another, in the node of a third. */
  private int inNodeOf(int sip, int place) {
    return sip - sip % nodes.packages() + place % nodes.packages();
  }

  /** Whether it speaks of links inside nodes. */
  private boolean isInside(LinkOverride each) {
    int d = each.switchDimension();
    return d >= 0 ? d < nodes.inside() : isSameNode(each.from(), each.to());
  }

  /** The end of a link between nodes, as the network between knows it. */
  private int between(int end, NodesSpec spec) {
    return end >= 0 ? nic(end) : LinkOverride.switchOf(-1 - end - spec.inside() + 1);
  }

  private int relayNic() {
    return inside.relays();
  }

  private int relayPort() {
    return relayNic() + nics;
  }

  private int relayBetween() {
    return relayPort() + nics;
  }

  /** The axis of the whole that an axis of the network between is. */
  private int axisBetween(int axis) {
    return nodes.inside() - 1 + axis;
  }

  /** The side on which packages have the link to their NIC: that of the first dimension beyond. */
  private Side nicSide() {
    return nodes.inside() % 2 == 0 ? Side.E : Side.S;
  }

  // ---- sizes and names ----

  @Override
  public int links() {
    return firstBetween + between.links();
  }

  @Override
  public int width() {
    return dimensions.getFirst().size();
  }

  @Override
  public int height() {
    return sips / width();
  }

  @Override
  public int relays() {
    return relayBetween() + between.relays();
  }

  @Override
  public NodeKind relayKind(int relay) {
    return relay >= relayNic() && relay < relayBetween() ? NodeKind.NIC : NodeKind.SWITCH;
  }

  @Override
  public String relayName(int relay) {
    if (relay < relayNic()) {
      return switchName(inside, relay, 0);
    }
    if (relay >= relayBetween()) {
      return switchName(between, relay - relayBetween(), nodes.inside() - 1);
    }
    boolean port = relay >= relayPort();
    int nic = relay - (port ? relayPort() : relayNic());
    String name = "node%s.nic%s".formatted(nic / nodes.nics(), nic % nodes.nics());
    return port ? name + ".port" : name;
  }

  private String switchName(LevelNetwork network, int relay, int before) {
    return LevelNetwork.switchName(
        dimensions, network.switchDimension(relay) + before, network.switchNumber(relay));
  }

  @Override
  public int homeOf(int relay) {
    if (relay < relayNic() || relay >= relayBetween()) {
      return NONE;
    }
    return firstOf(relay - (relay < relayPort() ? relayNic() : relayPort()));
  }

  @Override
  public List<Dimension> dimensions() {
    return dimensions;
  }

  @Override
  public int place(int sip, int dimension) {
    int rest = sip;
    for (int d = 0; d < dimension; d++) {
      rest /= dimensions.get(d).size();
    }
    return rest % dimensions.get(dimension).size();
  }

  // ---- what links are ----

  @Override
  public LinkKind kind(int link) {
    return link < firstAttach || link >= firstBetween
        ? LinkKind.SIP_TO_SIP
        : link < firstNic ? LinkKind.SIP_TO_NIC : LinkKind.NIC;
  }

  @Override
  public LinkSpec spec(int link, LinkSpec usual) {
    if (link < firstAttach) {
      return inside.spec(link, usual);
    }
    return link < firstNic
        ? nodes.link()
        : link < firstBetween ? nodes.nic() : between.spec(link - firstBetween, usual);
  }

  @Override
  public long messagePs(int link) {
    boolean sends = link >= firstNic && link < firstBetween && (link - firstNic) % 2 == 0;
    return sends ? nodes.messageOverheadPs() : 0;
  }

  @Override
  public boolean isDead(int link) {
    return link < firstAttach
        ? inside.isDead(link)
        : link >= firstBetween && between.isDead(link - firstBetween);
  }

  @Override
  public boolean isUnequal(int link) {
    return link < firstAttach
        ? inside.isUnequal(link)
        : link >= firstBetween && between.isUnequal(link - firstBetween);
  }

  @Override
  public boolean isStored(int link) {
    return link < firstAttach
        ? inside.isStored(link)
        : link >= firstBetween && between.isStored(link - firstBetween);
  }

  @Override
  public boolean isUncontended(int link) {
    return link < firstAttach
        ? inside.isUncontended(link)
        : link >= firstBetween && between.isUncontended(link - firstBetween);
  }

  // ---- the way ----

  @Override
  public int nextSip(int from, int to) {
    if (isSameNode(from, to)) {
      return inside.nextSip(from, to);
    }
    int place = inNodeOf(from, to);
    return nic(from) == nic(place) ? to : inside.nextSip(from, place);
  }

  @Override
  public int[] hop(int from, int to) {
    int next = nextSip(from, to);
    if (isSameNode(from, next)) {
      return inside.hop(from, next);
    }
    List<Integer> way = new ArrayList<>(List.of(toNic(from), toPort(nic(from))));
    for (int at = nic(from), end = nic(next); at != end; at = between.nextSip(at, end)) {
      for (int link : between.hop(at, end)) {
        way.add(firstBetween + link);
      }
    }
    way.add(toPort(nic(next)) + 1);
    way.add(toNic(next) + 1);
    return way.stream().mapToInt(Integer::intValue).toArray();
  }

  private int toNic(int sip) {
    return firstAttach + 2 * sip;
  }

  private int toPort(int nic) {
    return firstNic + 2 * nic;
  }

  @Override
  public Side exitSide(int from, int to) {
    int next = nextSip(from, to);
    return isSameNode(from, next) ? inside.exitSide(from, next) : nicSide();
  }

  @Override
  public Side entrySide(int from, int to) {
    int next = nextSip(from, to);
    return isSameNode(from, next) ? inside.entrySide(from, next) : nicSide();
  }

  @Override
  public int linkToRelay(int sip, int relay) {
    if (relay < relayNic()) {
      return inside.linkToRelay(sip, relay);
    }
    return relay < relayPort() && nic(sip) == relay - relayNic() ? toNic(sip) : NONE;
  }

  @Override
  public int linkFromRelay(int relay, int sip) {
    if (relay < relayNic()) {
      return inside.linkFromRelay(relay, sip);
    }
    int to = linkToRelay(sip, relay);
    return to == NONE ? NONE : to + 1;
  }

  @Override
  public int[] linksToRelay(int sip, int relay) {
    int first = relayBetween();
    int link = relay < first ? NONE : between.linkToRelay(nic(sip), relay - first);
    return link == NONE
        ? PackageNetwork.super.linksToRelay(sip, relay)
        : new int[] {toNic(sip), toPort(nic(sip)), firstBetween + link};
  }

  @Override
  public int[] linksFromRelay(int relay, int sip) {
    int[] there = linksToRelay(sip, relay);
    int[] back = new int[there.length];
    for (int i = 0; i < back.length; i++) {
      back[i] = there[back.length - 1 - i] + 1;
    }
    return back;
  }

  @Override
  public int linkToSwitch(int sip, int dimension) {
    return dimension < nodes.inside()
        ? inside.linkToSwitch(sip, dimension)
        : firstBetween + between.linkToSwitch(nic(sip), dimension - nodes.inside() + 1);
  }

  // ---- ends of links ----

  private boolean isAttach(int link) {
    return link >= firstAttach && link < firstNic;
  }

  @Override
  public int fromSip(int link) {
    if (link < firstAttach) {
      return inside.fromSip(link);
    }
    return isAttach(link) && (link - firstAttach) % 2 == 0 ? (link - firstAttach) / 2 : NONE;
  }

  @Override
  public int toSip(int link) {
    if (link < firstAttach) {
      return inside.toSip(link);
    }
    return isAttach(link) && (link - firstAttach) % 2 == 1 ? (link - firstAttach) / 2 : NONE;
  }

  @Override
  public int fromRelay(int link) {
    return relay(link, true);
  }

  @Override
  public int toRelay(int link) {
    return relay(link, false);
  }

  /** The relay at one end; {@link #NONE} if a package is there. */
  private int relay(int link, boolean from) {
    if (link < firstAttach) {
      return (from ? inside.fromSip(link) : inside.toSip(link)) == NONE
          ? inside.fromRelay(link)
          : NONE;
    }
    boolean out = (link - firstAttach) % 2 == 0;
    if (isAttach(link)) {
      return out == from ? NONE : relayNic() + nic((link - firstAttach) / 2);
    }
    if (link < firstBetween) {
      return (out == from ? relayNic() : relayPort()) + (link - firstNic) / 2;
    }
    int other = link - firstBetween;
    int port = from ? between.fromSip(other) : between.toSip(other);
    return port == NONE ? relayBetween() + between.fromRelay(other) : relayPort() + port;
  }

  @Override
  public int owner(int link) {
    if (link < firstAttach) {
      return inside.owner(link);
    }
    if (isAttach(link)) {
      return (link - firstAttach) / 2;
    }
    return firstOf(
        link < firstBetween ? (link - firstNic) / 2 : between.owner(link - firstBetween));
  }

  @Override
  public Side fromSide(int link) {
    return link < firstAttach ? inside.fromSide(link) : nicSide();
  }

  @Override
  public Side toSide(int link) {
    return link < firstAttach ? inside.toSide(link) : nicSide();
  }

  // ---- shifts, where every package has a NIC of its own ----

  @Override
  public int shifted(int link, IntUnaryOperator shift) {
    if (link < firstAttach) {
      return inside.shifted(link, shift);
    }
    if (link < firstBetween) {
      int first = isAttach(link) ? firstAttach : firstNic;
      return first + 2 * shift.applyAsInt((link - first) / 2) + (link - first) % 2;
    }
    return firstBetween + between.shifted(link - firstBetween, shift);
  }

  @Override
  public int numberOfOwn(int link) {
    if (link < firstAttach) {
      return inside.numberOfOwn(link);
    }
    int inner = inside.links() / sips;
    if (link < firstBetween) {
      return isAttach(link) ? inner + link - firstAttach : inner + 2 + link - firstNic;
    }
    return inner + 4 + between.numberOfOwn(link - firstBetween);
  }

  @Override
  public int own(int number) {
    int beyond = number - inside.links() / sips;
    if (beyond < 0) {
      return inside.own(number);
    }
    return beyond < 2
        ? firstAttach + beyond
        : beyond < 4 ? firstNic + beyond - 2 : firstBetween + between.own(beyond - 4);
  }

  // ---- axes ----

  @Override
  public int axes() {
    return Math.max(2, dimensions.size());
  }

  /** A NIC belongs to the first dimension between nodes. */
  @Override
  public int axisOf(int link) {
    if (link < firstAttach) {
      return inside.axisOf(link);
    }
    return link < firstBetween ? nodes.inside() : axisBetween(between.axisOf(link - firstBetween));
  }

  @Override
  public int axisSize(int axis) {
    return axis < dimensions.size() ? dimensions.get(axis).size() : 1;
  }

  @Override
  public boolean wrapsAlong(int axis) {
    return axis < dimensions.size() && dimensions.get(axis).wraps();
  }

  @Override
  public boolean isWrap(int link) {
    return link < firstAttach
        ? inside.isWrap(link)
        : link >= firstBetween && between.isWrap(link - firstBetween);
  }

  // ---- what a configuration says of links ----

  /** Whether a link leads from one end to another. */
  boolean isLink(LinkOverride said) {
    return isInside(said)
        ? inside.isLink(said)
        : between.isLink(said.between(between(said.from(), nodes), between(said.to(), nodes)));
  }

  /** Links that there are, for messages. */
  String someLinks() {
    List<String> some = new ArrayList<>();
    inside.someEnds().forEach(ends -> some.add(text(ends[0], ends[1])));
    for (int[] ends : between.someEnds()) {
      int to = ends[1] >= 0 ? firstOf(ends[1]) : ends[1] - nodes.inside() + 1;
      some.add(text(firstOf(ends[0]), to));
    }
    return String.join(", ", some);
  }

  private static String text(int from, int to) {
    return LevelNetwork.exampleOf(from, to);
  }

  @Override
  public String unreachable() {
    String problem = inside.unreachable();
    if (!problem.isEmpty()) {
      return problem;
    }
    int[] pair = between.unreachablePair();
    return pair.length == 0 ? "" : LevelNetwork.unreachable(firstOf(pair[0]), firstOf(pair[1]));
  }
}
