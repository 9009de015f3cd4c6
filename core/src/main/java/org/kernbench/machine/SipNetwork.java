package org.kernbench.machine;

import java.util.Arrays;

/**
 * Links between packages, and the way over them.
 *
 * <p>Grids go along x first, then y. Rings and wrapped axes take the shorter way round, on a tie
 * the positive one (E, S). In a fully connected network the link to the package {@code k + 1}
 * further on leaves on side {@code k mod 4} of E, W, N, S. In a switch network every package has
 * one link on E.
 */
final class SipNetwork {
  private static final Side[] PEER_SIDES = {Side.E, Side.W, Side.N, Side.S};
  private static final int NONE = -1;

  private final SipTopology topology;
  private final int sips;
  private final int width;
  private final int height;
  private final boolean wrapX;
  private final boolean wrapY;
  private final int links;

  /** By package and side: the link that leaves there, for rings and grids. */
  private final int[] portLink;

  /** By link: package times 4 plus side it leaves from, for rings and grids. */
  private int[] linkPort = new int[0];

  SipNetwork(MachineConfig.SystemConfig system) {
    topology = system.topology();
    sips = system.sips();
    boolean ring = topology == SipTopology.RING_1D;
    width = ring ? sips : topology.isGrid() ? system.gridWidth() : 1;
    height = topology.isGrid() ? system.gridHeight() : 1;
    boolean wraps = ring || topology == SipTopology.TORUS_2D;
    wrapX = wraps && isClosed(width, system.wrapPairs());
    wrapY = wraps && isClosed(height, system.wrapPairs());
    boolean ports = ring || topology.isGrid();
    portLink = ports ? new int[sips * 4] : new int[0];
    Arrays.fill(portLink, NONE);
    links =
        switch (topology) {
          case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> numberPorts();
          case FULLY_CONNECTED -> sips * (sips - 1);
          case SWITCH -> 2 * sips;
        };
  }

  private static boolean isClosed(int size, WrapPairs pairs) {
    return size > 2 || (size == 2 && pairs == WrapPairs.DOUBLE);
  }

  private int numberPorts() {
    linkPort = new int[sips * 4];
    int count = 0;
    for (int sip = 0; sip < sips; sip++) {
      for (Side side : SipTemplate.SIDES) {
        if (neighbour(sip, side) != NONE) {
          linkPort[count] = sip * 4 + side.ordinal();
          portLink[sip * 4 + side.ordinal()] = count++;
        }
      }
    }
    return count;
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

  int links() {
    return links;
  }

  int width() {
    return width;
  }

  int height() {
    return height;
  }

  boolean hasSwitch() {
    return topology == SipTopology.SWITCH;
  }

  /** The side on which the way from one package to another leaves the first. */
  Side exitSide(int from, int to) {
    return switch (topology) {
      case SWITCH -> Side.E;
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
  int nextSip(int from, int to) {
    return portLink.length == 0 ? to : neighbour(from, exitSide(from, to));
  }

  /** The side on which the next package is entered. */
  Side entrySide(int from, int to) {
    return switch (topology) {
      case SWITCH -> Side.E;
      case FULLY_CONNECTED -> exitSide(to, from);
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> exitSide(from, to).opposite();
    };
  }

  /** The link to the next package; in a switch network the one to the switch. */
  int nextLink(int from, int to) {
    return switch (topology) {
      case SWITCH -> 2 * from;
      case FULLY_CONNECTED -> from * (sips - 1) + (to < from ? to : to - 1);
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> portLink[from * 4 + exitSide(from, to).ordinal()];
    };
  }

  /** The link from the switch to a package. */
  int switchLink(int to) {
    return 2 * to + 1;
  }

  /** The package a link leaves; -1 for the switch. */
  int fromSip(int link) {
    return switch (topology) {
      case SWITCH -> link % 2 == 0 ? link / 2 : NONE;
      case FULLY_CONNECTED -> link / (sips - 1);
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> linkPort[link] / 4;
    };
  }

  /** The package a link enters; -1 for the switch. */
  int toSip(int link) {
    return switch (topology) {
      case SWITCH -> link % 2 == 1 ? link / 2 : NONE;
      case FULLY_CONNECTED -> {
        int peer = link % (sips - 1);
        yield peer < fromSip(link) ? peer : peer + 1;
      }
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> neighbour(linkPort[link] / 4, fromSide(link));
    };
  }

  boolean wrapsAlongX() {
    return wrapX;
  }

  boolean wrapsAlongY() {
    return wrapY;
  }

  /** Whether a link of a ring or grid leads along x. */
  boolean isAlongX(int link) {
    if (linkPort.length == 0) {
      return true;
    }
    Side side = fromSide(link);
    return side == Side.E || side == Side.W;
  }

  /** Whether a link closes a ring or an axis. */
  boolean isWrap(int link) {
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
  Side fromSide(int link) {
    return switch (topology) {
      case SWITCH -> Side.E;
      case FULLY_CONNECTED -> exitSide(fromSip(link), toSip(link));
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> SipTemplate.SIDES[linkPort[link] % 4];
    };
  }

  /** The side on which a link enters a package. */
  Side toSide(int link) {
    return switch (topology) {
      case SWITCH -> Side.E;
      case FULLY_CONNECTED -> exitSide(toSip(link), fromSip(link));
      case RING_1D, TORUS_2D, MESH_2D_NO_WRAP -> fromSide(link).opposite();
    };
  }
}
