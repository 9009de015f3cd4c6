package org.kernbench.eval.output;

import java.math.BigDecimal;
import java.math.RoundingMode;

/**
 * Numbers as results show them: exact where they are exact, otherwise rounded to a stated digit.
 */
public final class Numbers {
  private static final int RATIO_DIGITS = 6;

  private Numbers() {}

  /** Picoseconds as nanoseconds with three decimals; exact. */
  public static BigDecimal ns(long ps) {
    return BigDecimal.valueOf(ps, 3);
  }

  /** {@code a / b} to six decimals. */
  public static BigDecimal ratio(long a, long b) {
    return BigDecimal.valueOf(a).divide(BigDecimal.valueOf(b), RATIO_DIGITS, RoundingMode.HALF_UP);
  }

  /** A measured number to four decimals. */
  public static BigDecimal rounded(double value) {
    return BigDecimal.valueOf(value).setScale(4, RoundingMode.HALF_UP);
  }

  /** A share of a whole, four decimals. */
  public static BigDecimal share(double share) {
    return BigDecimal.valueOf(share).setScale(4, RoundingMode.HALF_UP);
  }
}
