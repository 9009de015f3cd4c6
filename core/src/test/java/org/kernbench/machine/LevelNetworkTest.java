package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.ConfigException;
import org.kernbench.machine.spec.LinkKind;

/**
 * Networks of several dimensions against a second construction that knows packages by their places
 * and links by their ends, and nothing of numbers of links.
 */
final class LevelNetworkTest {
  private static final List<String> WORDS = List.of("ring", "mesh", "fully_connected", "switch");

  @TempDir private Path folder;

  private Machine machine(String base, String network, String... overrides) throws IOException {
    Path file = folder.resolve("m.yaml");
    Files.writeString(
        file, "description: x\nextends: " + base + "\nsystem:\n  network:\n" + network);
    return Machines.load(file.toString(), List.of(overrides));
  }

  private static String dimension(String kind, int size, int gigabytes, int ns) {
    return "    - {kind: %s, size: %s, bandwidth: %s GB/s, latency: %s ns}\n"
        .formatted(kind, size, gigabytes, ns);
  }

  private static String random(SplittableRandom random, List<String> kinds) {
    StringBuilder text = new StringBuilder();
    int dimensions = 1 + random.nextInt(4);
    for (int d = 0; d < dimensions; d++) {
      String kind = kinds.get(random.nextInt(kinds.size()));
      text.append(dimension(kind, 1 + random.nextInt(5), 10 + d, 100 + d));
    }
    return text.toString();
  }

  private static int[] places(Machine m, int sip) {
    int[] places = new int[m.dimensions().size()];
    for (int d = 0, rest = sip; d < places.length; d++) {
      places[d] = rest % m.dimensions().get(d).size();
      rest /= m.dimensions().get(d).size();
    }
    return places;
  }

  private static String words(int[] places) {
    return Arrays.toString(places);
  }

  /** The ends of all links that there should be: places, or a line with * for a switch. */
  private static Map<String, Integer> links(Machine m) {
    Map<String, Integer> links = new HashMap<>();
    for (int sip = 0; sip < m.sips(); sip++) {
      int[] here = places(m, sip);
      for (int d = 0; d < here.length; d++) {
        int n = m.dimensions().get(d).size();
        Set<String> peers = new HashSet<>();
        int[] there = here.clone();
        switch (m.dimensions().get(d).kind()) {
          case RING -> {
            for (int step : new int[] {1, n - 1}) {
              there[d] = (here[d] + step) % n;
              peers.add(words(there));
            }
          }
          case MESH -> {
            for (int step : new int[] {1, -1}) {
              there[d] = here[d] + step;
              if (there[d] >= 0 && there[d] < n) {
                peers.add(words(there));
              }
            }
          }
          case FULLY_CONNECTED -> {
            for (there[d] = 0; there[d] < n; there[d]++) {
              peers.add(words(there));
            }
          }
          case SWITCH -> {
            there[d] = -1;
            links.merge(words(there) + " " + words(here), 10 + d, Integer::sum);
            peers.add(words(there));
          }
        }
        peers.remove(words(here));
        for (String peer : peers) {
          links.merge(words(here) + " " + peer, 10 + d, Integer::sum);
        }
      }
    }
    return links;
  }

  private static String end(Machine m, int id, int node) {
    int sip = m.packageOf(node);
    if (sip < m.sips()) {
      return words(places(m, sip));
    }
    int[] line = places(m, m.packageOfLink(id));
    line[m.dimensionOf(id)] = -1;
    return words(line);
  }

  @Test
  void links_ofManyNetworks_joinWhatTheirDimensionsSay() throws IOException {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 120; i++) {
      Machine m = machine("ring", random(random, WORDS));
      Map<String, Integer> found = new HashMap<>();
      for (int id = 0; id < m.linkCount(); id++) {
        if (m.linkKind(id) == LinkKind.SIP_TO_SIP) {
          String ends = end(m, id, m.linkFrom(id)) + " " + end(m, id, m.linkTo(id));
          int rate = (int) (m.specOf(id).rate().bytesPerSecond() / 1_000_000_000);
          assertThat(found.put(ends, rate)).as(ends).isNull();
        }
      }
      assertThat(found).isEqualTo(links(m));
    }
  }

  /** In order of dimensions; in each by as few hops as there are; ends meet. */
  @Test
  void routes_ofManyNetworks_takeDimensionsInOrderByTheShortestWay() throws IOException {
    SplittableRandom random = new SplittableRandom(2);
    for (int i = 0; i < 60; i++) {
      Machine m = machine("ring", random(random, WORDS), "sip.cube_mesh.w=2");
      for (int k = 0; k < 40 && m.sips() > 1; k++) {
        int from = random.nextInt(m.sips());
        int to = random.nextInt(m.sips());
        if (from != to) {
          checkRoute(m, from, to);
        }
      }
    }
  }

  private static void checkRoute(Machine m, int from, int to) {
    Pe source = new Pe(from, 1, 0);
    Pe target = new Pe(to, 0, 0);
    int at = m.peNode(source);
    List<Integer> hops = new ArrayList<>(); // by hop its dimension
    int least = 0;
    for (int link : m.route(source, target).links()) {
      assertThat(m.linkFrom(link)).isEqualTo(at);
      at = m.linkTo(link);
      if (m.linkKind(link) == LinkKind.SIP_TO_SIP) {
        hops.add(m.dimensionOf(link));
      }
    }
    assertThat(at).isEqualTo(m.peNode(target));
    for (int d = 0; d < m.dimensions().size(); d++) {
      int n = m.dimensions().get(d).size();
      int apart = Math.abs(m.place(from, d) - m.place(to, d));
      least +=
          switch (m.dimensions().get(d).kind()) {
            case RING -> Math.min(apart, n - apart);
            case MESH -> apart;
            case FULLY_CONNECTED -> Math.min(apart, 1);
            case SWITCH -> 2 * Math.min(apart, 1);
          };
    }
    assertThat(hops).isSorted().hasSize(least);
  }

  /** Round dead links by as few hops as a search over the links that are left finds. */
  @Test
  void routes_withDeadLinks_goRoundThemByTheShortestWay() throws IOException {
    SplittableRandom random = new SplittableRandom(3);
    String network = dimension("ring", 3, 10, 1) + dimension("mesh", 3, 10, 1);
    for (int i = 0; i < 30; i++) {
      Machine whole = machine("ring", network + dimension("fully_connected", 2, 10, 1));
      Set<Integer> dead = new HashSet<>();
      List<String> said = new ArrayList<>();
      for (int k = 0; k < 4; k++) {
        int id = whole.linkCount() - 1 - random.nextInt(60);
        if (dead.add(id)) {
          int from = whole.packageOf(whole.linkFrom(id));
          said.add(from + "->" + whole.packageOf(whole.linkTo(id)) + " dead");
        }
      }
      Machine m = whole.with(List.of("system.sips.links=" + String.join(";", said)));
      for (int from = 0; from < m.sips(); from++) {
        int[] distance = distances(whole, dead, from);
        for (int to = 0; to < m.sips(); to++) {
          if (from != to) {
            int[] way = m.route(new Pe(from, 0, 0), new Pe(to, 0, 0)).links();
            long between =
                Arrays.stream(way).filter(l -> m.linkKind(l) == LinkKind.SIP_TO_SIP).count();
            assertThat(way).doesNotContain(dead.stream().mapToInt(x -> x).toArray());
            assertThat(between).isEqualTo(distance[to]);
          }
        }
      }
    }
  }

  private static int[] distances(Machine m, Set<Integer> dead, int from) {
    int[] distance = new int[m.sips()];
    Arrays.fill(distance, -1);
    distance[from] = 0;
    Deque<Integer> queue = new ArrayDeque<>(List.of(from));
    while (!queue.isEmpty()) {
      int at = queue.remove();
      for (int id = 0; id < m.linkCount(); id++) {
        boolean leaves = m.linkKind(id) == LinkKind.SIP_TO_SIP && !dead.contains(id);
        if (leaves && m.packageOf(m.linkFrom(id)) == at) {
          int to = m.packageOf(m.linkTo(id));
          if (distance[to] < 0) {
            distance[to] = distance[at] + 1;
            queue.add(to);
          }
        }
      }
    }
    return distance;
  }

  /** A channel for each dimension, and one more for each ring; with one less, routes can circle. */
  @ParameterizedTest
  @CsvSource({
    "ring 4;ring 4;ring 4, 6",
    "ring 5;mesh 3, 3",
    "mesh 3;mesh 3;mesh 3, 3",
    "switch 4;ring 4, 3",
    "ring 2;ring 2;ring 2, 3",
  })
  void finiteBuffers_onSeveralDimensions_haveNoCircle(String words, int channels)
      throws IOException {
    StringBuilder network = new StringBuilder();
    for (String word : words.split(";")) {
      network.append(dimension(word.split(" ")[0], Integer.parseInt(word.split(" ")[1]), 10, 1));
    }
    Machine m = machine("ring", network.toString(), "fabric.buffer=4 KiB");
    assertThat(m.fabric().virtualChannels()).isEqualTo(channels);
    assertThat(ChannelGraph.findCircle(m)).isEmpty();
  }

  @Test
  void finiteBuffers_withOneChannelOnATorus_areRefused() {
    String torus = (dimension("ring", 4, 10, 1)).repeat(3);
    assertThatThrownBy(
            () -> machine("ring", torus, "fabric.buffer=4 KiB", "fabric.virtual_channels=1"))
        .hasMessageContaining("expected auto (here 6)");
  }

  /** A short form and its dimensions are the same to whoever goes over them. */
  @ParameterizedTest
  @CsvSource({
    "ring_1d;6;6, ring 6",
    "torus_2d;12;4, ring 4;ring 3",
    "mesh_2d_no_wrap;12;4, mesh 4;mesh 3",
    "fully_connected;5;5, fully_connected 5",
    "switch;5;5, switch 5",
  })
  void shortForms_inDimensions_haveTheSameRoutes(String shortForm, String words)
      throws IOException {
    String[] form = shortForm.split(";");
    Machine flat =
        Machines.load(
            "ring",
            List.of(
                "system.sips.topology=" + form[0],
                "system.sips.count=" + form[1],
                "system.sips.w=" + form[2],
                "system.sips.h=auto"));
    StringBuilder network = new StringBuilder();
    for (String word : words.split(";")) {
      network.append(dimension(word.split(" ")[0], Integer.parseInt(word.split(" ")[1]), 200, 250));
    }
    Machine levels = machine("ring", network.toString());
    assertThat(levels.sips()).isEqualTo(flat.sips());
    assertThat(levels.linkCount()).isEqualTo(flat.linkCount());
    assertThat(levels.dimensions()).isEqualTo(flat.dimensions());
    for (int from = 0; from < flat.sips(); from++) {
      for (int to = 0; to < flat.sips(); to++) {
        if (from != to) {
          assertThat(way(levels, from, to)).isEqualTo(way(flat, from, to));
        }
      }
    }
  }

  private static List<String> way(Machine m, int from, int to) {
    List<String> way = new ArrayList<>();
    for (int link : m.route(new Pe(from, 0, 0), new Pe(to, 0, 0)).links()) {
      way.add(m.link(link).name() + " " + m.specOf(link));
    }
    return way;
  }

  /** Shifts against places: ends, kinds and rates stay what they are, and routes become routes. */
  @Test
  void shifts_ofManyNetworks_takeLinksToLinksAndRoutesToRoutes() throws IOException {
    SplittableRandom random = new SplittableRandom(4);
    for (int i = 0; i < 25; i++) {
      Machine m = machine("ring", random(random, List.of("ring", "fully_connected", "switch")));
      if (m.sips() < 2) {
        continue;
      }
      Symmetry s = m.symmetry().orElseThrow();
      for (int by = 0; by < m.sips(); by++) {
        Set<Integer> images = new HashSet<>();
        for (int id = 0; id < m.linkCount(); id++) {
          int to = s.shiftedLink(id, by);
          images.add(to);
          assertThat(m.specOf(to)).isEqualTo(m.specOf(id));
          if (m.linkKind(id) != LinkKind.HOST_LINK) {
            assertThat(end(m, to, m.linkFrom(to)))
                .isEqualTo(shiftedPlaces(m, end(m, id, m.linkFrom(id)), by));
            assertThat(end(m, to, m.linkTo(to)))
                .isEqualTo(shiftedPlaces(m, end(m, id, m.linkTo(id)), by));
          }
          assertThat(s.classOf(to)).isEqualTo(s.classOf(id));
        }
        assertThat(images).hasSize(m.linkCount());
        int from = random.nextInt(m.sips());
        int to = random.nextInt(m.sips());
        if (from != to) {
          int[] way = m.route(new Pe(from, 0, 0), new Pe(to, 0, 0)).links();
          int[] image =
              m.route(s.shifted(new Pe(from, 0, 0), by), s.shifted(new Pe(to, 0, 0), by)).links();
          int shift = by;
          assertThat(image)
              .isEqualTo(Arrays.stream(way).map(l -> s.shiftedLink(l, shift)).toArray());
        }
      }
      int[] all = m.soleFeeders();
      int[] own = s.soleFeeders();
      for (int c = 0; c < s.classes(); c++) {
        int feeder = all[s.linkOf(c)];
        assertThat(own[c]).isEqualTo(feeder < 0 ? -1 : s.classOf(feeder));
      }
    }
  }

  private static String shiftedPlaces(Machine m, String end, int by) {
    String[] words = end.substring(1, end.length() - 1).split(", ");
    int[] places = new int[words.length];
    int[] turn = places(m, by);
    for (int d = 0; d < words.length; d++) {
      int place = Integer.parseInt(words[d]);
      places[d] = place < 0 ? place : (place + turn[d]) % m.dimensions().get(d).size();
    }
    return words(places);
  }

  @ParameterizedTest
  @ValueSource(strings = {"0-1", "0-4", "0-switch2"})
  void slowLink_byName_isSlowThereAndNowhereElse(String name) throws IOException {
    String network =
        dimension("ring", 4, 10, 1) + dimension("mesh", 3, 11, 2) + dimension("switch", 2, 12, 3);
    Machine m = machine("ring", network, "system.sips.links=" + name + " 1 GB/s");
    int slow = 0;
    for (int id = 0; id < m.linkCount(); id++) {
      slow += m.specOf(id).rate().bytesPerSecond() == 1_000_000_000 ? 1 : 0;
    }
    assertThat(slow).isEqualTo(2);
    assertThat(m.unequalSipLinks()).containsExactly(name + " 1 GB/s");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{kind: rung, size: 4} | system.network[0].kind: got \"rung\"; expected ring, mesh, fully_connected or switch; did you mean ring?",
        "{kind: ring, size: 0, bandwidth: 1 GB/s, latency: 1 ns} | network[0].size: got \"0\"; expected a whole number from 1",
        "{kind: ring, size: 4, bandwidth: 1 GB/s} | network[0].latency: missing",
        "{kind: ring, size: 4, bandwidth: 1 GB/s, latency: 1 ns, forward: cut_through} | only a switch has this",
        "{kind: ring, size: 4, bandwidth: 1 GB/s, latency: 1 ns, sise: 3} | network[0].sise: unknown key; did you mean size?",
        "4 | system.network[0]: got \"4\"; expected a section of keys",
        "{kind: ring, size: 16777216, bandwidth: 1 GB/s, latency: 1 ns}, {kind: ring, size: 2, bandwidth: 1 GB/s, latency: 1 ns} | = 33554432 sips",
        "{kind: ring, size: 4, bandwidth: 1 GB/s, latency: 1 ns, latency_elsewhere: 2 ns} | expected less than the latency",
      })
  void load_oneThingWrong_saysWhatWasExpected(String entry, String message) throws IOException {
    Path file = folder.resolve("bad.yaml");
    Files.writeString(file, "description: x\nextends: ring\nsystem:\n  network: [" + entry + "]\n");
    assertThatThrownBy(() -> Machines.load(file.toString(), List.of()))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("bad.yaml:4:")
        .hasMessageContaining(message);
  }

  @Test
  void load_twoCountsInOneFile_saysSo() throws IOException {
    Path file = folder.resolve("two.yaml");
    Files.writeString(
        file,
        "description: x\nextends: ring\nsystem:\n  sips: {count: 5}\n  network:\n"
            + dimension("ring", 4, 1, 1));
    assertThatThrownBy(() -> Machines.load(file.toString(), List.of()))
        .hasMessageContaining("got 5, but system.network has 4 = 4 sips; leave one of the two out");
  }

  @Test
  void override_ofOneDimension_leavesTheOthers() throws IOException {
    String network = dimension("ring", 4, 10, 1) + dimension("switch", 2, 20, 1);
    Machine m = machine("ring", network, "system.network[1].bandwidth=30 GB/s");
    assertThat(m.dimensions().get(0).link().rate().bytesPerSecond()).isEqualTo(10_000_000_000L);
    assertThat(m.dimensions().get(1).link().rate().bytesPerSecond()).isEqualTo(30_000_000_000L);
  }

  @Test
  void deadLink_toASwitch_isRefused() {
    String network = dimension("switch", 4, 10, 1);
    assertThatThrownBy(() -> machine("ring", network, "system.sips.links=0-switch0 dead"))
        .hasMessageContaining("no route goes round a switch; make it slow instead");
    assertThatThrownBy(() -> machine("ring", network, "system.sips.links=0-1 1 GB/s"))
        .hasMessageContaining("joined otherwise, e.g. \"0-switch0 50 GB/s\"");
  }
}
