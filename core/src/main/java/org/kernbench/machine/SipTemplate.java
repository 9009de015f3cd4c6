package org.kernbench.machine;

import java.util.Arrays;
import org.kernbench.machine.spec.LinkKind;

/**
 * Nodes and links inside a package. All packages are alike, so this is built once, and node and
 * link ids of package {@code s} are the local ones plus {@code s} times {@link #nodes} or {@link
 * #links}.
 *
 * <p>Local nodes: for each cube its routers, PEs, HBM controllers, HBM slices, SRAM controller,
 * SRAM and M_CPU; then the IO chiplets N, E, S, W.
 */
final class SipTemplate {
  static final Side[] SIDES = Side.values();
  private static final LinkKind[] LINK_KINDS = LinkKind.values();

  final CubeLayout cube;
  final int cubesWidth;
  final int cubesHeight;
  final int nodesPerCube;
  final int nodes;
  final int links;

  private final int peBase;
  private final int hbmControllerBase;
  private final int hbmBase;
  private final int sramController;

  private int[] from = new int[256];
  private int[] to = new int[256];
  private byte[] kind = new byte[256];
  private int count;

  /**
   * Links by node: those of node {@code n} are {@code outLinks[outStart[n] .. outStart[n + 1])}.
   */
  private final int[] outStart;

  private final int[] outLinks;

  SipTemplate(CubeLayout cube, int cubesWidth, int cubesHeight) {
    this.cube = cube;
    this.cubesWidth = cubesWidth;
    this.cubesHeight = cubesHeight;
    peBase = cube.routers();
    hbmControllerBase = peBase + cube.pes;
    hbmBase = hbmControllerBase + cube.pes;
    sramController = hbmBase + cube.pes;
    nodesPerCube = sramController + 3;
    nodes = cubesWidth * cubesHeight * nodesPerCube + SIDES.length;
    for (int c = 0; c < cubesWidth * cubesHeight; c++) {
      addCube(c * nodesPerCube);
    }
    for (int c = 0; c < cubesWidth * cubesHeight; c++) {
      joinCube(c % cubesWidth, c / cubesWidth);
    }
    links = count;
    from = Arrays.copyOf(from, count);
    to = Arrays.copyOf(to, count);
    kind = Arrays.copyOf(kind, count);
    outStart = new int[nodes + 1];
    outLinks = indexLinks();
  }

  private void addCube(int base) {
    for (int y = 0; y < cube.height; y++) {
      for (int x = 0; x < cube.width; x++) {
        if (x + 1 < cube.width) {
          addPair(LinkKind.NOC, base + cube.router(x, y), base + cube.router(x + 1, y));
        }
        if (y + 1 < cube.height) {
          addPair(LinkKind.NOC, base + cube.router(x, y), base + cube.router(x, y + 1));
        }
      }
    }
    for (int pe = 0; pe < cube.pes; pe++) {
      int router = base + cube.peRouter(pe);
      add(LinkKind.PE_TO_ROUTER, base + peBase + pe, router);
      add(LinkKind.ROUTER_TO_PE, router, base + peBase + pe);
      addPair(LinkKind.HBM_LINK, router, base + hbmControllerBase + pe);
      add(LinkKind.HBM_PORT, base + hbmControllerBase + pe, base + hbmBase + pe);
    }
    addPair(LinkKind.SRAM_LINK, base + cube.sramRouter(), base + sramController);
    add(LinkKind.SRAM_PORT, base + sramController, base + sramController + 1);
    addPair(LinkKind.M_CPU_LINK, base + cube.mCpuRouter(), base + sramController + 2);
  }

  private void joinCube(int x, int y) {
    for (Side side : SIDES) {
      int nextX = x + side.dx();
      int nextY = y + side.dy();
      boolean inside = nextX >= 0 && nextX < cubesWidth && nextY >= 0 && nextY < cubesHeight;
      int port = portRouter(cubeAt(x, y), side);
      if (!inside) {
        addPair(LinkKind.CUBE_TO_IO, port, io(side));
      } else if (side == Side.E || side == Side.S) {
        addPair(LinkKind.CUBE_TO_CUBE, port, portRouter(cubeAt(nextX, nextY), side.opposite()));
      }
    }
  }

  private void addPair(LinkKind linkKind, int a, int b) {
    add(linkKind, a, b);
    add(linkKind, b, a);
  }

  private void add(LinkKind linkKind, int fromNode, int toNode) {
    if (count == from.length) {
      from = Arrays.copyOf(from, count * 2);
      to = Arrays.copyOf(to, count * 2);
      kind = Arrays.copyOf(kind, count * 2);
    }
    from[count] = fromNode;
    to[count] = toNode;
    kind[count++] = (byte) linkKind.ordinal();
  }

  private int[] indexLinks() {
    for (int i = 0; i < links; i++) {
      outStart[from[i] + 1]++;
      if (linkKind(i).isMemoryPort()) {
        outStart[to[i] + 1]++;
      }
    }
    for (int n = 0; n < nodes; n++) {
      outStart[n + 1] += outStart[n];
    }
    int[] next = Arrays.copyOf(outStart, nodes);
    int[] index = new int[outStart[nodes]];
    for (int i = 0; i < links; i++) {
      index[next[from[i]]++] = i;
      if (linkKind(i).isMemoryPort()) {
        index[next[to[i]]++] = i;
      }
    }
    return index;
  }

  int cubeAt(int x, int y) {
    return y * cubesWidth + x;
  }

  int cubes() {
    return cubesWidth * cubesHeight;
  }

  int portRouter(int cubeIndex, Side side) {
    return cubeIndex * nodesPerCube + cube.portRouter(side);
  }

  int pe(int cubeIndex, int pe) {
    return cubeIndex * nodesPerCube + peBase + pe;
  }

  int hbm(int cubeIndex, int pe) {
    return cubeIndex * nodesPerCube + hbmBase + pe;
  }

  int sram(int cubeIndex) {
    return cubeIndex * nodesPerCube + sramController + 1;
  }

  int mCpu(int cubeIndex) {
    return cubeIndex * nodesPerCube + sramController + 2;
  }

  int io(Side side) {
    return cubes() * nodesPerCube + side.ordinal();
  }

  boolean isIo(int node) {
    return node >= cubes() * nodesPerCube;
  }

  int cubeOf(int node) {
    return node / nodesPerCube;
  }

  NodeKind nodeKind(int node) {
    if (isIo(node)) {
      return NodeKind.IO;
    }
    int inCube = node % nodesPerCube;
    if (inCube < peBase) {
      return NodeKind.ROUTER;
    }
    if (inCube < hbmControllerBase) {
      return NodeKind.PE;
    }
    if (inCube < hbmBase) {
      return NodeKind.HBM_CONTROLLER;
    }
    if (inCube < sramController) {
      return NodeKind.HBM;
    }
    int rest = inCube - sramController;
    return rest == 0 ? NodeKind.SRAM_CONTROLLER : rest == 1 ? NodeKind.SRAM : NodeKind.M_CPU;
  }

  /** Number of a node among those of its kind in its cube; the side of an IO chiplet. */
  int indexOf(int node) {
    if (isIo(node)) {
      return node - cubes() * nodesPerCube;
    }
    int inCube = node % nodesPerCube;
    return inCube < peBase ? inCube : inCube < sramController ? (inCube - peBase) % cube.pes : 0;
  }

  /**
   * The node that a node hangs on, one step closer to the router mesh; itself for routers and IO.
   */
  int parent(int node) {
    int base = cubeOf(node) * nodesPerCube;
    return switch (nodeKind(node)) {
      case PE, HBM_CONTROLLER -> base + cube.peRouter(indexOf(node));
      case HBM -> node - cube.pes;
      case SRAM_CONTROLLER -> base + cube.sramRouter();
      case SRAM -> node - 1;
      case M_CPU -> base + cube.mCpuRouter();
      case ROUTER, IO, HOST, SWITCH, NIC -> node;
    };
  }

  LinkKind linkKind(int link) {
    return LINK_KINDS[kind[link]];
  }

  int linkFrom(int link) {
    return from[link];
  }

  int linkTo(int link) {
    return to[link];
  }

  /**
   * The link that leads from one node to another, ports in both directions; -1 if there is none.
   */
  int linkBetween(int fromNode, int toNode) {
    for (int i = outStart[fromNode]; i < outStart[fromNode + 1]; i++) {
      int link = outLinks[i];
      if (to[link] == toNode || from[link] == toNode) {
        return link;
      }
    }
    return -1;
  }
}
