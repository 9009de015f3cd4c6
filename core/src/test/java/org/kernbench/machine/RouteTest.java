package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.machine.spec.LinkKind;

/**
 * Routes against what the link records alone say: they join, and they are as short as they can be.
 */
class RouteTest {
  private static final String SMALL_CUBES =
      "sip.cube_mesh.w=2; sip.cube_mesh.h=3; cube.noc.w=3; cube.noc.h=2; cube.pe_layout.corners=4; "
          + "cube.pe_layout.pe_per_corner=1; cube.hbm.channels=32";

  private static Machine machine(String preset, String... overrides) {
    List<String> all = new ArrayList<>();
    for (String some : overrides) {
      if (!some.isEmpty()) {
        all.addAll(Arrays.asList(some.split("; ")));
      }
    }
    return Machines.load(preset, all);
  }

  /** Follows a route link by link from its start; memory ports may be taken both ways. */
  private static List<Integer> nodes(Machine machine, int from, int[] route) {
    List<Integer> nodes = new ArrayList<>(List.of(from));
    int at = from;
    for (int id : route) {
      Link link = machine.link(id);
      if (link.kind().isMemoryPort() && link.toNode() == at) {
        at = link.fromNode();
      } else {
        assertThat(link.fromNode()).as("%s continues at %s", link, machine.node(at)).isEqualTo(at);
        at = link.toNode();
      }
      nodes.add(at);
    }
    return nodes;
  }

  private static List<Integer> endpoints(Machine machine) {
    List<Integer> result = new ArrayList<>();
    for (int id = 0; id < machine.nodeCount(); id++) {
      NodeKind kind = machine.node(id).kind();
      if (kind != NodeKind.SWITCH) {
        result.add(id);
      }
    }
    return result;
  }

  private static void checkRoute(Machine machine, int from, int to) {
    int[] route = machine.route(from, to).links();
    List<Integer> nodes = nodes(machine, from, route);
    assertThat(nodes.get(nodes.size() - 1)).isEqualTo(to);
    assertThat(new HashSet<>(nodes)).as("no node twice").hasSameSizeAs(nodes);
    assertThat(machine.route(from, to).latencyPs()).isPositive();
    // XY routes turn in other cubes and packages on the way back, so only these are symmetric.
    int[] back = machine.route(to, from).links();
    boolean sameSip = machine.node(from).sip() == machine.node(to).sip();
    boolean sameCube = sameSip && machine.node(from).cube() == machine.node(to).cube();
    for (LinkKind kind : LinkKind.values()) {
      boolean symmetric =
          kind == LinkKind.SIP_TO_SIP
              || (kind == LinkKind.CUBE_TO_CUBE && sameSip)
              || (kind == LinkKind.NOC && sameCube);
      assertThat(!symmetric || count(machine, back, kind) == count(machine, route, kind))
          .as("%s from %s to %s and back", kind, machine.node(from).name(), machine.node(to).name())
          .isTrue();
    }
  }

  /** Every node with every other, routers, controllers, IO chiplets and the host included. */
  @Test
  void route_everyPairInTiny_joinsAndHasLatency() {
    Machine machine = machine("tiny");
    List<Integer> all = endpoints(machine);
    for (int from : all) {
      for (int to : all) {
        if (from != to) {
          checkRoute(machine, from, to);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "system.sips.topology=torus_2d; system.sips.count=12",
        "system.sips.topology=torus_2d; system.sips.count=12; system.sips.w=1",
        "system.sips.topology=torus_2d; system.sips.count=4; system.sips.wrap_pairs=double",
        "system.sips.topology=mesh_2d_no_wrap; system.sips.count=15",
        "system.sips.topology=ring_1d; system.sips.count=7",
        "system.sips.topology=ring_1d; system.sips.count=2",
        "system.sips.topology=fully_connected; system.sips.count=7",
        "system.sips.topology=fully_connected; system.sips.count=2",
        "system.sips.topology=switch; system.sips.count=5",
        "system.sips.topology=torus_2d; system.sips.count=1",
      })
  void route_randomPairsOfManySips_join(String overrides) {
    Machine machine = machine("sip-2026", SMALL_CUBES, overrides);
    List<Integer> all = endpoints(machine);
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 3000; i++) {
      int from = all.get(random.nextInt(all.size()));
      int to = all.get(random.nextInt(all.size()));
      if (from != to) {
        checkRoute(machine, from, to);
      }
    }
  }

  /** Breadth-first search over the links between packages, which knows nothing of grids. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "system.sips.topology=torus_2d; system.sips.count=20",
        "system.sips.topology=torus_2d; system.sips.count=6",
        "system.sips.topology=mesh_2d_no_wrap; system.sips.count=15",
        "system.sips.topology=ring_1d; system.sips.count=9",
        "system.sips.topology=ring_1d; system.sips.count=8",
        "system.sips.topology=fully_connected; system.sips.count=6",
      })
  void route_betweenSips_crossesAsFewAsPossible(String overrides) {
    Machine machine = machine("ring", overrides);
    Map<Integer, Set<Integer>> next = new HashMap<>();
    for (int id = 0; id < machine.linkCount(); id++) {
      Link link = machine.link(id);
      if (link.kind() == LinkKind.SIP_TO_SIP) {
        next.computeIfAbsent(machine.node(link.fromNode()).sip(), s -> new HashSet<>())
            .add(machine.node(link.toNode()).sip());
      }
    }
    for (int from = 0; from < machine.sips(); from++) {
      Map<Integer, Integer> distance = new HashMap<>(Map.of(from, 0));
      ArrayDeque<Integer> queue = new ArrayDeque<>(List.of(from));
      while (!queue.isEmpty()) {
        int at = queue.remove();
        for (int follower : next.get(at)) {
          if (distance.putIfAbsent(follower, distance.get(at) + 1) == null) {
            queue.add(follower);
          }
        }
      }
      for (int to = 0; to < machine.sips(); to++) {
        if (from != to) {
          int[] route = machine.route(new Pe(from, 0, 0), new Pe(to, 0, 0)).links();
          assertThat(count(machine, route, LinkKind.SIP_TO_SIP)).isEqualTo((long) distance.get(to));
        }
      }
    }
  }

  private static long count(Machine machine, int[] route, LinkKind kind) {
    return Arrays.stream(route).filter(id -> machine.linkKind(id) == kind).count();
  }

  @Test
  void route_insideASip_takesManhattanDistanceOfCubesAndRouters() {
    Machine machine = machine("sip-2026");
    for (int a = 0; a < 128; a++) {
      for (int b = 0; b < 128; b++) {
        if (a == b) {
          continue;
        }
        Pe from = machine.peAt(a);
        Pe to = machine.peAt(b);
        int[] route = machine.route(from, to).links();
        int dx = Math.abs(from.cube() % 4 - to.cube() % 4);
        int dy = Math.abs(from.cube() / 4 - to.cube() / 4);
        assertThat(count(machine, route, LinkKind.CUBE_TO_CUBE)).isEqualTo(dx + dy);
        if (from.cube() == to.cube()) {
          Node p = machine.node(machine.peNode(from));
          Node q = machine.node(machine.peNode(to));
          assertThat((double) count(machine, route, LinkKind.NOC))
              .isEqualTo(Math.abs(p.x() - q.x()) + Math.abs(p.y() - q.y()));
        }
      }
    }
  }

  /** Never a step along x after a step along y: of packages, of cubes in one, of routers in one. */
  @Test
  void route_anyPair_goesAlongXBeforeY() {
    Machine machine = machine("sip-2026", SMALL_CUBES, "system.sips.count=12");
    SplittableRandom random = new SplittableRandom(5);
    for (int i = 0; i < 3000; i++) {
      int from = machine.peNode(machine.peAt(random.nextInt(machine.peCount())));
      int to = machine.peNode(machine.peAt(random.nextInt(machine.peCount())));
      if (from == to) {
        continue;
      }
      Map<String, Boolean> turned = new HashMap<>();
      List<Integer> nodes = nodes(machine, from, machine.route(from, to).links());
      for (int k = 1; k < nodes.size(); k++) {
        Node a = machine.node(nodes.get(k - 1));
        Node b = machine.node(nodes.get(k));
        if (a.kind() == NodeKind.ROUTER && b.kind() == NodeKind.ROUTER) {
          boolean sameCube = a.cube() == b.cube();
          boolean alongX = sameCube ? a.y() == b.y() : a.cube() / 2 == b.cube() / 2;
          check(turned, sameCube ? "sip" + a.sip() + "cube" + a.cube() : "sip" + a.sip(), alongX);
        } else if (a.kind() == NodeKind.IO && b.kind() == NodeKind.IO) {
          check(turned, "machine", a.index() % 2 == 1);
        }
      }
    }
  }

  private static void check(Map<String, Boolean> turned, String where, boolean alongX) {
    assertThat(alongX && turned.getOrDefault(where, false)).as("x after y in %s", where).isFalse();
    turned.merge(where, !alongX, Boolean::logicalOr);
  }

  @ParameterizedTest
  @CsvSource({
    // ring of 6: three steps are a tie, which goes E
    "6, single, 0, 1, E", "6, single, 0, 5, W", "6, single, 0, 2, E", "6, single, 0, 4, W",
    "6, single, 0, 3, E", "6, single, 3, 0, E", "7, single, 0, 3, E", "7, single, 0, 4, W",
    // two packages: one link, or two as one
    "2, single, 0, 1, E", "2, single, 1, 0, W", "2, double, 0, 1, E", "2, double, 1, 0, W",
  })
  void route_onARing_leavesOnTheShorterSide(
      int sips, String pairs, int from, int to, Side expected) {
    Machine machine =
        machine("ring", "system.sips.count=" + sips + "; system.sips.wrap_pairs=" + pairs);
    int[] route = machine.route(new Pe(from, 0, 0), new Pe(to, 0, 0)).links();
    for (int id : route) {
      if (machine.linkKind(id) == LinkKind.SIP_TO_SIP) {
        Link link = machine.link(id);
        assertThat(Side.values()[machine.node(link.fromNode()).index()]).isEqualTo(expected);
        assertThat(Side.values()[machine.node(link.toNode()).index()])
            .isEqualTo(expected.opposite());
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "ring_1d, 1, single, 0", "ring_1d, 2, single, 1", "ring_1d, 2, double, 1",
    "ring_1d, 5, single, 5", "torus_2d, 6, single, 9", "torus_2d, 6, double, 9",
    "torus_2d, 9, single, 18", "torus_2d, 4, single, 4", "torus_2d, 4, double, 4",
    "mesh_2d_no_wrap, 6, single, 7", "fully_connected, 6, single, 15", "switch, 6, single, 6",
  })
  void linkCount_betweenSips_isWhatTheTopologySays(
      String topology, int sips, String pairs, int expected) {
    Machine machine =
        machine(
            "ring",
            "system.sips.count="
                + sips
                + "; system.sips.topology="
                + topology
                + "; system.sips.wrap_pairs="
                + pairs);
    long directed = 0;
    Set<String> ends = new HashSet<>();
    for (int id = 0; id < machine.linkCount(); id++) {
      Link link = machine.link(id);
      if (link.kind() == LinkKind.SIP_TO_SIP) {
        directed++;
        ends.add(link.fromNode() + ">" + link.toNode());
      }
    }
    assertThat(directed).isEqualTo(2L * expected);
    assertThat(ends).as("no two links alike").hasSize(2 * expected);
  }

  @Test
  void route_toAMemory_endsWithItsPortAndComesBackThroughIt() {
    Machine machine = machine("sip-2026");
    Pe pe = new Pe(0, 5, 3);
    int[] there = machine.route(machine.peNode(pe), machine.hbmNode(pe)).links();
    int[] back = machine.route(machine.hbmNode(pe), machine.peNode(pe)).links();
    assertThat(there).hasSize(3);
    assertThat(machine.linkKind(there[2])).isEqualTo(LinkKind.HBM_PORT);
    assertThat(back[0]).isEqualTo(there[2]);
    assertThat(machine.link(there[2]).rate().bytesPerSecond()).isEqualTo(217_600_000_000L);
    assertThat(machine.linkKind(back[2])).isEqualTo(LinkKind.ROUTER_TO_PE);
    assertThat(machine.link(back[2]).latencyPs()).isEqualTo(2000 + 2000);
    int[] sram = machine.route(machine.peNode(pe), machine.sramNode(3, 9)).links();
    assertThat(machine.linkKind(sram[sram.length - 1])).isEqualTo(LinkKind.SRAM_PORT);
  }

  /** 1 + 28 + (2 + 7.25) + 30.5 + (7.25 + 2 + 2) ns, the figure that the preset promises. */
  @Test
  void sip2026_idleReadOfTheOwnSlice_takes80ns() {
    Machine machine = machine("sip-2026");
    Pe pe = new Pe(0, 0, 0);
    long request =
        machine.route(machine.peNode(pe), machine.hbmNode(pe)).latencyPs()
            - machine.hbm().latencyPs();
    long data = machine.route(machine.hbmNode(pe), machine.peNode(pe)).latencyPs();
    assertThat(machine.pe().cpu().dispatchPs() + machine.pe().dma().setupPs() + request + data)
        .isEqualTo(80_000);
  }

  @Test
  void controlLatency_farCube_isSumOfOverheadsAndWay() {
    Machine machine = machine("sip-2026");
    // IO N down column 0 to cube 12: 4 IO or cube links of 12, 3 routers in each cube passed; then
    // from the N port (1,0) to the M_CPU's router (2,1)
    long toMCpu = 4 * 12_000 + 3 * 3 * 2_000 + 2 * 2_000 + 2_000;
    // from (2,1) to PE 4 at (0,3)
    long toPe = 2_000 + 4 * 2_000 + 4_000;
    assertThat(machine.controlLatencyPs(new Pe(4, 12, 4)))
        .isEqualTo(450_000 + 250_000 + 120_000 + toMCpu + 40_000 + toPe + 10_000);
  }

  /**
   * With a slow package and a slow, long link between two: each answer against what the links say
   * one by one.
   */
  @Test
  void route_whatItCosts_isTheSumOverItsLinks() {
    Machine machine =
        machine("sip-2026", "system.sips.slow=1 links 0.25; system.sips.links=0-1 50 GB/s, 400 ns");
    SplittableRandom random = new SplittableRandom(17);
    for (int i = 0; i < 500; i++) {
      Pe a = machine.peAt(random.nextInt(machine.peCount()));
      Pe b = machine.peAt(random.nextInt(machine.peCount()));
      int from = random.nextBoolean() ? machine.hbmNode(a) : machine.peNode(a);
      int to = random.nextBoolean() ? machine.hbmNode(b) : machine.peNode(b);
      if (from != to) {
        checkCosts(machine, machine.route(from, to), random.nextLong(1 << 24));
      }
    }
  }

  private static void checkCosts(Machine machine, Route route, long bytes) {
    int[] links = route.links();
    long latency = 0;
    long slowest = 0;
    for (int id : links) {
      latency += machine.link(id).latencyPs();
      slowest = Math.max(slowest, machine.link(id).rate().durationPs(bytes));
    }
    long first = machine.link(links[0]).latencyPs();
    long last = machine.link(links[links.length - 1]).latencyPs();
    long overhead = machine.pe().dma().messageOverheadPs();
    assertThat(route.latencyPs()).isEqualTo(latency);
    assertThat(route.replyPs()).isEqualTo(latency - first);
    assertThat(route.requestPs()).isEqualTo(latency - last);
    assertThat(route.alonePs(bytes)).isEqualTo(latency + slowest);
    assertThat(route.overheads()).containsExactly(Overhead.DMA);
    assertThat(route.overheadPs()).isEqualTo(overhead);
    assertThat(route.messagePs(bytes)).isEqualTo(overhead + latency + slowest);
    assertThat(route.narrowest()).isEqualTo(machine.link(route.narrowestLink()).rate());
    assertThat(route.injection()).isEqualTo(machine.link(links[0]).rate());
    assertThat(route.length()).isEqualTo(links.length);
  }

  @Test
  void route_impossible_saysWhy() {
    Machine machine = machine("tiny");
    int pe = machine.peNode(new Pe(0, 0, 0));
    assertThatThrownBy(() -> machine.route(pe, pe))
        .hasMessageContaining("no route from sip0.cube0.pe0");
    assertThatThrownBy(() -> machine.route(pe, 99_999)).hasMessageContaining("no node 99999");
    assertThatThrownBy(() -> machine.peNode(new Pe(1, 0, 0)))
        .isInstanceOf(MachineException.class)
        .hasMessageContaining("tiny has 1 sips of 4 cubes of 2 PEs");
    assertThatThrownBy(() -> machine.link(-1)).hasMessageContaining("no link -1");
  }

  @Test
  void load_ringOf4096Sips_hasAFewNodesAndLinksEach() {
    Machine machine = machine("ring", "system.sips.count=4096");
    assertThat(machine.peCount()).isEqualTo(4096);
    assertThat(machine.nodeCount()).isEqualTo(4096 * 11 + 1);
    assertThat(machine.linkCount()).isEqualTo(4096 * (18 + 2 + 2));
    int[] wrap = machine.route(new Pe(4095, 0, 0), new Pe(0, 0, 0)).links();
    assertThat(wrap).hasSize(5);
    checkRoute(machine, machine.peNode(new Pe(17, 0, 0)), machine.peNode(new Pe(2064, 0, 0)));
  }

  @Test
  void peIndex_everyPe_comesBack() {
    Machine machine = machine("sip-2026");
    Set<Integer> nodes = new HashSet<>();
    for (int i = 0; i < machine.peCount(); i++) {
      Pe pe = machine.peAt(i);
      assertThat(machine.peIndex(pe)).isEqualTo(i);
      assertThat(machine.node(machine.peNode(pe)).name()).isEqualTo(pe.toString());
      nodes.add(machine.peNode(pe));
      nodes.add(machine.hbmNode(pe));
    }
    assertThat(nodes).hasSize(2 * machine.peCount());
  }

  /** In each cube the PEs are where the corners are, each alone on its router. */
  @Test
  void pesOfACube_standAtTheCornersEachOnItsOwnRouter() {
    Machine machine = machine("sip-2026");
    List<String> places = new ArrayList<>();
    for (int pe = 0; pe < 8; pe++) {
      Route route =
          machine.route(machine.peNode(new Pe(0, 0, pe)), machine.hbmNode(new Pe(0, 0, pe)));
      places.add(
          machine
              .node(machine.link(route.first()).toNode())
              .name()
              .replace("sip0.cube0.router", ""));
    }
    assertThat(places).containsExactly("0_0", "1_0", "2_0", "3_0", "0_3", "1_3", "2_3", "3_3");
  }
}
