package org.kernbench.machine;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.DimensionKind;
import org.kernbench.machine.spec.LinkOverride;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.machine.spec.SipTopology;
import org.kernbench.machine.spec.WrapPairs;

/**
 * Links between packages, and the way over them.
 *
 * <p>Grids go along x first, then y. Rings and wrapped axes take the shorter way round, on a tie
 * the positive one (E, S). In a fully connected network the link to the package {@code k + 1}
 * further on leaves on side {@code k mod 4} of E, W, N, S. In a switch network every package has
 * one link on E.
 */
final class SipNetwork implements PackageNetwork {
  private static final Side[] PEER_SIDES = {Side.E, Side.W, Side.N, Side.S};

  private final SipTopology topology;

  /** Rate and latency of links that are not different. */
  private final LinkSpec usual;

  private final long sumShare;
  private final int sips;
  private final int width;
  private final int height;
  private final boolean wrapX;
  private final boolean wrapY;

  /** Whether both links of an axis of size 2 lie side by side, as one of twice the rate. */
  private final boolean doubleX;

  private final boolean doubleY;
  private final int links;

  /**
   * By package and side: the link that leaves there, for rings and grids; where all packages have
   * links on the same sides, of package 0 alone.
   */
  private final int[] portLink;

  /** Whether all packages have links on the same sides, for rings and grids. */
  private final boolean isUniform;

  private final List<LinkOverride> overrides;

  /** By pair of packages the side of the first link, if some links are dead. */
  private final byte[] detours;

  /** By link: package times 4 plus side it leaves from, for rings and grids; see portLink. */
  private int[] linkPort = new int[0];

  /** Packages in these tables. */
  private final int tabled;

  /** Links that leave a package, where all have as many. */
  private int linksEach = 1;

  SipNetwork(MachineConfig.SystemConfig system) {
    usual = system.sipLink();
    sumShare = system.sumShareBillionths();
    topology = system.topology();
    sips = system.sips();
    boolean ring = topology == SipTopology.RING_1D;
    width = ring ? sips : topology.isGrid() ? system.gridWidth() : 1;
    height = topology.isGrid() ? system.gridHeight() : 1;
    boolean wraps = ring || topology == SipTopology.TORUS_2D;
    wrapX = wraps && width > 2;
    wrapY = wraps && height > 2;
    boolean pairs = wraps && system.wrapPairs() == WrapPairs.DOUBLE;
    doubleX = pairs && width == 2;
    doubleY = pairs && height == 2;
    boolean ports = ring || topology.isGrid();
    isUniform = ports && topology != SipTopology.MESH_2D_NO_WRAP && width != 2 && height != 2;
    tabled = isUniform ? 1 : sips;
    portLink = ports ? new int[tabled * 4] : new int[0];
    Arrays.fill(portLink, NONE);
    links =
        switch (topology) {
          case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> numberPorts();
          case FULLY_CONNECTED -> sips * (sips - 1);
          case SWITCH -> 2 * sips;
          case NETWORK -> throw unknown();
        };
    overrides = system.overrides();
    detours = overrides.stream().anyMatch(LinkOverride::dead) && ports ? detours() : new byte[0];
  }

  // ---- links that are not as the others ----

  /**
   * By pair of packages the side of the first link of a shortest way over the links that work; -1
   * without one. Where several are as short, the side that the way of the whole network would take
   * comes first, then E, S, W, N.
   */
  private byte[] detours() {
    byte[] sides = new byte[sips * sips];
    Arrays.fill(sides, (byte) NONE);
    int[] distance = new int[sips];
    int[] queue = new int[sips];
    for (int to = 0; to < sips; to++) {
      // Backwards from the target.
      Arrays.fill(distance, Integer.MAX_VALUE);
      distance[to] = 0;
      queue[0] = to;
      int end = 1;
      for (int i = 0; i < end; i++) {
        for (Side side : SipTemplate.SIDES) {
          int from = neighbour(queue[i], side.opposite());
          if (from != NONE && distance[from] == Integer.MAX_VALUE && works(from, side)) {
            distance[from] = distance[queue[i]] + 1;
            queue[end++] = from;
          }
        }
      }
      for (int from = 0; from < sips; from++) {
        if (from != to && distance[from] < Integer.MAX_VALUE) {
          sides[from * sips + to] = (byte) towards(from, to, distance).ordinal();
        }
      }
    }
    return sides;
  }

  private Side towards(int from, int to, int[] distance) {
    Side usual = usualSide(from, to);
    for (Side side : new Side[] {usual, Side.E, Side.S, Side.W, Side.N}) {
      int next = neighbour(from, side);
      if (next != NONE && works(from, side) && distance[next] == distance[from] - 1) {
        return side;
      }
    }
    throw new IllegalStateException("bug: no way from sip " + from + " to " + to);
  }

  private boolean works(int from, Side side) {
    int to = neighbour(from, side);
    return overrides.stream().noneMatch(o -> o.dead() && o.concerns(from, to));
  }

  /** Whether nothing can pass a link. */
  @Override
  public boolean isDead(int link) {
    int from = fromSip(link);
    int to = toSip(link);
    return overrides.stream().anyMatch(o -> o.dead() && o.concerns(from, to));
  }

  /** Whether a link is not as the others. */
  @Override
  public boolean isUnequal(int link) {
    int from = fromSip(link);
    int to = toSip(link);
    return overrides.stream().anyMatch(o -> o.concerns(from, to));
  }

  /** Whether a link leads from one package to another. */
  boolean isLink(int from, int to) {
    if (from >= sips || to >= sips || from == to) {
      return false;
    }
    return switch (topology) {
      case FULLY_CONNECTED -> true;
      case SWITCH, NETWORK -> false;
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP ->
          Arrays.stream(SipTemplate.SIDES).anyMatch(side -> neighbour(from, side) == to);
    };
  }

  /** A link that there is, for messages. */
  String someLink() {
    return links == 0 || topology == SipTopology.SWITCH
        ? "by a switch only"
        : "\"" + fromSip(0) + "-" + toSip(0) + " 50 GB/s\"";
  }

  boolean canGoRound() {
    return portLink.length > 0;
  }

  /** Says which package cannot be reached; empty if all can. */
  @Override
  public String unreachable() {
    for (int pair = 0; pair < detours.length; pair++) {
      int from = pair / sips;
      int to = pair % sips;
      if (from != to && detours[pair] == NONE) {
        return """
        with these links dead no way is left from sip %s to sip %s; leave one of them \
        alive, or make it slow instead, e.g. 1 GB/s\
        """
            .formatted(from, to);
      }
    }
    return "";
  }

  /** Rate and latency of a link, given what they usually are. */
  @Override
  public LinkSpec spec(int link, LinkSpec alike) {
    LinkSpec spec = isDouble(link) ? alike.doubled() : alike;
    for (LinkOverride each : overrides) {
      if (each.concerns(fromSip(link), toSip(link))) {
        spec = each.over(spec);
      }
    }
    return spec;
  }

  /** Whether a link is two that are used as one. */
  private boolean isDouble(int link) {
    return isAlongX(link) ? doubleX : doubleY;
  }

  private int numberPorts() {
    linkPort = new int[tabled * 4];
    int count = 0;
    for (int sip = 0; sip < tabled; sip++) {
      for (Side side : SipTemplate.SIDES) {
        if (neighbour(sip, side) != NONE) {
          linkPort[count] = sip * 4 + side.ordinal();
          portLink[sip * 4 + side.ordinal()] = count++;
        }
      }
    }
    linksEach = Math.max(1, count);
    return isUniform ? count * sips : count;
  }

  /** The link that leaves a package on a side, for rings and grids. */
  private int portLink(int sip, Side side) {
    return isUniform
        ? sip * linksEach + portLink[side.ordinal()]
        : portLink[sip * 4 + side.ordinal()];
  }

  /** The package that a link leaves, for rings and grids. */
  private int portSip(int link) {
    return isUniform ? link / linksEach : linkPort[link] / 4;
  }

  private Side portSide(int link) {
    return SipTemplate.SIDES[linkPort[isUniform ? link % linksEach : link] % 4];
  }

  private int neighbour(int sip, Side side) {
    int x = sip % width + side.dx();
    int y = sip / width + side.dy();
    if (wrapX) {
      x = Math.floorMod(x, width);
    }
    if (wrapY) {
      y = Math.floorMod(y, height);
    }
    boolean inside = x >= 0 && x < width && y >= 0 && y < height;
    return inside ? y * width + x : NONE;
  }

  @Override
  public int links() {
    return links;
  }

  @Override
  public int width() {
    return width;
  }

  @Override
  public int height() {
    return height;
  }

  @Override
  public int relays() {
    return topology == SipTopology.SWITCH ? 1 : 0;
  }

  @Override
  public String relayName(int relay) {
    return "switch";
  }

  @Override
  public List<Dimension> dimensions() {
    return switch (topology) {
      case RING_1D -> List.of(dimension(DimensionKind.RING, sips, doubleX));
      case TORUS_2D ->
          List.of(
              dimension(DimensionKind.RING, width, doubleX),
              dimension(DimensionKind.RING, height, doubleY));
      case MESH_2D_NO_WRAP ->
          List.of(
              dimension(DimensionKind.MESH, width, false),
              dimension(DimensionKind.MESH, height, false));
      case FULLY_CONNECTED -> List.of(dimension(DimensionKind.FULLY_CONNECTED, sips, false));
      case SWITCH -> List.of(dimension(DimensionKind.SWITCH, sips, false).summing(sumShare));
      case NETWORK -> throw unknown();
    };
  }

  private Dimension dimension(DimensionKind kind, int size, boolean isDouble) {
    return Dimension.of(kind, size, isDouble ? usual.doubled() : usual);
  }

  private static IllegalStateException unknown() {
    return new IllegalStateException("bug: networks of dimensions are described elsewhere");
  }

  @Override
  public int place(int sip, int dimension) {
    return !topology.isGrid() ? sip : dimension == 0 ? sip % width : sip / width;
  }

  @Override
  public boolean isStored(int link) {
    return false;
  }

  @Override
  public boolean isUncontended(int link) {
    return false;
  }

  @Override
  public int numberOfOwn(int link) {
    return link;
  }

  @Override
  public int own(int number) {
    return number;
  }

  @Override
  public int axes() {
    return 2;
  }

  @Override
  public int axisOf(int link) {
    return isAlongX(link) ? 0 : 1;
  }

  @Override
  public int axisSize(int axis) {
    return axis == 0 ? sips : height;
  }

  @Override
  public boolean wrapsAlong(int axis) {
    return axis == 0 ? wrapX : wrapY;
  }

  /** The side on which the way from one package to another leaves the first. */
  @Override
  public Side exitSide(int from, int to) {
    return detours.length > 0 ? SipTemplate.SIDES[detours[from * sips + to]] : usualSide(from, to);
  }

  /** The side on which a way leaves a package if all links work. */
  private Side usualSide(int from, int to) {
    return switch (topology) {
      case SWITCH -> Side.E;
      case NETWORK -> throw unknown();
      case FULLY_CONNECTED -> PEER_SIDES[Math.floorMod(to - from - 1, sips) % 4];
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> {
        int dx = to % width - from % width;
        if (dx != 0) {
          yield isPositive(dx, width, wrapX) ? Side.E : Side.W;
        }
        yield isPositive(to / width - from / width, height, wrapY) ? Side.S : Side.N;
      }
    };
  }

  private static boolean isPositive(int delta, int size, boolean wraps) {
    return wraps ? 2 * Math.floorMod(delta, size) <= size : delta > 0;
  }

  /** The next package on the way. */
  @Override
  public int nextSip(int from, int to) {
    return portLink.length == 0 ? to : neighbour(from, exitSide(from, to));
  }

  /** The side on which the next package is entered. */
  @Override
  public Side entrySide(int from, int to) {
    return switch (topology) {
      case SWITCH -> Side.E;
      case NETWORK -> throw unknown();
      case FULLY_CONNECTED -> exitSide(to, from);
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> exitSide(from, to).opposite();
    };
  }

  @Override
  public int[] hop(int from, int to) {
    return topology == SipTopology.SWITCH
        ? new int[] {2 * from, 2 * to + 1}
        : new int[] {nextLink(from, to)};
  }

  /** The link to the next package; in a switch network the one to the switch. */
  private int nextLink(int from, int to) {
    return switch (topology) {
      case SWITCH -> 2 * from;
      case NETWORK -> throw unknown();
      case FULLY_CONNECTED -> from * (sips - 1) + (to < from ? to : to - 1);
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> portLink(from, exitSide(from, to));
    };
  }

  @Override
  public int linkToRelay(int sip, int relay) {
    return 2 * sip;
  }

  @Override
  public int linkFromRelay(int relay, int sip) {
    return 2 * sip + 1;
  }

  @Override
  public int linkToSwitch(int sip, int dimension) {
    return linkToRelay(sip, 0);
  }

  @Override
  public int fromRelay(int link) {
    return relay();
  }

  @Override
  public int toRelay(int link) {
    return relay();
  }

  private int relay() {
    return topology == SipTopology.SWITCH ? 0 : NONE;
  }

  /** The package a link leaves; -1 for the switch. */
  @Override
  public int fromSip(int link) {
    return switch (topology) {
      case SWITCH -> link % 2 == 0 ? link / 2 : NONE;
      case NETWORK -> throw unknown();
      case FULLY_CONNECTED -> link / (sips - 1);
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> portSip(link);
    };
  }

  /** The package a link enters; -1 for the switch. */
  @Override
  public int toSip(int link) {
    return switch (topology) {
      case SWITCH -> link % 2 == 1 ? link / 2 : NONE;
      case NETWORK -> throw unknown();
      case FULLY_CONNECTED -> {
        int peer = link % (sips - 1);
        yield peer < fromSip(link) ? peer : peer + 1;
      }
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> neighbour(portSip(link), fromSide(link));
    };
  }

  /** The link that leads from and to where a shift takes the ends of a link. */
  @Override
  public int shifted(int link, IntUnaryOperator shift) {
    return switch (topology) {
      case SWITCH -> 2 * shift.applyAsInt(link / 2) + link % 2;
      case NETWORK -> throw unknown();
      case FULLY_CONNECTED ->
          nextLink(shift.applyAsInt(fromSip(link)), shift.applyAsInt(toSip(link)));
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP ->
          portLink(shift.applyAsInt(fromSip(link)), fromSide(link));
    };
  }

  /** Whether a link of a ring or grid leads along x. */
  private boolean isAlongX(int link) {
    if (linkPort.length == 0) {
      return true;
    }
    Side side = fromSide(link);
    return side == Side.E || side == Side.W;
  }

  /** Whether a link closes a ring or an axis. */
  @Override
  public boolean isWrap(int link) {
    if (linkPort.length == 0) {
      return false;
    }
    int from = fromSip(link);
    Side side = fromSide(link);
    int x = from % width + side.dx();
    int y = from / width + side.dy();
    return x < 0 || x >= width || y < 0 || y >= height;
  }

  /** The side on which a link leaves a package. */
  @Override
  public Side fromSide(int link) {
    return switch (topology) {
      case SWITCH -> Side.E;
      case NETWORK -> throw unknown();
      case FULLY_CONNECTED -> exitSide(fromSip(link), toSip(link));
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> portSide(link);
    };
  }

  /** The side on which a link enters a package. */
  @Override
  public Side toSide(int link) {
    return switch (topology) {
      case SWITCH -> Side.E;
      case NETWORK -> throw unknown();
      case FULLY_CONNECTED -> exitSide(toSip(link), fromSip(link));
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> fromSide(link).opposite();
    };
  }
}
