package org.kernbench.torch.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.placement.DpPolicy.Split;

final class PolicyPlacementTest {
  private static final Device PACKAGE = new Device(1, RankLevel.SIP, new Pe(1, 0, 0), 4, 2);

  @Test
  void resolve_single_wholeOnTheLeadPe() {
    List<ShardSpec> shards =
        PolicyPlacement.resolve("x", Shape.of(3, 5), DpPolicy.single(), PACKAGE);
    assertThat(shards).containsExactly(new ShardSpec(1, 0, 0, List.of(0, 0), Shape.of(3, 5)));
  }

  @Test
  void resolve_sevenColumnsOnFourPlaces_raggedAndExact() {
    DpPolicy columns = DpPolicy.of(Split.COLUMN_WISE, Split.REPLICATE).withPes(1);
    List<ShardSpec> shards = PolicyPlacement.resolve("x", Shape.of(2, 7), columns, PACKAGE);
    assertThat(shards)
        .containsExactly(
            new ShardSpec(1, 0, 0, List.of(0, 0), Shape.of(2, 2)),
            new ShardSpec(1, 1, 0, List.of(0, 2), Shape.of(2, 2)),
            new ShardSpec(1, 2, 0, List.of(0, 4), Shape.of(2, 2)),
            new ShardSpec(1, 3, 0, List.of(0, 6), Shape.of(2, 1)));
  }

  @Test
  void resolve_cubeRowsPeColumns_blocks() {
    DpPolicy blocks = DpPolicy.of(Split.ROW_WISE, Split.COLUMN_WISE).withCubes(2).withPes(2);
    List<ShardSpec> shards = PolicyPlacement.resolve("x", Shape.of(4, 6), blocks, PACKAGE);
    assertThat(shards)
        .containsExactly(
            new ShardSpec(1, 0, 0, List.of(0, 0), Shape.of(2, 3)),
            new ShardSpec(1, 0, 1, List.of(0, 3), Shape.of(2, 3)),
            new ShardSpec(1, 1, 0, List.of(2, 0), Shape.of(2, 3)),
            new ShardSpec(1, 1, 1, List.of(2, 3), Shape.of(2, 3)));
  }

  @Test
  void resolve_fewerRowsThanPlaces_emptyShards() {
    List<ShardSpec> shards =
        PolicyPlacement.resolve("x", Shape.of(3, 2), DpPolicy.rowWise(), PACKAGE);
    assertThat(shards).hasSize(8);
    assertThat(shards.stream().mapToLong(s -> s.shape().elements()).sum()).isEqualTo(6);
    assertThat(shards).anyMatch(s -> s.shape().elements() == 0);
  }

  /** Independent of the rule: every element is held exactly once per copy, and parts are even. */
  @ParameterizedTest
  @CsvSource({"1, ROW_WISE", "7, ROW_WISE", "8, COLUMN_WISE", "13, COLUMN_WISE", "0, ROW_WISE"})
  void resolve_splitOverAllPes_tilesTheTensorOnce(int extent, Split split) {
    Shape shape = Shape.of(extent, 3, extent);
    List<ShardSpec> shards =
        PolicyPlacement.resolve("x", shape, DpPolicy.of(split, split), PACKAGE);
    int[] holders = new int[(int) shape.elements()];
    List<Integer> extents = new ArrayList<>();
    int axis = split == Split.ROW_WISE ? 0 : 2;
    for (ShardSpec s : shards) {
      extents.add(s.shape().dim(axis));
      for (int i = 0; i < s.shape().dim(0); i++) {
        for (int j = 0; j < s.shape().dim(1); j++) {
          for (int k = 0; k < s.shape().dim(2); k++) {
            int at = (s.offset().get(0) + i) * 3 * extent;
            at += (s.offset().get(1) + j) * extent + s.offset().get(2) + k;
            holders[at]++;
          }
        }
      }
    }
    assertThat(holders).containsOnly(extent == 0 ? new int[0] : new int[] {1});
    int most = extents.stream().mapToInt(Integer::intValue).max().orElseThrow();
    int least = extents.stream().mapToInt(Integer::intValue).min().orElseThrow();
    assertThat(most - least).isLessThanOrEqualTo(2); // one per level
  }

  /** Tiles of four cubes: a grid of 2 x 2, counted along rows or along columns. */
  @Test
  void resolve_tiles_gridAsSquareAsPossible() {
    DpPolicy rows = DpPolicy.of(Split.TILED_ROW_MAJOR, Split.REPLICATE).withPes(1);
    assertThat(PolicyPlacement.resolve("x", Shape.of(4, 9, 6), rows, PACKAGE))
        .containsExactly(
            new ShardSpec(1, 0, 0, List.of(0, 0, 0), Shape.of(2, 9, 3)),
            new ShardSpec(1, 1, 0, List.of(0, 0, 3), Shape.of(2, 9, 3)),
            new ShardSpec(1, 2, 0, List.of(2, 0, 0), Shape.of(2, 9, 3)),
            new ShardSpec(1, 3, 0, List.of(2, 0, 3), Shape.of(2, 9, 3)));
    DpPolicy columns = DpPolicy.of(Split.TILED_COLUMN_MAJOR, Split.REPLICATE).withPes(1);
    assertThat(DpPolicy.tiledColumnMajor())
        .isEqualTo(DpPolicy.of(Split.TILED_COLUMN_MAJOR, Split.TILED_COLUMN_MAJOR));
    assertThat(PolicyPlacement.resolve("x", Shape.of(4, 6), columns, PACKAGE))
        .containsExactly(
            new ShardSpec(1, 0, 0, List.of(0, 0), Shape.of(2, 3)),
            new ShardSpec(1, 1, 0, List.of(2, 0), Shape.of(2, 3)),
            new ShardSpec(1, 2, 0, List.of(0, 3), Shape.of(2, 3)),
            new ShardSpec(1, 3, 0, List.of(2, 3), Shape.of(2, 3)));
    // a prime number of places is one row of tiles
    assertThat(PolicyPlacement.resolve("x", Shape.of(2, 3), rows.withCubes(3), PACKAGE))
        .extracting(ShardSpec::shape)
        .containsOnly(Shape.of(2, 1));
  }

  /**
   * Independent of the rule: whatever the policy, the distinct parts tile the tensor, and each is
   * held as often as the levels that replicate have places.
   */
  @Test
  void resolve_everyPolicy_everyElementHeldAsOftenAsThereAreCopies() {
    Device wide = new Device(0, RankLevel.SIP, new Pe(0, 0, 0), 6, 8);
    for (int[] dims : new int[][] {{7, 5}, {1, 1}, {0, 4}, {13, 2, 11}, {3, 4, 1, 2}}) {
      Shape shape = Shape.of(dims);
      for (Split cube : Split.values()) {
        for (Split pe : Split.values()) {
          List<ShardSpec> shards = PolicyPlacement.resolve("x", shape, DpPolicy.of(cube, pe), wide);
          int copies = (cube == Split.REPLICATE ? 6 : 1) * (pe == Split.REPLICATE ? 8 : 1);
          int[] holders = new int[(int) shape.elements()];
          for (ShardSpec s : shards) {
            count(s, shape, 0, 0, holders);
          }
          assertThat(shards).as("%s %s %s", cube, pe, shape).hasSize(48);
          assertThat(holders).as("%s %s %s", cube, pe, shape).containsOnly(all(copies, holders));
        }
      }
    }
  }

  private static int[] all(int copies, int[] holders) {
    return holders.length == 0 ? new int[0] : new int[] {copies};
  }

  private static void count(ShardSpec part, Shape whole, int axis, int at, int[] holders) {
    if (axis == whole.rank()) {
      holders[at]++;
      return;
    }
    for (int i = 0; i < part.shape().dim(axis); i++) {
      int index = part.offset().get(axis) + i;
      count(part, whole, axis + 1, at * whole.dim(axis) + index, holders);
    }
  }

  @Test
  void resolve_vectorInTiles_isAnError() {
    assertThatThrownBy(
            () -> PolicyPlacement.resolve("v", Shape.of(8), DpPolicy.tiledRowMajor(), PACKAGE))
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("tensor v: a vector cannot be divided into tiles");
  }

  @Test
  void parse_whatToStringWrites_samePolicy() {
    for (Split cube : Split.values()) {
      for (Split pe : Split.values()) {
        DpPolicy policy = DpPolicy.of(cube, pe).withCubes(3);
        assertThat(DpPolicy.parse(policy.toString())).isEqualTo(policy);
      }
    }
    assertThat(DpPolicy.parse("PE=Column-Wise, num-pes=2"))
        .isEqualTo(DpPolicy.of(Split.REPLICATE, Split.COLUMN_WISE).withPes(2));
    assertThat(DpPolicy.parse("")).isEqualTo(DpPolicy.replicate());
  }

  @Test
  void parse_wrongWords_sayWhatWasExpected() {
    assertThatThrownBy(() -> DpPolicy.parse("cube=rowwise"))
        .hasMessageContaining("placement cube=rowwise: unknown split; did you mean row_wise?");
    assertThatThrownBy(() -> DpPolicy.parse("cubes=row_wise"))
        .hasMessageContaining("unknown key in cubes=row_wise; did you mean cube?");
    assertThatThrownBy(() -> DpPolicy.parse("num_pes=two"))
        .hasMessageContaining("placement num_pes=two: expected a whole number");
  }

  /** A placement has no axis across packages; whoever asks for one is told what to do instead. */
  @Test
  void parse_splitAcrossPackages_saysThatATensorLiesOnOneDevice() {
    for (String request : List.of("sip=row_wise", "num_sips=2", "cube=row_wise num-sips=2")) {
      assertThatThrownBy(() -> DpPolicy.parse(request))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("asks for a split across packages")
          .hasMessageContaining("make one tensor per rank");
    }
  }

  @Test
  void resolve_moreCubesThanTheDeviceHas_saysWhatThereIs() {
    assertThatThrownBy(() ->
            PolicyPlacement.resolve("w", Shape.of(8), DpPolicy.rowWise().withCubes(5), PACKAGE))
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("tensor w")
        .hasMessageContaining("5 cubes")
        .hasMessageContaining("device 1 (sip sip1) has 4");
  }

  @Test
  void resolve_scalarDivided_isAnError() {
    assertThatThrownBy(() -> PolicyPlacement.resolve("s", Shape.of(), DpPolicy.rowWise(), PACKAGE))
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("scalar");
  }

  @Test
  void policy_zeroPes_isAnError() {
    assertThatThrownBy(() -> DpPolicy.replicate().withPes(0))
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("numPes: got 0");
  }
}
