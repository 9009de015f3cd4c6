package org.kernbench.nn.kernels;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.SimulationException;
import org.kernbench.nn.kernels.Compute.Matrix;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.Spread;

/** Tiles of a product are those that the TCM has room for; whatever they are, bits are the same. */
final class ProductPlanTest {
  private static final int M = 300;
  private static final int K = 395;
  private static final int N = 203;

  private static Machine machine(String tcm) {
    return Machines.load(
        "sip-2026", List.of("pe.tcm.size=" + tcm, "ipcq.slots=2", "ipcq.slot_size=1 KiB"));
  }

  private static double[] product(Machine machine, DType dtype, Mode mode, boolean add) {
    TorchOptions options = TorchOptions.DEFAULT.withMode(mode).withSpread(Spread.CUBE);
    try (Torch torch = Torch.open(machine, options)) {
      Random random = new Random(5);
      Tensor a = filled(torch, "a", Shape.of(M, K), dtype, random);
      Tensor b = filled(torch, "b", Shape.of(K, N), dtype, random);
      Tensor c = filled(torch, "c", Shape.of(M, N), dtype, random);
      new Compute(torch, t -> t)
          .matmulInto("product", Matrix.of(a, M, K), Matrix.of(b, K, N), c, add, false);
      torch.synchronize();
      return mode == Mode.TIME ? new double[0] : c.toDoubles();
    }
  }

  private static Tensor filled(Torch torch, String name, Shape shape, DType dtype, Random random) {
    Tensor made = Compute.spread(torch, name, shape, dtype);
    double[] values = new double[Math.toIntExact(shape.elements())];
    for (int i = 0; i < values.length; i++) {
      values[i] = dtype.round(random.nextGaussian());
    }
    return made.copyInPlace(values);
  }

  /** In a run with time a plan that does not fit ends in a deadlock. */
  @ParameterizedTest
  @CsvSource({
    "bf16, 1 MiB, true", "bf16, 512 KiB, true", "bf16, 256 KiB, true", "bf16, 64 KiB, true",
    "f32, 320 KiB, false", "f32, 96 KiB, true", "f64, 512 KiB, false", "f64, 192 KiB, true"
  })
  void matmul_smallTcm_runsAndHasTheSameBits(String type, String tcm, boolean add) {
    DType dtype = DType.parse(type);
    assertThat(product(machine(tcm), dtype, Mode.FULL, add))
        .isEqualTo(product(machine("2 MiB"), dtype, Mode.VALUES, add));
  }

  /**
   * Where the TCM has no room for tiles of both as large as those of one, products of one input are
   * made one by one; where they are made at once, they end.
   */
  @Test
  void matmuls_withAnEnding_areMadeAtOnceWhereTilesFit() {
    List<Boolean> atOnce = new ArrayList<>();
    for (String tcm : List.of("2 MiB", "1 MiB", "768 KiB", "512 KiB", "256 KiB")) {
      TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.TIME).withSpread(Spread.ALL);
      try (Torch torch = Torch.open(machine(tcm), options)) {
        Compute compute = new Compute(torch, t -> t);
        Shape shape = Shape.of(1024, 1024);
        Matrix x = matrix(torch, "x");
        List<Matrix> weights = List.of(matrix(torch, "u"), matrix(torch, "g"));
        Tensor y = compute.empty("y", shape, DType.BF16);
        boolean fits = compute.makesAtOnce(x, weights, List.of(y));
        if (fits) {
          Ending ending = new Ending(List.of(y), of -> List.of(of.get(0).silu().mul(of.get(1))));
          compute.matmuls(List.of("u", "g"), x, weights, shape, DType.BF16, Optional.of(ending));
        } else {
          compute.matmul("u", x, weights.getFirst(), DType.BF16);
        }
        torch.synchronize();
        atOnce.add(fits);
      }
    }
    assertThat(atOnce).startsWith(true).contains(false);
  }

  private static Matrix matrix(Torch torch, String name) {
    return Matrix.of(Compute.spread(torch, name, Shape.of(1024, 1024), DType.BF16), 1024, 1024);
  }

  /** 64 x 64 sums in f32, as many results in bf16, and a block of 256 B of each operand. */
  @Test
  void matmul_tcmTooSmallForOneArray_isRefusedWithWhatItNeeds() {
    long least = 64 * 64 * (4 + 2) + 2 * 256;
    assertThatThrownBy(() -> product(machine("16 KiB"), DType.BF16, Mode.TIME, false))
        .isInstanceOf(SimulationException.class)
        .hasMessageContainingAll(
            "product of 300 x 395 and 395 x 203 in bf16",
            "tiles of one GEMM array, 64 x 64, need " + least + " bytes",
            "a PE has 8192",
            "at least " + 2 * least + " B");
  }

  /**
   * What 1 MiB beside queues has room for: 4 x 2 tiles of 128 x 128 in f32, one of them rounded,
   * and two steps of six operands of 32 KiB; of a PE with less than two such blocks fewer tiles.
   */
  @ParameterizedTest
  @CsvSource({
    "2048, 4096, 4, 2, 491520",
    "512, 512, 4, 2, 491520",
    "512, 256, 2, 2, 753664",
    "256, 512, 2, 2, 753664",
    "512, 384, 2, 3, 622592",
    "384, 512, 3, 2, 622592",
    "256, 4096, 2, 4, 491520",
  })
  void plan_wherePlentyOfRoomIs_hasLargeTiles(int m, int n, int down, int across, long operands) {
    try (Torch torch = Torch.open(machine("2 MiB"), TorchOptions.DEFAULT)) {
      ProductPlan plan =
          ProductPlan.of(
              new Compute(torch, t -> t),
              new ProductPlan.Sizes(m, n, 4096, DType.BF16, 1, 0, false),
              128,
              128,
              (high, wide) -> TileGrid.of(m, n, high, wide, 1));
      assertThat(
              List.of(
                  plan.grid().tileM(),
                  plan.grid().tileN(),
                  plan.down(),
                  plan.across(),
                  plan.step()))
          .containsExactly(128, 128, down, across, 128);
      assertThat(plan.lastBytes()).isEqualTo(operands);
      assertThat(plan.endBytes()).isEqualTo(operands);
    }
  }

  /**
   * A PE with one block of 4 x 2 tiles makes it at once where blocks of 2 x 2 would wait for their
   * loads: these take 128 x 2 B for each k of a tile, 1.18 ns at 217.6 GB/s, and products 2 ns with
   * 64 x 64 multipliers at 2 GHz, 0.5 ns with 128 x 128. Loads that reach 85 % of the rate take as
   * long as products at 150.6 GB/s, a share of 0.588 of 256.
   */
  @ParameterizedTest
  @CsvSource({
    "sip-2026, pe.cpu.contexts=3, 4096, 2",
    "sip-2026, cube.hbm.efficiency=0.6, 4096, 2",
    "sip-2026, cube.hbm.efficiency=0.58, 4096, 4",
    "sip-2026, pe.cpu.issue=serial, 4096, 4",
    "sip-2026-hbm3e, pe.cpu.contexts=3, 4096, 4",
    "sip-2026-compute, pe.cpu.contexts=3, 1024, 4",
    "sip-2026-compute, pe.cpu.contexts=3, 1023, 2",
  })
  void plan_whereLoadsDecide_isOneLargeBlock(String preset, String change, int k, int down) {
    Machine machine = Machines.load(preset, List.of(change));
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT)) {
      ProductPlan plan =
          ProductPlan.of(
              new Compute(torch, t -> t),
              new ProductPlan.Sizes(512, 256, k, DType.BF16, 1, 0, false),
              128,
              128,
              (high, wide) -> TileGrid.of(512, 256, high, wide, 1));
      assertThat(List.of(plan.down(), plan.across())).containsExactly(down, 2);
    }
  }

  /** Three products at once have a plan where each PE has one tile of each, and as many rows. */
  @ParameterizedTest
  @CsvSource({"128, 1", "256, 2", "512, 2"})
  void plan_ofThreeProducts_needsNoMoreTilesThanThereAre(int m, int down) {
    try (Torch torch = Torch.open(machine("2 MiB"), TorchOptions.DEFAULT)) {
      ProductPlan plan =
          ProductPlan.of(
              new Compute(torch, t -> t),
              new ProductPlan.Sizes(m, 128, 768, DType.BF16, 3, 0, false),
              128,
              128,
              (high, wide) -> TileGrid.of(m, 128, high, wide, 1));
      assertThat(List.of(plan.down(), plan.across())).containsExactly(down, 1);
    }
  }

  /** Where much room is left, a block leaves a quarter to the operands of the next. */
  @Test
  void lastSteps_leaveAQuarterToTheNextBlock() {
    try (Torch torch = Torch.open(machine("2 MiB"), TorchOptions.DEFAULT)) {
      ProductPlan plan =
          ProductPlan.of(
              new Compute(torch, t -> t),
              new ProductPlan.Sizes(128, 128, 4096, DType.BF16, 1, 0, false),
              128,
              128,
              (high, wide) -> TileGrid.of(128, 128, high, wide, 1));
      assertThat(plan.lastBytes()).isEqualTo(768 << 10);
      assertThat(plan.endBytes()).isEqualTo((1024 - 64 - 32) << 10);
    }
  }
}
