package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.spec.RouterAllocator;
import org.kernbench.machine.spec.RouterSpec;

/** Links between packages and the dimension they lead along, from the places of their ends. */
class PackageLinksTest {
  @ParameterizedTest
  @CsvSource({
    "torus_2d, 12, 4, 3",
    "torus_2d, 6, 3, 2",
    "mesh_2d_no_wrap, 12, 4, 3",
    "mesh_2d_no_wrap, 3, 1, 3",
    "ring_1d, 5, 5, 1",
  })
  void dimension_isTheOneInWhichTheEndsDiffer(String topology, int count, int width, int height) {
    boolean ring = topology.equals("ring_1d");
    List<String> sets =
        new java.util.ArrayList<>(
            List.of("system.sips.topology=" + topology, "system.sips.count=" + count));
    if (!ring) {
      sets.addAll(List.of("system.sips.w=" + width, "system.sips.h=" + height));
    }
    Machine machine = Machines.load("sip-2026", sets);
    int[] along = new int[2];
    for (int id = 0; id < machine.linkCount(); id++) {
      Link link = machine.link(id);
      if (!link.kind().isBetweenSips()) {
        continue;
      }
      int from = machine.node(link.fromNode()).sip();
      int to = machine.node(link.toNode()).sip();
      boolean sameRow = from / width == to / width;
      assertThat(sameRow || from % width == to % width).as(link.name()).isTrue();
      assertThat(machine.dimensionOf(id)).as(link.name()).isEqualTo(sameRow ? 0 : 1);
      along[machine.dimensionOf(id)]++;
    }
    // each pair of neighbours has a link each way; a line of n has n - 1 pairs, a cycle n
    boolean wraps = !topology.equals("mesh_2d_no_wrap");
    assertThat(along[0]).isEqualTo(2 * height * pairs(width, wraps));
    assertThat(along[1]).isEqualTo(2 * width * pairs(height, wraps));
  }

  private static int pairs(int n, boolean wraps) {
    return n == 1 ? 0 : wraps && n > 2 ? n : n - 1;
  }

  @Test
  void pipeline_ofARouter_isTheSumOfItsStages() {
    assertThat(new RouterSpec(1, 2, 30, 400, 5000, RouterAllocator.IDEAL, 1, 1, 1).pipelineCycles())
        .isEqualTo(5432);
  }
}
