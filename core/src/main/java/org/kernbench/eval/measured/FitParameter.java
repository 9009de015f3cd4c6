package org.kernbench.eval.measured;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kernbench.config.UsageException;

/**
 * A value of the machine that is to be found, between two limits. Positions between the limits are
 * numbers from 0 to 1, in equal ratios where both limits are above 0, else in equal steps.
 *
 * @param path key of the machine
 * @param low smallest value
 * @param high largest value, above that
 * @param unit that both have; empty for a bare number
 * @param isCount whether the key takes whole numbers only
 */
public record FitParameter(String path, double low, double high, String unit, boolean isCount) {
  private static final Pattern FORM =
      Pattern.compile("([a-z0-9_.]+) *= *([0-9.eE+-]+?) *\\.\\. *([0-9.eE+-]+) *([A-Za-z/µ]*)");

  private static final int DIGITS = 6;
  private static final int DECIMALS = 9;

  /** Times are whole picoseconds. */
  private static final Map<String, Integer> DECIMALS_OF_UNITS =
      Map.of("ps", 0, "ns", 3, "us", 6, "µs", 6, "ms", 9, "B", 0, "B/s", 0, "Hz", 0);

  /**
   * Reads {@code system.links.sip_to_sip.bandwidth=200..300 GB/s}.
   *
   * @throws UsageException that says what was expected
   */
  public static FitParameter parse(String text) {
    Matcher m = FORM.matcher(text.strip());
    if (m.matches()) {
      try {
        double low = Double.parseDouble(m.group(2));
        double high = Double.parseDouble(m.group(3));
        if (low < high) {
          return new FitParameter(m.group(1), low, high, m.group(4), false);
        }
      } catch (NumberFormatException e) {
        // told below
      }
    }
    throw new UsageException(
        String.format(
            Locale.ROOT,
            """
            --fit "%s": expected key=from..to with a unit, e.g. pe.gemm.efficiency=0.7..1 or \
            "system.links.sip_to_sip.bandwidth=200..300 GB/s"\
            """,
            text));
  }

  /** Whether the limits may be counts: whole numbers, from 1 on. */
  boolean mayCount() {
    return unit.isEmpty() && low >= 1 && low == Math.rint(low) && high == Math.rint(high);
  }

  /** Likewise, in whole numbers. */
  FitParameter counted() {
    return new FitParameter(path, low, high, unit, true);
  }

  private boolean inRatios() {
    return low > 0;
  }

  /** The value at a position, rounded as it is written. */
  double value(double position) {
    double value =
        inRatios() ? low * StrictMath.pow(high / low, position) : low + (high - low) * position;
    if (isCount) {
      return Math.rint(value);
    }
    BigDecimal rounded =
        new BigDecimal(value).round(new MathContext(DIGITS, RoundingMode.HALF_EVEN));
    int decimals = DECIMALS_OF_UNITS.getOrDefault(unit, DECIMALS);
    return rounded.scale() > decimals
        ? rounded.setScale(decimals, RoundingMode.HALF_EVEN).doubleValue()
        : rounded.doubleValue();
  }

  /** The position of a larger value, so far away or as far as the next is; it may be beyond 1. */
  double up(double position, double by) {
    double next = isCount ? position(value(position) + 1) : 0;
    return Math.max(position + by, next);
  }

  /** Likewise of a smaller one, which may be below 0. */
  double down(double position, double by) {
    double next = isCount ? position(value(position) - 1) : 1;
    return Math.min(position - by, next);
  }

  private double position(double count) {
    return StrictMath.log(count / low) / StrictMath.log(high / low);
  }

  /** The value as a configuration has it. */
  String shown(double position) {
    String number =
        new BigDecimal(Double.toString(value(position))).stripTrailingZeros().toPlainString();
    return unit.isEmpty() ? number : number + " " + unit;
  }

  /** The value as a change of the machine. */
  String change(double position) {
    return path + "=" + shown(position);
  }

  /** Whether a position is one of the limits. */
  boolean isLimit(double position) {
    return position < 0.002 || position > 0.998;
  }
}
