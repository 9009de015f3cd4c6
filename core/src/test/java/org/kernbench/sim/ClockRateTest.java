package org.kernbench.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class ClockRateTest {
  @Test
  void durationPs_randomClocks_matchesDecimalArithmeticRoundedUp() {
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 10_000; i++) {
      long hz = 1 + random.nextLong(5_000_000_000L);
      long cycles = random.nextLong(1_000_000);
      BigDecimal expected =
          new BigDecimal(cycles)
              .multiply(new BigDecimal("1e12"))
              .divide(new BigDecimal(hz), 0, RoundingMode.CEILING);
      assertThat(ClockRate.ofHz(hz).durationPs(cycles)).isEqualTo(expected.longValueExact());
    }
  }

  @Test
  void limits_areTaken() {
    assertThat(ClockRate.ofHz(5).durationPs(0)).isZero();
    assertThat(ClockRate.ofHz(1).durationPs(1)).isEqualTo(1_000_000_000_000L);
    assertThat(ClockRate.ofHz(7).hz()).isEqualTo(7);
    assertThatThrownBy(() -> ClockRate.ofHz(-1)).hasMessageContaining("got -1 cycles per second");
  }

  @Test
  void cyclesIn_aDuration_countsFractions() {
    assertThat(ClockRate.ofHz(2_000_000_000L).cyclesIn(1_250)).isEqualTo(2.5);
  }

  @Test
  void badValues_areRefusedInCycles() {
    assertThatThrownBy(() -> ClockRate.ofHz(0)).hasMessageContaining("got 0 cycles per second");
    assertThatThrownBy(() -> ClockRate.ofHz(5).durationPs(-1)).hasMessageContaining("cycles: got");
  }

  @Test
  void equals_sameClock_isEqual() {
    assertThat(ClockRate.ofHz(10))
        .isEqualTo(ClockRate.ofHz(10))
        .hasSameHashCodeAs(ClockRate.ofHz(10));
    assertThat(ClockRate.ofHz(10)).isNotEqualTo(ClockRate.ofHz(11)).hasToString("10 Hz");
  }
}
