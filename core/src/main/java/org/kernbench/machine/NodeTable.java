package org.kernbench.machine;

/**
 * The nodes by their ids: packages one after the other, each as the template has it, then the host,
 * then what stands between packages. What kind they are, what they are called, and where they are
 * drawn.
 */
final class NodeTable {
  private static final Side[] SIDES = Side.values();

  private final SipTemplate template;
  private final PackageNetwork network;
  private final int host;

  /** The nodes of a machine whose host has an id. */
  NodeTable(SipTemplate template, PackageNetwork network, int host) {
    this.template = template;
    this.network = network;
    this.host = host;
  }

  /** How many there are. */
  int count() {
    return host + 1 + network.relays();
  }

  NodeKind kind(int node) {
    return node >= host
        ? node == host ? NodeKind.HOST : network.relayKind(node - host - 1)
        : template.nodeKind(node % template.nodes);
  }

  /** A node that there is. */
  Node node(int id) {
    if (id >= host) {
      NodeKind kind = kind(id);
      double y = id == host ? -1 : network.height();
      int index = id == host ? 0 : id - host - 1;
      return new Node(id, name(id), kind, -1, -1, index, (network.width() - 1) / 2.0, y);
    }
    int sip = id / template.nodes;
    int local = id % template.nodes;
    NodeKind kind = template.nodeKind(local);
    int index = template.indexOf(local);
    if (kind == NodeKind.IO) {
      Side side = SIDES[index];
      double x = (template.cubesWidth - 1) / 2.0 + side.dx() * (template.cubesWidth + 1) / 2.0;
      double y = (template.cubesHeight - 1) / 2.0 + side.dy() * (template.cubesHeight + 1) / 2.0;
      return new Node(id, name(id), kind, sip, -1, index, x, y);
    }
    int cube = template.cubeOf(local);
    int router = local;
    while (template.parent(router) != router) {
      router = template.parent(router);
    }
    int place = router - cube * template.nodesPerCube;
    int routerX = place % template.cube.width;
    int routerY = place / template.cube.width;
    double x = routerX + offsetX(kind);
    double y = routerY + offsetY(kind);
    return new Node(id, name(id), kind, sip, cube, index, x, y);
  }

  /** PEs sit north-west of their router, HBM north-east, SRAM south-west, M_CPU south-east. */
  private static double offsetX(NodeKind kind) {
    return switch (kind) {
      case PE, SRAM_CONTROLLER -> -0.25;
      case SRAM -> -0.38;
      case HBM_CONTROLLER, M_CPU -> 0.25;
      case HBM -> 0.38;
      case ROUTER, IO, HOST, SWITCH, NIC -> 0;
    };
  }

  private static double offsetY(NodeKind kind) {
    return switch (kind) {
      case PE, HBM_CONTROLLER -> -0.25;
      case HBM -> -0.38;
      case SRAM_CONTROLLER, M_CPU -> 0.25;
      case SRAM -> 0.38;
      case ROUTER, IO, HOST, SWITCH, NIC -> 0;
    };
  }

  String name(int id) {
    if (id >= host) {
      return id == host ? "host" : network.relayName(id - host - 1);
    }
    int local = id % template.nodes;
    String sip = "sip" + id / template.nodes;
    int index = template.indexOf(local);
    String cube = sip + ".cube" + template.cubeOf(local);
    return switch (template.nodeKind(local)) {
      case ROUTER ->
          cube + ".router" + index % template.cube.width + "_" + index / template.cube.width;
      case PE -> cube + ".pe" + index;
      case HBM_CONTROLLER -> cube + ".hbmctl" + index;
      case HBM -> cube + ".hbm" + index;
      case SRAM_CONTROLLER -> cube + ".sramctl";
      case SRAM -> cube + ".sram";
      case M_CPU -> cube + ".mcpu";
      case IO -> sip + ".io" + SIDES[index];
      case HOST, SWITCH, NIC -> throw new AssertionError("not inside a package");
    };
  }
}
