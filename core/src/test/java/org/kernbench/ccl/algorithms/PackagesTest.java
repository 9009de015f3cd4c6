package org.kernbench.ccl.algorithms;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.tensor.DType;
import org.kernbench.torch.placement.RankLevel;

/** Packages in the rows, columns and rings in which they exchange; the chunks of their trees. */
final class PackagesTest {
  private static AlgorithmConfig config(String... set) {
    return CclConfig.load(Optional.empty(), List.of(set)).of("root_center_pipelined");
  }

  private static Group group(Machine machine) {
    return new Group(machine, RankLevel.SIP, Bed.leads(machine, RankLevel.SIP, machine.sips()));
  }

  private static Machine packages(String topology, int count, String width) {
    return Machines.load(
        "ring",
        List.of(
            "system.sips.topology=" + topology,
            "system.sips.count=" + count,
            "system.sips.w=" + width,
            "system.sips.h=auto"));
  }

  private static int hops(Machine machine, int from, int to) {
    int hops = 0;
    for (int link : machine.route(new Pe(from, 0, 0), new Pe(to, 0, 0)).links()) {
      hops += machine.linkKind(link) == LinkKind.SIP_TO_SIP ? 1 : 0;
    }
    return hops;
  }

  /**
   * A ring through a grid goes from each package to a neighbour, and from the last to the first.
   */
  @ParameterizedTest
  @CsvSource({
    "torus_2d, 6, 3",
    "mesh_2d_no_wrap, 6, 3",
    "mesh_2d_no_wrap, 8, 4",
    "torus_2d, 16, 4"
  })
  void ring_onAGrid_goesThroughNeighbours(String topology, int count, String width) {
    Machine machine = packages(topology, count, width);
    int[][] roots =
        new Packages(group(machine), config("algorithms.root_center_pipelined.topology=ring_1d"))
            .roots();

    assertThat(roots.length).isEqualTo(1);
    assertThat(roots[0]).hasSize(count);
    assertThat(IntStream.of(roots[0]).distinct().count()).isEqualTo(count);
    assertThat(roots[0][0]).isZero();
    for (int i = 0; i < count; i++) {
      assertThat(hops(machine, roots[0][i], roots[0][(i + 1) % count])).isEqualTo(1);
    }
    assertThat(roots[0])
        .as("by number they are no neighbours")
        .isNotEqualTo(IntStream.range(0, count).toArray());
  }

  @Test
  void grid_hasItsRowsAndColumns_andARingItsNumbers() {
    assertThat(new Packages(group(packages("torus_2d", 6, "3")), config()).roots())
        .isDeepEqualTo(new int[][] {{0, 1, 2}, {3, 4, 5}});
    assertThat(new Packages(group(packages("mesh_2d_no_wrap", 6, "2")), config()).roots())
        .isDeepEqualTo(new int[][] {{0, 1}, {2, 3}, {4, 5}});
    assertThat(new Packages(group(packages("ring_1d", 5, "auto")), config()).roots())
        .isDeepEqualTo(new int[][] {{0, 1, 2, 3, 4}});
    assertThat(new Packages(group(packages("torus_2d", 6, "3")), config()).network())
        .isEqualTo(Packages.Network.RINGS);
    assertThat(new Packages(group(packages("mesh_2d_no_wrap", 6, "3")), config()).network())
        .isEqualTo(Packages.Network.LINES);
  }

  /**
   * As many whole elements as the bytes that are asked for hold, one at least, the vector at most.
   */
  @ParameterizedTest
  @CsvSource({
    "64, F32, 1000, 16",
    "67, F32, 1000, 16",
    "68, F32, 1000, 17",
    "64, F16, 1000, 32",
    "3, F32, 1000, 1",
    "64, F32, 16, 16",
    "64, F32, 15, 15",
    "1000000, F32, 1000, 1000"
  })
  void chunk_isAsLongAsAskedFor(int bytes, DType dtype, int elements, int chunk) {
    Machine machine = packages("ring_1d", 3, "auto");
    AlgorithmConfig config = config("algorithms.root_center_pipelined.chunk=" + bytes + " B");
    Tree tree = new Tree(3);
    tree.add(1, "W", 0, "E");
    tree.add(2, "W", 1, "E");

    TreeSchedule.Pace pace =
        new ChunkPacing(group(machine), machine.ipcq(), config, tree).of(elements, dtype);

    assertThat(pace.chunkElements()).isEqualTo(chunk);
    int chunks = (elements + chunk - 1) / chunk;
    assertThat(pace.lag()).hasSize(3);
    assertThat(IntStream.of(pace.lag())).allMatch(lag -> lag <= chunks);
    assertThat(pace.lag()[0]).isZero();
  }

  /** Without a wish it fits a slot, and the vector. */
  @Test
  void chunk_thatNobodyAskedFor_fitsASlot() {
    Machine machine = packages("ring_1d", 3, "auto");
    Tree tree = new Tree(3);
    tree.add(1, "W", 0, "E");
    tree.add(2, "W", 1, "E");
    ChunkPacing pacing = new ChunkPacing(group(machine), machine.ipcq(), config(), tree);

    for (int elements : new int[] {1, 7, 1000, 1 << 20}) {
      int chunk = pacing.of(elements, DType.F32).chunkElements();
      assertThat(chunk).isBetween(1, elements);
      assertThat(4L * chunk).isLessThanOrEqualTo(machine.ipcq().slotBytes());
    }
  }
}
