package org.kernbench.device.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;

/** Products in 8 bits take the array as many times less as {@code pe.gemm.f8_rate} says. */
final class GemmRateTest {
  private static CostModel cost(String... set) {
    return new CostModel(Machines.load("sip-2026", List.of(set)).pe());
  }

  private static ComputeOp.Gemm product(DType left, DType right, int k) {
    return new ComputeOp.Gemm(
        left, right, DType.F32, 128, 64, k, false, java.util.Optional.empty());
  }

  /** Two folds of ceil(k / rate) cycles of 0.5 ns, and 126 cycles of fill where modes have it. */
  @ParameterizedTest
  @CsvSource({
    "chained, 2, 1000, 1126",
    "chained, 4, 999, 626",
    "chained, 1, 1000, 2126",
    "filled, 2, 1000, 1251",
    "flat, 2, 1000, 1000"
  })
  void duration_isOfDepthOverRate(String mode, int rate, int k, long cycles) {
    CostModel cost = cost("pe.gemm.mode=" + mode, "pe.gemm.f8_rate=" + rate);
    for (DType left : List.of(DType.F8E4M3, DType.F8E5M2)) {
      assertThat(cost.durationPs(product(left, DType.F8E4M3, k))).isEqualTo(500 * cycles);
    }
  }

  /** 16 times as deep at a sixteenth of the rate; thirds are rounded up. */
  @ParameterizedTest
  @CsvSource({
    "chained, F32, f32_rate=0.5, 1000, 4126",
    "chained, F64, f64_rate=0.0625, 1000, 32126",
    "filled, F32, f32_rate=0.3, 1, 259",
    "chained, F32, f32_rate=0.7, 21, 186",
    "chained, F64, f64_rate=0.58, 145, 626",
    "flat, F64, f64_rate=0.0625, 1000, 32000",
    "flat, F32, f64_rate=0.0625, 1000, 2000",
    "flat, F64, f32_rate=0.0625, 1000, 2000",
    "flat, I32, f32_rate=0.0625, 1000, 2000",
    "flat, BF16, f32_rate=0.0625, 1000, 2000",
  })
  void duration_ofWideTypes_isOfDepthOverShare(
      String mode, DType type, String rate, int k, long cycles) {
    CostModel cost = cost("pe.gemm.mode=" + mode, "pe.gemm." + rate);
    assertThat(cost.durationPs(product(type, type, k))).isEqualTo(500 * cycles);
  }

  /** Multiprocessors have a share of their multiply-adds; operands come as quickly as before. */
  @ParameterizedTest
  @CsvSource({"F32, 1024, 2, 1", "F64, 1024, 16, 1", "F64, 64, 16, 0.98"})
  void duration_inWaves_isThatOfFewerMultiplyAdds(DType type, int l2, double times, double share) {
    String[] waves = {
      "pe.gemm.mode=waves",
      "pe.gemm.units=4",
      "pe.gemm.macs=64",
      "pe.gemm.l2_width=" + l2 + " KiB",
      "pe.gemm.tiles=[64x64]"
    };
    CostModel whole = cost(waves);
    String[] slower = java.util.Arrays.copyOf(waves, waves.length + 2);
    slower[waves.length] = "pe.gemm.f32_rate=0.5";
    slower[waves.length + 1] = "pe.gemm.f64_rate=0.0625";
    ComputeOp.Gemm product = product(type, type, 1000);
    assertThat((double) cost(slower).durationPs(product) / whole.durationPs(product))
        .isBetween(share * times, times);
  }

  /** Others take what they took, and a machine that says nothing has no rate. */
  @ParameterizedTest
  @CsvSource({"F16", "F32", "I8"})
  void otherTypes_takeAsLongAsBefore(DType type) {
    assertThat(cost("pe.gemm.f8_rate=2").durationPs(product(type, type, 1000)))
        .isEqualTo(cost().durationPs(product(type, type, 1000)));
    assertThat(cost().durationPs(product(DType.F8E4M3, DType.F8E5M2, 1000)))
        .isEqualTo(cost().durationPs(product(DType.F16, DType.F16, 1000)));
  }
}
