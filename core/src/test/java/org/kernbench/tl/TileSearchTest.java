package org.kernbench.tl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.device.log.StreamCosts;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/** The tile that the search takes, against simulations of all tiles there are. */
final class TileSearchTest {
  private static final int[] BUFFERS = {1, 2, 3, 4, 6, 8, 12};

  /** Beyond, a tile is a few cells of the array, and only costs time to simulate. */
  private static final int MOST_STEPS = 64;

  /** A product on a machine, with none, A or both of its operands in TCM. */
  private record Product(KernelRig rig, int m, int k, int n, int loaded) {
    private KernelRig.Tensor tensor(String name, long at, int rows, int columns) {
      var address = rig.machine.addresses().hbm(rig.pe(0), at);
      Shard shard = new Shard(name, address, Shape.of(rows, columns), DType.F16);
      return new KernelRig.Tensor(name, rig.pe(0), shard);
    }

    private CompositeGemm gemm(Tl tl) {
      var a = tensor("a", 0, m, k);
      var b = tensor("b", 1L << 28, k, n);
      CompositeGemm gemm =
          switch (loaded) {
            case 0 -> CompositeGemm.of(tl.ref(a), tl.ref(b));
            case 1 -> CompositeGemm.of(tl.load(a), tl.ref(b));
            default -> CompositeGemm.of(tl.load(a), tl.load(b));
          };
      return gemm.into(tl.ref(tensor("y", 1L << 29, m, n)));
    }

    /** With the tile that the search takes. */
    long chosenPs() {
      return rig.run(tl -> tl.composite(gemm(tl))).criticalPs();
    }

    long ps(TileShape tile, int buffers) {
      return rig.run(tl -> tl.composite(gemm(tl).tile(tile).buffers(buffers))).criticalPs();
    }

    double forecastPs(TileShape tile, int buffers) {
      double[] ps = new double[1];
      StreamCosts costs = StreamCosts.of(rig.machine, rig.pe(0));
      rig.run(tl ->
          ps[0] = new TileForecast(costs, gemm(tl), tile, buffers, costs.commandWindow()).ps());
      return ps[0];
    }

    /** The quickest of all tiles and numbers of buffers. */
    long quickestPs() {
      long best = Long.MAX_VALUE;
      for (int i = 1; i <= m; i++) {
        for (int l = 1; l <= k; l++) {
          for (int j = 1; j <= n; j++) {
            TileShape tile = new TileShape(i, l, j);
            if (TileStream.steps(m, k, n, tile) <= MOST_STEPS) {
              for (int buffers : BUFFERS) {
                best = Math.min(best, ps(tile, buffers));
              }
            }
          }
        }
      }
      return best;
    }
  }

  private static KernelRig rig(int rows, int columns, String clock) {
    return new KernelRig(
        Mode.TIME, "pe.gemm.rows=" + rows, "pe.gemm.columns=" + columns, "pe.gemm.clock=" + clock);
  }

  /** Arrays that are no power of two, products with edges; bound by the array, by the loads. */
  @ParameterizedTest
  @CsvSource({
    "4, 3, 8, 9, 7, 0, 200 MHz",
    "4, 3, 8, 9, 7, 0, 2 GHz",
    "4, 3, 8, 9, 7, 1, 2 GHz",
    "4, 3, 8, 9, 7, 2, 200 MHz",
    "3, 5, 7, 12, 11, 0, 2 GHz",
    "3, 5, 7, 12, 11, 2, 2 GHz",
    "2, 2, 5, 24, 3, 0, 100 MHz"
  })
  void chosenTile_smallArray_isTheQuickestOfAll(
      int rows, int columns, int m, int k, int n, int loaded, String clock) {
    try (KernelRig rig = rig(rows, columns, clock)) {
      Product product = new Product(rig, m, k, n, loaded);

      assertThat((double) product.chosenPs()).isLessThanOrEqualTo(1.02 * product.quickestPs());
    }
  }

  /** All that is ranked fits, the quickest first; and what is ranked is what is predicted. */
  @Test
  void search_ofAProduct_ranksWhatFits() {
    try (KernelRig rig = rig(4, 4, "1 GHz")) {
      Product product = new Product(rig, 40, 24, 56, 0);
      TileSearch search = new TileSearch(rig.machine, rig.pe(0));
      rig.run(tl -> {
        CompositeGemm gemm = product.gemm(tl);
        List<TileSearch.Prediction> found = search.search(gemm);
        assertThat(found).hasSizeGreaterThan(100);
        TileSearch.Prediction before = found.getFirst();
        for (TileSearch.Prediction p : found) {
          assertThat(p).isEqualTo(search.predict(gemm, p.tile(), p.buffers()));
          assertThat(p.tcmBytes()).isLessThanOrEqualTo(rig.machine.pe().tcm().sizeBytes() * 3 / 4);
          // loads of both operands in each buffer, and sums in f32 twice
          TileShape t = p.tile();
          long loads = 2L * (t.m() * t.k() + t.k() * t.n());
          assertThat(p.tcmBytes()).isEqualTo(p.buffers() * loads + 8L * t.m() * t.n());
          assertThat(p.ps()).isGreaterThanOrEqualTo(before.ps());
          before = p;
        }
      });
    }
  }

  /** Tiles of 2 x 2 x 2 are the smallest that are tried: 2 buffers of 16 B, and 32 B of sums. */
  @Test
  void search_nothingFits_takesTheSmallest() {
    try (KernelRig rig =
        new KernelRig(
            Mode.TIME,
            "pe.tcm.size=64 B",
            "ipcq.slots=1",
            "ipcq.slot_size=16 B",
            "ipcq.directions=1",
            "pe.gemm.rows=64",
            "pe.gemm.columns=64")) {
      TileSearch.Prediction[] found = new TileSearch.Prediction[2];
      Product product = new Product(rig, 64, 64, 64, 0);
      rig.run(tl -> {
        TileSearch search = new TileSearch(rig.machine, rig.pe(0));
        List<TileSearch.Prediction> all = search.search(product.gemm(tl));
        assertThat(all).hasSize(1);
        found[0] = all.getFirst();
        found[1] = search.choose(product.gemm(tl));
      });
      assertThat(found[0].tile()).isEqualTo(new TileShape(2, 2, 2));
      assertThat(found[0].buffers()).isEqualTo(2);
      assertThat(found[0].tcmBytes()).isEqualTo(2 * 16 + 32);
      assertThat(found[1]).isEqualTo(found[0]);
    }
  }

  @Tag("slow")
  @ParameterizedTest
  @CsvSource({
    "4, 4, 12, 16, 12, 0, 200 MHz",
    "4, 4, 12, 16, 12, 1, 2 GHz",
    "8, 8, 24, 20, 16, 0, 2 GHz",
    "8, 8, 24, 20, 16, 1, 200 MHz",
    "8, 8, 24, 20, 16, 2, 2 GHz",
    "3, 5, 13, 30, 11, 0, 2 GHz",
    "3, 5, 13, 30, 11, 1, 2 GHz",
    "3, 5, 13, 30, 11, 2, 2 GHz"
  })
  void chosenTile_moreArrays_isTheQuickestOfAll(
      int rows, int columns, int m, int k, int n, int loaded, String clock) {
    chosenTile_smallArray_isTheQuickestOfAll(rows, columns, m, k, n, loaded, clock);
  }

  /** A GPU taken as one array of its cells, which are no power of two. */
  private static final String[] AS_ARRAY = {"pe.gemm.mode=chained", "pe.gemm.efficiency=1"};

  /** What a search over powers of two, with two to four buffers, took before. */
  @ParameterizedTest
  @CsvSource({
    "512, 512, 512, 0, 3_200_000",
    "1024, 1024, 1024, 1, 12_300_000",
    "2048, 2048, 2048, 0, 75_000_000",
    "1, 4096, 4096, 0, 46_000_000",
    "64, 8192, 1024, 0, 26_000_000"
  })
  void chosenTile_arrayOfNoPowerOfTwo_isAMultipleOfIt(
      int m, int k, int n, int loaded, String most) {
    try (KernelRig rig = new KernelRig(Mode.TIME, List.of("dgx-a100"), AS_ARRAY)) {
      Product product = new Product(rig, m, k, n, loaded);

      assertThat(product.chosenPs()).isLessThanOrEqualTo(Long.parseLong(most.replace("_", "")));
    }
  }
}
