package org.kernbench.machine;

import java.util.List;
import java.util.function.IntUnaryOperator;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.LinkSpec;

/**
 * Links between packages, and the way over them. Links are numbered from 0, and so are relays: the
 * switches between packages, and NICs. A link joins two packages, a package and a relay, or two
 * relays.
 */
sealed interface PackageNetwork permits SipNetwork, LevelNetwork, NodeNetwork {
  /** No package, relay or link. */
  int NONE = -1;

  /** The network that a configuration describes. */
  static PackageNetwork of(MachineConfig.SystemConfig system) {
    if (system.dimensions().isEmpty()) {
      return new SipNetwork(system);
    }
    return system.nodes().isEmpty()
        ? new LevelNetwork(system)
        : new NodeNetwork(system, system.nodes().orElseThrow());
  }

  /** How many links there are. */
  int links();

  /** Packages along x, for those who draw them. */
  int width();

  /** Packages along y. */
  int height();

  /** How many relays there are. */
  int relays();

  /** The name of a relay, such as {@code switch}. */
  String relayName(int relay);

  /** What a relay is. */
  default NodeKind relayKind(int relay) {
    return NodeKind.SWITCH;
  }

  /** The package that a relay belongs to, the first of several; {@link #NONE} for a switch. */
  default int homeOf(int relay) {
    return NONE;
  }

  /** The dimensions, innermost first. */
  List<Dimension> dimensions();

  /** Where a package is along a dimension. */
  int place(int sip, int dimension);

  /** Rate and latency of a link, given what they usually are. */
  LinkSpec spec(int link, LinkSpec usual);

  /** What a link joins. */
  default LinkKind kind(int link) {
    return LinkKind.SIP_TO_SIP;
  }

  /** What passes on a link before the first byte of each message enters it, ps. */
  default long messagePs(int link) {
    return 0;
  }

  /** Whether nothing can pass a link. */
  boolean isDead(int link);

  /** Whether a link is not as the others of its dimension. */
  boolean isUnequal(int link);

  /** Whether what passes a link goes on only when all of it is there. */
  boolean isStored(int link);

  /** Whether messages pass each other on a link. */
  boolean isUncontended(int link);

  /** The next package on the way. */
  int nextSip(int from, int to);

  /** The side on which the way from one package to another leaves the first. */
  Side exitSide(int from, int to);

  /** The side on which the next package is entered. */
  Side entrySide(int from, int to);

  /** The links to the next package, in order. */
  int[] hop(int from, int to);

  /**
   * The link from a package to a relay; {@link #NONE} without one.
   *
   * @param relay number of the relay
   */
  int linkToRelay(int sip, int relay);

  /** The link from a relay to a package; {@link #NONE} without one. */
  int linkFromRelay(int relay, int sip);

  /**
   * The links from a package to a relay, in order, over its NIC if there is one between; none if it
   * does not reach it so.
   */
  default int[] linksToRelay(int sip, int relay) {
    int link = linkToRelay(sip, relay);
    return link == NONE ? new int[0] : new int[] {link};
  }

  /** The links from a relay to a package, likewise. */
  default int[] linksFromRelay(int relay, int sip) {
    int link = linkFromRelay(relay, sip);
    return link == NONE ? new int[0] : new int[] {link};
  }

  /** The link to the switch of a dimension by which a package reaches it, over its NIC or not. */
  int linkToSwitch(int sip, int dimension);

  /** The package that a link leaves; {@link #NONE} for a relay. */
  int fromSip(int link);

  /** The package that a link enters; {@link #NONE} for a relay. */
  int toSip(int link);

  /** The relay that a link leaves, if it leaves no package. */
  int fromRelay(int link);

  /** The relay that a link enters, if it enters no package. */
  int toRelay(int link);

  /** The package that a link belongs to: the one it leaves or else enters, or that of a NIC. */
  default int owner(int link) {
    int from = fromSip(link);
    return from == NONE ? toSip(link) : from;
  }

  /** The side on which a link leaves a package. */
  Side fromSide(int link);

  /** The side on which a link enters a package. */
  Side toSide(int link);

  /** The link that leads from and to where a shift takes the ends of a link. */
  int shifted(int link, IntUnaryOperator shift);

  /**
   * The number of a link among those that belong to package 0: that leave it, or enter it from a
   * relay.
   */
  int numberOfOwn(int link);

  /** The link of package 0 with a number. */
  int own(int number);

  /** How many axes routes take one after the other, at least 1. */
  int axes();

  /** The axis that a link leads along. */
  int axisOf(int link);

  /** Packages along an axis. */
  int axisSize(int axis);

  /** Whether routes may go round an axis. */
  boolean wrapsAlong(int axis);

  /** Whether a link closes an axis. */
  boolean isWrap(int link);

  /** Says which package cannot be reached; empty if all can. */
  String unreachable();
}
