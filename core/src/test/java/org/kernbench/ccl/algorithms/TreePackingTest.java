package org.kernbench.ccl.algorithms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Ideal;
import org.kernbench.ccl.bounds.Cuts;
import org.kernbench.ccl.bounds.RankGraph;
import org.kernbench.machine.Machine;
import org.kernbench.torch.placement.RankLevel;

/** Packed trees are spanning trees, and reach the strength that minimum cuts find. */
final class TreePackingTest {
  @ParameterizedTest
  @CsvSource({
    "ring_1d, 6, auto",
    "ring_1d, 7, auto",
    "ring_1d, 2, auto",
    "ring_1d, 3, auto",
    "torus_2d, 6, 3",
    "torus_2d, 9, 3",
    "torus_2d, 16, 4",
    "torus_2d, 12, 4",
    "mesh_2d_no_wrap, 6, 3",
    "mesh_2d_no_wrap, 15, 5",
    "mesh_2d_no_wrap, 16, 4",
    "mesh_2d_no_wrap, 5, 5",
    "mesh_2d_no_wrap, 9, 3"
  })
  void pack_packages_reachesTheStrength(String topology, int count, String width) {
    Ideal ideal = new Ideal(0, 100_000, 128, 512, Ideal.Bottleneck.LINK);
    Machine machine =
        ideal.ring(count, "system.sips.topology=" + topology, "system.sips.w=" + width);
    check(new Group(machine, RankLevel.SIP, Bed.leads(machine, RankLevel.SIP, count)));
  }

  @ParameterizedTest
  @CsvSource({"4, 4", "3, 5", "2, 3", "1, 7"})
  void pack_cubes_reachesTheStrength(int width, int height) {
    Ideal ideal = new Ideal(0, 100_000, 128, 512, Ideal.Bottleneck.LINK);
    Machine machine = ideal.mesh(width, height);
    int n = width * height;
    check(new Group(machine, RankLevel.CUBE, Bed.leads(machine, RankLevel.CUBE, n)));
  }

  private static void check(Group group) {
    TreePacking packing = new TreePacking(group);
    double strength = new Cuts(new RankGraph(group.machine(), group.leads())).strength();
    double withEight = Double.POSITIVE_INFINITY;
    double best = Double.POSITIVE_INFINITY;
    for (List<TreePacking.Packed> trees : packing.candidates()) {
      double share = 0;
      for (TreePacking.Packed tree : trees) {
        share += tree.share();
        assertThat(spans(packing, tree, group.size())).isTrue();
      }
      assertThat(share).isCloseTo(1, within(1e-9));
      double toStrength = packing.secondsPerByte(trees) * strength / 2;
      assertThat(toStrength).isGreaterThan(1 - 1e-6);
      best = Math.min(best, toStrength);
      if (packing.mostTrees(trees) <= 8) {
        withEight = Math.min(withEight, toStrength);
      }
    }
    assertThat(best).isLessThan(1.002);
    assertThat(withEight).isLessThan(group.size() > 10 && group.size() != 16 ? 1.08 : 1.06);
  }

  private static boolean spans(TreePacking packing, TreePacking.Packed tree, int n) {
    int[] component = new int[n];
    Arrays.setAll(component, i -> i);
    for (int e : tree.edges()) {
      TreePacking.Edge edge = packing.edges().get(e);
      int old = component[edge.a()];
      int now = component[edge.b()];
      if (old == now) {
        return false;
      }
      for (int i = 0; i < n; i++) {
        component[i] = component[i] == old ? now : component[i];
      }
    }
    return tree.edges().length == n - 1;
  }
}
