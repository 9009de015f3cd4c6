package org.kernbench.device.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.spec.WavesSpec;
import org.kernbench.tensor.DType;

/** Products on multiprocessors, against the formula written out by hand and a slow twin. */
final class WavesTest {
  private static final WavesSpec ONE_TILE =
      new WavesSpec(108, 1024, List.of(new WavesSpec.Block(128, 128)), List.of(1), 5120);

  /** 128 x 128 x 1024 / 1024 = 16,384 cycles a wave; operands take 11,059 of the cache. */
  @ParameterizedTest
  @CsvSource({
    "128, 128, 16384",
    "1, 1, 16384",
    "1152, 1536, 16384",
    "1153, 1536, 32768",
    "2304, 1536, 32768"
  })
  void waveCycles_oneTileSize_isWholeWaves(int m, int n, long cycles) {
    assertThat(CostModel.waveCycles(ONE_TILE, 1, m, n, 1024, 1, 2)).isEqualTo(cycles);
  }

  /** (128 + 128) x 1024 x 2 bytes at 1024 / 108 bytes a cycle for each unit. */
  @Test
  void waveCycles_slowCache_isItsTime() {
    WavesSpec slow = new WavesSpec(108, 1024, ONE_TILE.tiles(), List.of(1), 1024);

    assertThat(CostModel.waveCycles(slow, 1, 128, 128, 1024, 1, 2))
        .isEqualTo((long) Math.ceil(256.0 * 1024 * 2 * 108 / 1024));
  }

  @Test
  void waveCycles_fewTilesAndDeep_areSplitWhereThatPays() {
    WavesSpec splits = new WavesSpec(108, 1024, ONE_TILE.tiles(), List.of(1, 4), 5120);
    long whole = CostModel.waveCycles(ONE_TILE, 1, 128, 128, 16_384, 1, 2);
    long split = CostModel.waveCycles(splits, 1, 128, 128, 16_384, 1, 2);

    // a quarter of the depth, and four tiles of f32 sums to the cache and back
    assertThat(split).isEqualTo((long) Math.ceil(whole / 4.0 + 2.0 * 4 * 128 * 128 * 4 / 5120));
  }

  @Test
  void durationPs_stepsOfAProduct_addUpToTheWhole() {
    Machine machine = Machines.load("dgx-a100", List.of());
    CostModel cost = new CostModel(machine.pe());
    var whole = new ComputeOp.Gemm(DType.F16, DType.F16, 3000, 5000, 2048, false);
    var part = new ComputeOp.Whole(3000, 5000, 2048, 1);
    long sum = 0;
    int steps = 0;
    for (int row = 0; row < 3000; row += 700) {
      for (int column = 0; column < 5000; column += 1300) {
        for (int k = 0; k < 2048; k += 500) {
          sum +=
              cost.durationPs(
                  new ComputeOp.Gemm(
                          DType.F16,
                          DType.F32,
                          Math.min(700, 3000 - row),
                          Math.min(1300, 5000 - column),
                          Math.min(500, 2048 - k),
                          true)
                      .of(part));
          steps++;
        }
      }
    }
    assertThat(sum).isBetween(cost.durationPs(whole), cost.durationPs(whole) + steps);
  }

  /** 216 products of one tile each are two waves, not 216. */
  @Test
  void waveCycles_batch_fillsTheUnitsTogether() {
    assertThat(CostModel.waveCycles(ONE_TILE, 1, 100, 100, 1024, 216, 2)).isEqualTo(2 * 16_384);
    assertThat(CostModel.waveCycles(ONE_TILE, 1, 100, 100, 1024, 217, 2)).isEqualTo(3 * 16_384);
  }

  /** No product is faster than the peak rate at the sustained clock, and large ones come near. */
  @ParameterizedTest
  @CsvSource({"1, 1, 1", "64, 64, 12288", "8192, 8192, 8192", "999, 777, 555"})
  void durationPs_anyProduct_isNotAboveThePeak(int m, int n, int k) {
    Machine machine = Machines.load("dgx-a100", List.of());
    double rate = machine.pe().gemm().peakFlops() * 0.9 / 1e12;
    long ps =
        new CostModel(machine.pe())
            .durationPs(new ComputeOp.Gemm(DType.F16, DType.F16, m, n, k, false));
    double least = 2.0 * m * n * k / rate;

    assertThat((double) ps).isGreaterThan(least * 0.999999);
    if (m == 8192) {
      assertThat(ps / least).isCloseTo(1, within(0.03));
    }
  }
}
