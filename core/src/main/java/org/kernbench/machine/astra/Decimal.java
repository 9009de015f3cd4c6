package org.kernbench.machine.astra;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.jspecify.annotations.Nullable;

/** Numbers as these files have them. */
final class Decimal {
  private Decimal() {}

  /** The number that a text is; null if it is none. */
  static @Nullable BigDecimal of(String text) {
    return text.matches("-?\\d{1,18}(\\.\\d{1,18})?([eE][+-]?\\d{1,2})?")
        ? new BigDecimal(text)
        : null;
  }

  /** To the nearest whole number; the largest there is, if it is too large. */
  static long rounded(BigDecimal number) {
    BigDecimal whole = number.setScale(0, RoundingMode.HALF_UP);
    BigDecimal most = BigDecimal.valueOf(Long.MAX_VALUE);
    return whole.compareTo(most) > 0 ? Long.MAX_VALUE : whole.longValueExact();
  }
}
