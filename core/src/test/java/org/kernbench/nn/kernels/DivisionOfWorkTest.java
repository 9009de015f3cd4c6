package org.kernbench.nn.kernels;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.Pe;
import org.kernbench.torch.placement.Device;
import org.kernbench.torch.placement.Mesh;
import org.kernbench.torch.placement.RankLevel;

/** Whatever the grid of PEs, each piece of work is done once. */
final class DivisionOfWorkTest {
  @ParameterizedTest
  @CsvSource({
    "1, 1, 1, 1, 1",
    "300, 395, 1, 1, 8",
    "2048, 4096, 4, 4, 8",
    "4096, 1000, 3, 2, 6",
    "100, 5000, 4, 4, 8",
    "129, 127, 2, 3, 5",
  })
  void tiles_ofAllPlaces_coverEveryElementOnce(int m, int n, int down, int across, int pes) {
    TileGrid grid = TileGrid.of(m, n, 128, 64, new TileGrid.Places(down, across), pes);
    int[][] times = new int[m][n];
    int most = 0;
    for (int group = 0; group < down * across; group++) {
      for (int place = 0; place < grid.inner().count(); place++) {
        int tiles = 0;
        for (TileGrid.Rectangle r : TileGrid.blocks(grid.tilesOf(group, place), 2, 2)) {
          assertThat(r.rows().to() - r.rows().from()).isLessThanOrEqualTo(2);
          for (int i = r.rows().from() * 128; i < Math.min(m, r.rows().to() * 128); i++) {
            for (int j = r.columns().from() * 64; j < Math.min(n, r.columns().to() * 64); j++) {
              times[i][j]++;
            }
          }
          tiles += (r.rows().to() - r.rows().from()) * (r.columns().to() - r.columns().from());
        }
        most = Math.max(most, tiles);
      }
    }
    for (int[] row : times) {
      assertThat(row).containsOnly(1);
    }
    int all = Math.ceilDiv(m, 128) * Math.ceilDiv(n, 64);
    assertThat(grid.inner().count()).isLessThanOrEqualTo(pes);
    assertThat(most).isGreaterThanOrEqualTo(Math.ceilDiv(all, down * across * pes));
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1, 1, 1, 3, 300",
    "4, 4, 8, 1, 32, 2048",
    "2, 2, 2, 2, 3, 300",
    "4, 4, 8, 1, 2, 2048",
    "3, 2, 6, 1, 5, 1000",
  })
  void headTiles_ofAllPlaces_areVisitedOnce(
      int high, int wide, int pes, int samples, int heads, int rows) {
    Device device = new Device(0, RankLevel.SIP, new Pe(0, 0, 0), high * wide, pes);
    Mesh mesh =
        new Mesh(
            device,
            List.of(
                new Mesh.Axis("row", high), new Mesh.Axis("col", wide), new Mesh.Axis("pe", pes)));
    List<String> visited = new ArrayList<>();
    for (int place = 0; place < mesh.size(); place++) {
      HeadRows.deal(
          mesh,
          place,
          samples,
          heads,
          rows,
          128,
          (sample, head, row, count) -> {
            assertThat(count).isEqualTo(Math.min(128, rows - row));
            visited.add(sample + " " + head + " " + row);
          });
    }
    List<String> expected = new ArrayList<>();
    for (int s = 0; s < samples; s++) {
      for (int h = 0; h < heads; h++) {
        for (int row = 0; row < rows; row += 128) {
          expected.add(s + " " + h + " " + row);
        }
      }
    }
    assertThat(visited).containsExactlyInAnyOrderElementsOf(expected);
  }
}
