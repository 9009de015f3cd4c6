package org.kernbench.tl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;

/** The room that a tile is said to need, counted by hand. */
final class TileNeedTest {
  /** Of f16: tiles of A and B for each buffer, and the sums of an output tile in f32. */
  @ParameterizedTest
  @CsvSource({
    "16, 32, 64, 2, 18432", // 2 (16 * 32 + 32 * 64) * 2 + 16 * 64 * 2 * 4
    "16, 32, 64, 3, 23552",
    "8, 16, 8, 2, 1536", // 2 (128 + 128) * 2 + 64 * 2 * 4
  })
  void predict_tile_needsItsBuffersAndTwoTilesOfSums(int m, int k, int n, int buffers, long bytes) {
    assertThat(search(128, new TileShape(m, k, n), buffers).tcmBytes()).isEqualTo(bytes);
  }

  /** A tile larger than the product is the product. */
  @ParameterizedTest
  @CsvSource({"16, 4096", "32, 16384"})
  void predict_tileBeyondTheProduct_needsWhatTheProductNeeds(int extent, long bytes) {
    TileSearch.Prediction p = search(extent, new TileShape(512, 512, 512), 2);
    assertThat(p.tile()).isEqualTo(new TileShape(extent, extent, extent));
    assertThat(p.tcmBytes()).isEqualTo(bytes); // 2 * 2 e e * 2 + 2 e e * 4
  }

  private static TileSearch.Prediction search(int extent, TileShape tile, int buffers) {
    Machine machine = Machines.load("tiny", List.of());
    List<TileSearch.Prediction> found = new ArrayList<>();
    try (KernelRig rig = new KernelRig(Mode.TIME)) {
      var a = rig.zeros("a", 0, DType.F16, extent, extent);
      var b = rig.zeros("b", 0, DType.F16, extent, extent);
      var y = rig.zeros("y", 0, DType.F16, extent, extent);
      rig.run(tl -> {
        CompositeGemm gemm = CompositeGemm.of(tl.ref(a), tl.ref(b)).into(tl.ref(y));
        found.add(new TileSearch(machine, new Pe(0, 0, 0)).predict(gemm, tile, buffers));
      });
    }
    return found.getFirst();
  }
}
