package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Each route, node by node, against a second walk that knows the rules of {@code
 * docs/spec/machine-and-timing.md} and the names of nodes, but neither ids nor links: x before y in
 * the network, the package and the cube; a package on the way is crossed along row h/2 and column
 * w/2; ports are the middles of edges.
 */
final class RouteTwinTest {
  private static final String CUBES =
      "sip.cube_mesh.w=%d; sip.cube_mesh.h=%d; cube.noc.w=%d; cube.noc.h=%d; "
          + "cube.pe_layout.corners=%d; cube.pe_layout.pe_per_corner=%d; cube.hbm.channels=%d";

  /** The sizes that a walk needs to know. */
  private record Size(
      String topology,
      int sips,
      int gridW,
      int gridH,
      int cubesW,
      int cubesH,
      int nocW,
      int nocH,
      int corners,
      int perCorner) {

    int pes() {
      return corners * perCorner;
    }

    Machine machine() {
      boolean grid = topology.endsWith("2d") || topology.contains("mesh");
      String network =
          "system.sips.topology=%s; system.sips.count=%d".formatted(topology, sips)
              + (grid ? "; system.sips.w=%d; system.sips.h=%d".formatted(gridW, gridH) : "");
      String cubes = CUBES.formatted(cubesW, cubesH, nocW, nocH, corners, perCorner, 16 * pes());
      return Machines.load("sip-2026", List.of((network + "; " + cubes).split("; ")));
    }
  }

  private static final class Walk {
    private final Size size;
    private final List<String> way = new ArrayList<>();

    Walk(Size size) {
      this.size = size;
    }

    private static String sip(String node) {
      return node.substring(0, node.indexOf('.'));
    }

    private static int number(String node, String part) {
      int from = node.lastIndexOf(part) + part.length();
      int to = from;
      while (to < node.length() && Character.isDigit(node.charAt(to))) {
        to++;
      }
      return Integer.parseInt(node, from, to, 10);
    }

    private static boolean isRouter(String node) {
      return node.contains(".router");
    }

    private static boolean isIo(String node) {
      return node.contains(".io");
    }

    private static boolean isOutside(String node) {
      return node.equals("host") || node.equals("switch");
    }

    private static String router(String cube, int x, int y) {
      return cube + ".router" + x + "_" + y;
    }

    /** The routers of a corner, nearest first, of equals the one along the row; so many of them. */
    private List<int[]> ofCorner(int corner) {
      boolean halvesX = size.corners >= 2;
      boolean halvesY = size.corners >= 3;
      int firstX = halvesX && corner % 2 == 1 ? (size.nocW + 1) / 2 : 0;
      int endX = halvesX && corner % 2 == 0 ? (size.nocW + 1) / 2 : size.nocW;
      int firstY = halvesY && corner / 2 == 1 ? (size.nocH + 1) / 2 : 0;
      int endY = halvesY && corner / 2 == 0 ? (size.nocH + 1) / 2 : size.nocH;
      int atX = corner % 2 == 1 ? size.nocW - 1 : 0;
      int atY = corner / 2 == 1 ? size.nocH - 1 : 0;
      List<int[]> all = new ArrayList<>();
      for (int x = firstX; x < endX; x++) {
        for (int y = firstY; y < endY; y++) {
          all.add(new int[] {x, y});
        }
      }
      all.sort(
          Comparator.<int[]>comparingInt(p -> Math.abs(p[0] - atX) + Math.abs(p[1] - atY))
              .thenComparingInt(p -> Math.abs(p[1] - atY)));
      List<int[]> taken = new ArrayList<>(all.subList(0, size.perCorner));
      taken.sort(Comparator.<int[]>comparingInt(p -> p[1]).thenComparingInt(p -> p[0]));
      return taken;
    }

    private String peRouter(String cube, int pe) {
      int[] place = ofCorner(pe / size.perCorner).get(pe % size.perCorner);
      return router(cube, place[0], place[1]);
    }

    /** From a node down to its router, or only itself. */
    private List<String> chain(String node) {
      String cube = node.replaceFirst("\\.[a-z]+[_\\d]*$", "");
      String name = node.substring(node.lastIndexOf('.') + 1).replaceFirst("[_\\d]+$", "");
      List<String> chain = new ArrayList<>(List.of(node));
      if (isIo(node) || isRouter(node)) {
        return chain;
      }
      int pe = name.equals("pe") || name.startsWith("hbm") ? number(node, name) : 0;
      switch (name) {
        case "pe", "hbmctl" -> chain.add(peRouter(cube, pe));
        case "hbm" -> chain.addAll(List.of(cube + ".hbmctl" + pe, peRouter(cube, pe)));
        case "sramctl" -> chain.add(router(cube, (size.nocW - 1) / 2, size.nocH / 2));
        case "sram" ->
            chain.addAll(
                List.of(cube + ".sramctl", router(cube, (size.nocW - 1) / 2, size.nocH / 2)));
        case "mcpu" -> chain.add(router(cube, size.nocW / 2, (size.nocH - 1) / 2));
        default -> throw new AssertionError(node);
      }
      return chain;
    }

    private String last() {
      return way.getLast();
    }

    private void go(String next) {
      if (way.isEmpty() || !last().equals(next)) {
        way.add(next);
      }
    }

    List<String> between(String from, String to) {
      if (isOutside(from) || isOutside(to)) {
        String inner = isOutside(from) ? to : from;
        String outer = isOutside(from) ? from : to;
        String io = sip(inner) + (outer.equals("host") ? ".ioN" : ".ioE");
        List<String> all = new ArrayList<>(List.of(outer));
        if (isOutside(from)) {
          all.addAll(inner.equals(io) ? List.of(io) : new Walk(size).between(io, inner));
          return all;
        }
        List<String> there = inner.equals(io) ? List.of(io) : new Walk(size).between(inner, io);
        all.addAll(0, there);
        return all;
      }
      List<String> up = chain(from);
      List<String> down = chain(to).reversed();
      if (up.contains(to)) {
        return up.subList(0, up.indexOf(to) + 1);
      }
      if (down.contains(from)) {
        return down.subList(down.indexOf(from), down.size());
      }
      up.forEach(this::go);
      while (!sip(last()).equals(sip(to))) {
        nextPackage(number(last(), "sip"), number(to, "sip"));
      }
      String top = down.getFirst();
      if (isIo(top)) {
        toIo(top.charAt(top.length() - 1));
      } else {
        toRouter(top);
      }
      down.forEach(this::go);
      return way;
    }

    private void nextPackage(int from, int to) {
      switch (size.topology) {
        case "switch" -> {
          toIo('E');
          go("switch");
          go("sip" + to + ".ioE");
        }
        case "fully_connected" -> {
          toIo(peerSide(from, to));
          go("sip" + to + ".io" + peerSide(to, from));
        }
        default -> {
          boolean wraps = !size.topology.contains("mesh");
          int x = from % size.gridW;
          int y = from / size.gridW;
          int stepX = step(x, to % size.gridW, size.gridW, wraps);
          int stepY = stepX != 0 ? 0 : step(y, to / size.gridW, size.gridH, wraps);
          char side = stepX > 0 ? 'E' : stepX < 0 ? 'W' : stepY > 0 ? 'S' : 'N';
          int nextX = Math.floorMod(x + stepX, size.gridW);
          int nextY = Math.floorMod(y + stepY, size.gridH);
          toIo(side);
          go("sip" + (nextY * size.gridW + nextX) + ".io" + "WSEN".charAt("ENWS".indexOf(side)));
        }
      }
    }

    private char peerSide(int from, int to) {
      return "EWNS".charAt((to > from ? to - from - 1 : to - from - 1 + size.sips) % 4);
    }

    /** The shorter way round, of equals the positive one; two are joined by one link only. */
    private static int step(int from, int to, int size, boolean wraps) {
      if (from == to) {
        return 0;
      }
      if (!wraps || size <= 2) {
        return to > from ? 1 : -1;
      }
      int up = 0;
      for (int at = from; at != to; at = (at + 1) % size) {
        up++;
      }
      return up <= size - up ? 1 : -1;
    }

    /** Into the package from an IO chiplet, by the row or column given. */
    private void enter(int row, int column) {
      if (isIo(last())) {
        char side = last().charAt(last().length() - 1);
        int x = side == 'E' ? size.cubesW - 1 : side == 'W' ? 0 : column;
        int y = side == 'S' ? size.cubesH - 1 : side == 'N' ? 0 : row;
        go(port(sip(last()), x, y, side));
      }
    }

    private String port(String sip, int cubeX, int cubeY, char side) {
      int middleX = (size.nocW - 1) / 2;
      int middleY = (size.nocH - 1) / 2;
      String cube = sip + ".cube" + (cubeY * size.cubesW + cubeX);
      return switch (side) {
        case 'N' -> router(cube, middleX, 0);
        case 'S' -> router(cube, middleX, size.nocH - 1);
        case 'W' -> router(cube, 0, middleY);
        default -> router(cube, size.nocW - 1, middleY);
      };
    }

    private void toIo(char side) {
      if (last().endsWith(".io" + side)) {
        return;
      }
      boolean crosses = isIo(last()); // then it leaves where it would if it went straight on
      enter(size.cubesH / 2, size.cubesW / 2);
      int x = crosses ? size.cubesW / 2 : number(last(), "cube") % size.cubesW;
      int y = crosses ? size.cubesH / 2 : number(last(), "cube") / size.cubesW;
      x = side == 'E' ? size.cubesW - 1 : side == 'W' ? 0 : x;
      y = side == 'S' ? size.cubesH - 1 : side == 'N' ? 0 : y;
      toCube(x, y);
      inCube(port(sip(last()), x, y, side));
      go(sip(last()) + ".io" + side);
    }

    private void toRouter(String target) {
      int cube = number(target, "cube");
      enter(cube / size.cubesW, cube % size.cubesW);
      toCube(cube % size.cubesW, cube / size.cubesW);
      inCube(target);
    }

    private void toCube(int x, int y) {
      while (true) {
        int atX = number(last(), "cube") % size.cubesW;
        int atY = number(last(), "cube") / size.cubesW;
        if (atX == x && atY == y) {
          return;
        }
        int dx = Integer.signum(x - atX);
        int dy = dx == 0 ? Integer.signum(y - atY) : 0;
        String sides = dx > 0 ? "EW" : dx < 0 ? "WE" : dy > 0 ? "SN" : "NS";
        inCube(port(sip(last()), atX, atY, sides.charAt(0)));
        go(port(sip(last()), atX + dx, atY + dy, sides.charAt(1)));
      }
    }

    private void inCube(String target) {
      String cube = target.replaceFirst("\\.router.*", "");
      int x = number(last(), "router");
      int y = number(last(), "_");
      while (x != number(target, "router")) {
        x += Integer.signum(number(target, "router") - x);
        go(router(cube, x, y));
      }
      while (y != number(target, "_")) {
        y += Integer.signum(number(target, "_") - y);
        go(router(cube, x, y));
      }
    }
  }

  private static List<String> names(Machine machine, int from, int[] links) {
    List<String> names = new ArrayList<>(List.of(machine.node(from).name()));
    int at = from;
    for (int id : links) {
      Link link = machine.link(id);
      at = link.fromNode() == at ? link.toNode() : link.fromNode();
      names.add(machine.node(at).name());
    }
    return names;
  }

  @ParameterizedTest
  @CsvSource({
    // topology, packages (grid), cubes, routers, corners, PEs at each
    "ring_1d, 7, 7, 1, 3, 2, 4, 3, 4, 1",
    "ring_1d, 6, 6, 1, 1, 1, 1, 1, 1, 1",
    "ring_1d, 2, 2, 1, 2, 3, 3, 4, 2, 3",
    "torus_2d, 20, 5, 4, 2, 2, 2, 2, 4, 1",
    "torus_2d, 6, 2, 3, 3, 3, 5, 4, 4, 3",
    "mesh_2d_no_wrap, 12, 4, 3, 4, 3, 3, 3, 3, 2",
    "mesh_2d_no_wrap, 5, 1, 5, 2, 5, 2, 3, 1, 6",
    "fully_connected, 7, 1, 1, 3, 4, 3, 2, 2, 2",
    "fully_connected, 2, 1, 1, 1, 3, 2, 5, 4, 2",
    "switch, 5, 1, 1, 4, 2, 4, 4, 4, 2"
  })
  void route_anyTwoNodes_goesFromNodeToNodeAsTheRulesSay(
      String topology,
      int sips,
      int gw,
      int gh,
      int cw,
      int ch,
      int nw,
      int nh,
      int corners,
      int per) {
    Size size = new Size(topology, sips, gw, gh, cw, ch, nw, nh, corners, per);
    Machine machine = size.machine();
    assertThat(machine.pesPerCube()).isEqualTo(size.pes());
    SplittableRandom random = new SplittableRandom(11);
    int outside = machine.hostNode();
    for (int i = 0; i < 1500; i++) {
      int inside = random.nextInt(outside);
      int other =
          i % 4 == 0
              ? outside + random.nextInt(machine.nodeCount() - outside)
              : random.nextInt(outside);
      int from = i % 8 < 4 ? inside : other;
      int to = i % 8 < 4 ? other : inside;
      if (from == to) {
        continue;
      }
      String start = machine.node(from).name();
      String end = machine.node(to).name();
      List<String> way = names(machine, from, machine.route(from, to).links());
      assertThat(String.join(" ", way))
          .as("%s from %s to %s", size, start, end)
          .isEqualTo(String.join(" ", new Walk(size).between(start, end)));
    }
  }
}
