package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Shifts against what they claim: ends, kinds, rates and routes stay what they are. */
final class SymmetryTest {
  private static final List<String> MACHINES =
      List.of(
          "ring_1d 3 1",
          "ring_1d 7 1",
          "ring_1d 8 1",
          "torus_2d 3 4",
          "torus_2d 5 3",
          "torus_2d 4 1",
          "torus_2d 1 5",
          "fully_connected 5 1",
          "fully_connected 2 1",
          "switch 4 1",
          "switch 2 1");

  private static Machine machine(String words) {
    String[] w = words.split(" ");
    int count = Integer.parseInt(w[1]) * Integer.parseInt(w[2]);
    List<String> overrides =
        new ArrayList<>(
            List.of(
                "system.sips.topology=" + w[0],
                "system.sips.count=" + count,
                "sip.cube_mesh.w=2",
                "cube.noc.w=2",
                "cube.pe_layout.pe_per_corner=2"));
    if (w[0].equals("torus_2d")) {
      overrides.add("system.sips.w=" + w[1]);
      overrides.add("system.sips.h=" + w[2]);
    }
    return Machines.load("ring", overrides);
  }

  /** By package and node in it, worked out without the class under test. */
  private static int shiftedNode(Machine m, int node, int sip) {
    int nodes = m.hostNode() / m.sips();
    return node >= m.hostNode() ? node : sip * nodes + node % nodes;
  }

  private static int shiftedSip(Machine m, int sip, int by) {
    if (!m.sipTopology().isGrid()) {
      return (sip + by) % m.sips();
    }
    int w = m.sipGridWidth();
    int h = m.sipGridHeight();
    return (sip / w + by / w) % h * w + (sip + by % w - sip / w * w) % w;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  void everyShift_takesLinksToLinksOfTheSameEndsKindAndRate(int index) {
    Machine m = machine(MACHINES.get(index));
    Symmetry s = m.symmetry().orElseThrow();
    assertThat(s.order()).isEqualTo(m.sips());
    for (int by = 0; by < m.sips(); by++) {
      Set<Integer> images = new HashSet<>();
      for (int id = 0; id < m.linkCount(); id++) {
        int to = s.shiftedLink(id, by);
        images.add(to);
        assertThat(m.linkKind(to)).isEqualTo(m.linkKind(id));
        assertThat(m.specOf(to)).isEqualTo(m.specOf(id));
        assertThat(m.linkFrom(to)).isEqualTo(shifted(m, m.linkFrom(id), by));
        assertThat(m.linkTo(to)).isEqualTo(shifted(m, m.linkTo(id), by));
        assertThat(s.classOf(to)).isEqualTo(s.classOf(id));
        assertThat(m.packageOfLink(to)).isEqualTo(shiftedSip(m, m.packageOfLink(id), by));
        assertThat(s.shiftedSip(m.packageOfLink(id), by)).isEqualTo(m.packageOfLink(to));
      }
      assertThat(images).hasSize(m.linkCount());
    }
    for (int c = 0; c < s.classes(); c++) {
      assertThat(s.classOf(s.linkOf(c))).isEqualTo(c);
      assertThat(m.packageOfLink(s.linkOf(c))).isZero();
    }
    assertThat(s.classes() * m.sips()).isEqualTo(m.linkCount());
  }

  private static int shifted(Machine m, int node, int by) {
    return node >= m.hostNode() ? node : shiftedNode(m, node, shiftedSip(m, m.packageOf(node), by));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  void randomRoutes_goToRoutes_andOwnersLieAlike(int index) {
    Machine m = machine(MACHINES.get(index));
    Symmetry s = m.symmetry().orElseThrow();
    SplittableRandom random = new SplittableRandom(index);
    for (int i = 0; i < 300; i++) {
      int from = random.nextInt(m.hostNode());
      int to = random.nextInt(m.hostNode());
      int by = random.nextInt(m.sips());
      if (from == to) {
        continue;
      }
      int[] route = m.route(from, to).links();
      int[] image = m.route(shifted(m, from, by), shifted(m, to, by)).links();
      assertThat(image).isEqualTo(Arrays.stream(route).map(id -> s.shiftedLink(id, by)).toArray());
      for (int k = 0; k < route.length; k++) {
        int owner = m.packageOf(from);
        assertThat(m.displacement(m.packageOfLink(image[k]), shiftedSip(m, owner, by)))
            .isEqualTo(m.displacement(m.packageOfLink(route[k]), owner))
            .isBetween(0, m.sips() - 1);
      }
    }
  }

  @Test
  void feeders_ofPackage0_areThoseOfTheWholeMachine() {
    for (String words : MACHINES) {
      Machine m = machine(words);
      Symmetry s = m.symmetry().orElseThrow();
      int[] all = m.soleFeeders();
      int[] own = s.soleFeeders();
      for (int id = 0; id < m.linkCount(); id++) {
        int expected = all[id] < 0 ? -1 : s.classOf(all[id]);
        assertThat(own[s.classOf(id)]).as("%s, %s", words, m.link(id)).isEqualTo(expected);
      }
    }
  }

  /** On a ring of 5, seen from package 2: as they are numbered. */
  @Test
  void seats_whereNothingWraps_growWithTheNumber() {
    Machine m = machine("ring_1d 5 1");
    assertThat(IntStream.range(0, 5).map(sip -> m.seat(2, sip)).toArray())
        .containsExactly(0, 1, 2, 3, 4);
    Machine torus = machine("torus_2d 3 3");
    assertThat(IntStream.range(0, 9).map(sip -> torus.seat(4, sip)).toArray())
        .containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8);
  }

  @Test
  void displacements_ofAllPackagesFromOne_areDifferent() {
    for (String words : MACHINES) {
      Machine m = machine(words);
      Set<Integer> seen = new HashSet<>();
      for (int sip = 0; sip < m.sips(); sip++) {
        seen.add(m.displacement(1, sip));
      }
      assertThat(seen).as(words).hasSize(m.sips());
      assertThat(m.displacement(1, 1)).isZero();
      assertThat(IntStream.range(0, m.sips()).map(sip -> m.seat(1, sip)).sorted().toArray())
          .as(words)
          .containsExactly(IntStream.range(0, m.sips()).toArray());
      Symmetry s = m.symmetry().orElseThrow();
      for (int id = 0; id < m.linkCount(); id++) {
        assertThat(s.linkOf(s.classOf(id), m.seat(m.packageOfLink(id), 0))).isEqualTo(id);
      }
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "system.sips.links=0-1 10 GB/s|system.sips.links makes links different",
        "system.sips.slow=1 compute 0.5|system.sips.slow makes packages different",
        "system.sips.topology=mesh_2d_no_wrap|use torus_2d",
        "system.sips.count=2|an axis of 2",
        "system.sips.count=1|one package",
      })
  void machineThatIsNotAlike_hasNoShifts_andSaysWhy(String override, String why) {
    Machine m = Machines.load("ring", List.of(override));
    assertThat(m.symmetry()).isEmpty();
    assertThat(Symmetry.obstacle(m).orElseThrow()).contains(why);
  }
}
