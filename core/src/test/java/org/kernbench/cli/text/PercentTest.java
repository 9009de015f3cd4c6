package org.kernbench.cli.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Percentages that are shown side by side sum to what they should. */
final class PercentTest {
  @Test
  void thirds_theFirstGetsTheMissingTenth() {
    assertThat(Percent.of(List.of(1L, 1L, 1L))).containsExactly("33.4 %", "33.3 %", "33.3 %");
  }

  @Test
  void randomParts_sumToOneHundred_andAreLessThanATenthOff() {
    Random random = new Random(7);
    for (int n = 1; n < 200; n++) {
      List<Long> parts = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        parts.add(1 + (long) (random.nextDouble() * Math.pow(10, random.nextInt(9))));
      }
      double whole = parts.stream().mapToLong(Long::longValue).sum();
      List<String> percent = Percent.of(parts);
      BigDecimal sum = BigDecimal.ZERO;
      for (int i = 0; i < n; i++) {
        BigDecimal shown = new BigDecimal(percent.get(i).replace(" %", ""));
        sum = sum.add(shown);
        assertThat(shown.doubleValue() - 100 * parts.get(i) / whole).isBetween(-0.1, 0.1);
      }
      assertThat(sum).isEqualByComparingTo("100");
    }
  }
}
