package org.kernbench.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class RateTest {
  @Test
  void durationPs_roundGigabytesPerSecond_isBytesOverRate() {
    assertThat(Rate.ofBytesPerSecond(512_000_000_000L).durationPs(256)).isEqualTo(500);
    assertThat(Rate.ofBytesPerSecond(256_000_000_000L).durationPs(16_384)).isEqualTo(64_000);
    assertThat(Rate.ofBytesPerSecond(1_000_000_000_000L).durationPs(7)).isEqualTo(7);
  }

  @Test
  void durationPs_fractionalResult_roundsUp() {
    Rate threeBytesPerSecond = Rate.ofBytesPerSecond(3);
    assertThat(threeBytesPerSecond.durationPs(0)).isZero();
    assertThat(threeBytesPerSecond.durationPs(1)).isEqualTo(333_333_333_334L);
    assertThat(threeBytesPerSecond.durationPs(3)).isEqualTo(1_000_000_000_000L);
    assertThat(Rate.ofBytesPerSecond(Long.MAX_VALUE).durationPs(1)).isEqualTo(1);
  }

  @Test
  void durationPs_randomRatesAndSizes_matchesDecimalArithmetic() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 20_000; i++) {
      long rate = 1 + (random.nextLong() >>> (1 + random.nextInt(62)));
      long bytes = random.nextLong() >>> (1 + random.nextInt(62));
      BigDecimal expected =
          new BigDecimal(bytes)
              .multiply(new BigDecimal("1e12"))
              .divide(new BigDecimal(rate), 0, RoundingMode.CEILING);
      if (expected.compareTo(new BigDecimal(Long.MAX_VALUE)) <= 0) {
        assertThat(Rate.ofBytesPerSecond(rate).durationPs(bytes))
            .as("%d bytes at %d B/s", bytes, rate)
            .isEqualTo(expected.longValueExact());
      } else {
        assertThatThrownBy(() -> Rate.ofBytesPerSecond(rate).durationPs(bytes))
            .isInstanceOf(ArithmeticException.class)
            .hasMessageContaining("106 days");
      }
    }
  }

  @Test
  void ofBytesPerSecond_notPositive_isRefusedWithTheValue() {
    assertThatThrownBy(() -> Rate.ofBytesPerSecond(0)).hasMessageContaining("got 0");
    assertThatThrownBy(() -> Rate.ofBytesPerSecond(-5)).hasMessageContaining("got -5");
    assertThatThrownBy(() -> Rate.ofBytesPerSecond(5).durationPs(-1)).hasMessageContaining("-1");
  }

  @Test
  void equals_sameRate_isEqual() {
    assertThat(Rate.ofBytesPerSecond(10))
        .isEqualTo(Rate.ofBytesPerSecond(10))
        .hasSameHashCodeAs(Rate.ofBytesPerSecond(10))
        .isNotEqualTo(Rate.ofBytesPerSecond(11));
  }
}
