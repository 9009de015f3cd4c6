package org.kernbench.machine;

import java.util.Arrays;

/**
 * Walks from one node to another and notes the links on the way.
 *
 * <p>Everything is dimension ordered: along x first, then y, for packages in their grid, cubes in
 * their package and routers in their cube. A package is left and entered on the side of its link: a
 * cube's own row leads to E and W, its own column to N and S. A package on the way is crossed along
 * its row {@code h/2} and column {@code w/2}.
 */
final class RouteWalk {
  private final SipTemplate template;
  private final PackageNetwork network;
  private final int firstHostLink;
  private final int firstSipLink;
  private int[] links = new int[32];
  private int count;

  /** The package we are in, and the node there. */
  private int sip;

  private int at;

  RouteWalk(SipTemplate template, PackageNetwork network, int firstHostLink, int firstSipLink) {
    this.template = template;
    this.network = network;
    this.firstHostLink = firstHostLink;
    this.firstSipLink = firstSipLink;
  }

  int[] links() {
    return Arrays.copyOf(links, count);
  }

  /** From a node of a package to a node of a package. */
  void walk(int fromSip, int fromNode, int toSip, int toNode) {
    sip = fromSip;
    at = fromNode;
    if (fromSip == toSip && isBelow(fromNode, toNode)) {
      descend(toNode);
      return;
    }
    while (template.parent(at) != at && (at != toNode || sip != toSip)) {
      step(template.parent(at));
    }
    if (at == toNode && sip == toSip) {
      return;
    }
    while (sip != toSip) {
      goToIo(network.exitSide(sip, toSip));
      crossToNextSip(toSip);
    }
    int target = toNode;
    while (template.parent(target) != target) {
      target = template.parent(target);
    }
    if (template.isIo(target)) {
      goToIo(SipTemplate.SIDES[template.indexOf(target)]);
    } else {
      goToRouter(target);
    }
    descend(toNode);
  }

  /** From the host to a node of a package. */
  void walkFromHost(int toSip, int toNode) {
    push(firstHostLink + 2 * toSip);
    walk(toSip, template.io(Side.N), toSip, toNode);
  }

  /** From a node of a package to the host. */
  void walkToHost(int fromSip, int fromNode) {
    walk(fromSip, fromNode, fromSip, template.io(Side.N));
    push(firstHostLink + 2 * fromSip + 1);
  }

  /** From a node of a package to a switch that it has a link to. */
  void walkToRelay(int fromSip, int fromNode, int relay) {
    int[] links = network.linksToRelay(fromSip, relay);
    walk(fromSip, fromNode, fromSip, template.io(network.fromSide(links[0])));
    for (int link : links) {
      push(firstSipLink + link);
    }
  }

  /** From a switch to a node of a package that it has a link to. */
  void walkFromRelay(int relay, int toSip, int toNode) {
    int[] links = network.linksFromRelay(relay, toSip);
    for (int link : links) {
      push(firstSipLink + link);
    }
    walk(toSip, template.io(network.toSide(links[links.length - 1])), toSip, toNode);
  }

  /** True if {@code upper} lies on the way of {@code lower} to its router. */
  private boolean isBelow(int upper, int lower) {
    int node = lower;
    while (node != upper && template.parent(node) != node) {
      node = template.parent(node);
    }
    return node == upper;
  }

  private void descend(int toNode) {
    while (at != toNode) {
      int next = toNode;
      while (template.parent(next) != at) {
        next = template.parent(next);
      }
      step(next);
    }
  }

  private void crossToNextSip(int toSip) {
    int next = network.nextSip(sip, toSip);
    Side entry = network.entrySide(sip, toSip);
    for (int link : network.hop(sip, toSip)) {
      push(firstSipLink + link);
    }
    sip = next;
    at = template.io(entry);
  }

  private void goToIo(Side side) {
    if (at == template.io(side)) {
      return;
    }
    boolean alongX = side == Side.E || side == Side.W;
    int x = template.cubesWidth / 2;
    int y = template.cubesHeight / 2;
    if (template.isIo(at)) {
      Side entry = SipTemplate.SIDES[template.indexOf(at)];
      boolean enteredAlongX = entry == Side.E || entry == Side.W;
      enter(entry, enteredAlongX ? y : x);
    } else {
      int cube = template.cubeOf(at);
      x = cube % template.cubesWidth;
      y = cube / template.cubesWidth;
    }
    if (alongX) {
      x = side == Side.E ? template.cubesWidth - 1 : 0;
    } else {
      y = side == Side.S ? template.cubesHeight - 1 : 0;
    }
    goToCube(x, y);
    goInCube(template.portRouter(template.cubeOf(at), side));
    step(template.io(side));
  }

  private void goToRouter(int router) {
    int cube = template.cubeOf(router);
    int x = cube % template.cubesWidth;
    int y = cube / template.cubesWidth;
    if (template.isIo(at)) {
      Side entry = SipTemplate.SIDES[template.indexOf(at)];
      enter(entry, entry == Side.E || entry == Side.W ? y : x);
    }
    goToCube(x, y);
    goInCube(router);
  }

  /** From an IO chiplet into the cube of the given row or column on its side. */
  private void enter(Side side, int rowOrColumn) {
    int x = side == Side.W ? 0 : side == Side.E ? template.cubesWidth - 1 : rowOrColumn;
    int y = side == Side.N ? 0 : side == Side.S ? template.cubesHeight - 1 : rowOrColumn;
    step(template.portRouter(template.cubeAt(x, y), side));
  }

  private void goToCube(int x, int y) {
    int cube = template.cubeOf(at);
    int cubeX = cube % template.cubesWidth;
    int cubeY = cube / template.cubesWidth;
    while (cubeX != x) {
      Side side = x > cubeX ? Side.E : Side.W;
      cubeX += side.dx();
      crossToCube(side, template.cubeAt(cubeX, cubeY));
    }
    while (cubeY != y) {
      Side side = y > cubeY ? Side.S : Side.N;
      cubeY += side.dy();
      crossToCube(side, template.cubeAt(cubeX, cubeY));
    }
  }

  private void crossToCube(Side side, int nextCube) {
    goInCube(template.portRouter(template.cubeOf(at), side));
    step(template.portRouter(nextCube, side.opposite()));
  }

  private void goInCube(int router) {
    int width = template.cube.width;
    int base = template.cubeOf(at) * template.nodesPerCube;
    int x = (at - base) % width;
    int targetX = (router - base) % width;
    while (x != targetX) {
      int direction = targetX > x ? 1 : -1;
      x += direction;
      step(at + direction);
    }
    while (at != router) {
      step(router > at ? at + width : at - width);
    }
  }

  private void step(int toNode) {
    int link = template.linkBetween(at, toNode);
    if (link < 0) {
      throw new AssertionError("no link between neighbours " + at + " and " + toNode);
    }
    push(sip * template.links + link);
    at = toNode;
  }

  private void push(int link) {
    if (count == links.length) {
      links = Arrays.copyOf(links, count * 2);
    }
    links[count++] = link;
  }
}
