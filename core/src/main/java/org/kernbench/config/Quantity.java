package org.kernbench.config;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;

/**
 * A kind of physical quantity: its units, and exact conversion between text and a {@code long}.
 *
 * <p>A quantity is a decimal number and a unit, for example {@code 512 GB/s}, {@code 30.5 ns},
 * {@code 2 MiB}, {@code 2 GHz}. Decimal prefixes are powers of 1000, {@code KiB MiB GiB TiB} powers
 * of 1024. Nothing is rounded: a value that is not a whole number of base units is refused.
 */
public enum Quantity {
  /** Sizes in bytes. */
  SIZE(
      "size",
      "2 MiB",
      "bytes",
      new String[] {"B", "KiB", "MiB", "GiB", "TiB", "kB", "KB", "MB", "GB", "TB"},
      new long[] {
        1, 1L << 10, 1L << 20, 1L << 30, 1L << 40, 1000, 1000, 1_000_000, 1_000_000_000, tera()
      }),
  /** Bandwidths in bytes per second. */
  BANDWIDTH(
      "bandwidth",
      "512 GB/s",
      "bytes per second",
      new String[] {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"},
      new long[] {
        1, 1000, 1_000_000, 1_000_000_000, tera(), 1L << 10, 1L << 20, 1L << 30, 1L << 40
      }),
  /** Durations in picoseconds. */
  TIME(
      "time",
      "14 ns",
      "picoseconds",
      new String[] {"ps", "ns", "us", "ms", "s"},
      new long[] {1, 1000, 1_000_000, 1_000_000_000, tera()},
      1000 * tera()), // so that what many of them add up to can be held, too
  /** Frequencies in hertz. */
  FREQUENCY(
      "clock",
      "2 GHz",
      "hertz",
      new String[] {"Hz", "kHz", "MHz", "GHz"},
      new long[] {1, 1000, 1_000_000, 1_000_000_000});

  /** A long has 19 digits, and the smallest unit of the largest may have as many again. */
  private static final int LONGEST_NUMBER = 60;

  private final String noun;
  private final String example;
  private final String base;
  private final String[] units;
  private final long[] factors;
  private final long largest;

  Quantity(String noun, String example, String base, String[] units, long[] factors) {
    this(noun, example, base, units, factors, Long.MAX_VALUE);
  }

  Quantity(String noun, String example, String base, String[] units, long[] factors, long largest) {
    this.noun = noun;
    this.example = example;
    this.base = base;
    this.units = units;
    this.factors = factors;
    this.largest = largest;
  }

  private static long tera() {
    return 1_000_000_000_000L;
  }

  /**
   * Converts text to base units (bytes, bytes per second, picoseconds, hertz), exactly.
   *
   * @throws IllegalArgumentException with a message that says what was found and what was expected
   */
  public long parse(String text) {
    String trimmed = text.trim();
    int digits = numberLength(trimmed);
    if (digits == 0) {
      throw expected(trimmed, "");
    }
    String unit = trimmed.substring(digits).trim();
    if (unit.isEmpty()) {
      throw expected(trimmed, " without a unit");
    }
    long factor = factor(unit, trimmed);
    String number = trimmed.substring(0, digits);
    if (number.length() < 10) {
      return scaled(number, factor, trimmed);
    }
    if (number.length() > LONGEST_NUMBER) {
      throw new IllegalArgumentException(
          "got \"%s\", a number of more than %s digits; expected %s"
              .formatted(Shown.text(trimmed), LONGEST_NUMBER, expectation()));
    }
    return exact(new BigDecimal(number).multiply(BigDecimal.valueOf(factor)), trimmed);
  }

  /** Text with the largest decimal unit that needs no rounding, for example {@code 30500 ps}. */
  public String format(long value) {
    String unit = units[0];
    long factor = factors[0];
    for (int i = 0; i < units.length; i++) {
      if (factors[i] > factor && value != 0 && value % factors[i] == 0) {
        unit = units[i];
        factor = factors[i];
      }
    }
    return value / factor + " " + unit;
  }

  /**
   * Text for people: at least 1 of its unit, at most {@code decimals} digits after the point, half
   * up, for example {@code 2.05 TB/s}. Sizes use the powers of 1024.
   */
  public String formatRounded(double value, int decimals) {
    String unit = units[0];
    long factor = factors[0];
    for (int i = 0; i < units.length; i++) {
      boolean binary = units[i].contains("iB");
      boolean wanted = this == SIZE ? binary : !binary;
      if (wanted && factors[i] > factor && Math.abs(value) >= factors[i]) {
        unit = units[i];
        factor = factors[i];
      }
    }
    return round(value / factor, decimals) + " " + unit;
  }

  /** What a user should write, for example {@code a bandwidth with its unit, e.g. "512 GB/s"}. */
  public String expectation() {
    return "a " + noun + " with its unit, e.g. \"" + example + "\"";
  }

  /** A number with at most {@code decimals} digits after the point, half up, without idle zeros. */
  public static String round(double value, int decimals) {
    BigDecimal rounded = BigDecimal.valueOf(value).setScale(decimals, RoundingMode.HALF_UP);
    return rounded.signum() == 0 ? "0" : rounded.stripTrailingZeros().toPlainString();
  }

  private static int numberLength(String text) {
    int i = 0;
    if (i < text.length() && (text.charAt(i) == '-' || text.charAt(i) == '+')) {
      i++;
    }
    int firstDigit = i;
    while (i < text.length() && isDigit(text.charAt(i))) {
      i++;
    }
    int digits = i - firstDigit;
    if (i + 1 < text.length() && text.charAt(i) == '.' && isDigit(text.charAt(i + 1))) {
      i++;
      while (i < text.length() && isDigit(text.charAt(i))) {
        i++;
      }
    }
    return digits == 0 ? 0 : i;
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private long factor(String unit, String text) {
    for (int i = 0; i < units.length; i++) {
      if (units[i].equals(unit)) {
        return factors[i];
      }
    }
    String hint = bits(unit);
    for (int i = units.length - 1; i >= 0 && hint.isEmpty(); i--) {
      if (units[i].toLowerCase(Locale.ROOT).equals(unit.toLowerCase(Locale.ROOT))) {
        hint = "; did you mean " + units[i] + "?";
      }
    }
    throw new IllegalArgumentException(
        "got \"%s\" with unknown unit \"%s\"; expected %s (units: %s)%s"
            .formatted(
                Shown.text(text), Shown.text(unit), expectation(), String.join(", ", units), hint));
  }

  private String bits(String unit) {
    boolean capital = !unit.equals(unit.toLowerCase(Locale.ROOT));
    boolean inBits =
        unit.endsWith("bps") || unit.endsWith("bit/s") || (capital && unit.endsWith("b/s"));
    return this == BANDWIDTH && inBits ? "; bits are not accepted, divide by 8" : "";
  }

  /** The common case without BigDecimal, whose classes cost 30 ms of a cold start. */
  private long scaled(String number, long factor, String text) {
    int point = number.indexOf('.');
    int decimals = point < 0 ? 0 : number.length() - point - 1;
    long digits = Long.parseLong(number.replace(".", ""));
    long divisor = 1;
    for (int i = 0; i < decimals; i++) {
      divisor *= 10;
    }
    if (Math.abs(digits) > Long.MAX_VALUE / factor
        || Math.abs(digits) * factor / divisor > largest) {
      throw tooLarge(text);
    }
    if (digits * factor % divisor != 0) {
      throw tooFine(text);
    }
    return digits * factor / divisor;
  }

  private long exact(BigDecimal value, String text) {
    if (value.abs().compareTo(BigDecimal.valueOf(largest)) > 0) {
      throw tooLarge(text);
    }
    try {
      return value.longValueExact();
    } catch (ArithmeticException e) {
      throw tooFine(text);
    }
  }

  private IllegalArgumentException tooFine(String text) {
    return new IllegalArgumentException(
        "got \"%s\", which is not a whole number of %s; expected %s"
            .formatted(Shown.text(text), base, expectation()));
  }

  private IllegalArgumentException tooLarge(String text) {
    return new IllegalArgumentException(
        "got \"%s\", which is beyond the largest %s we can hold, %s"
            .formatted(Shown.text(text), noun, format(largest)));
  }

  private IllegalArgumentException expected(String text, String why) {
    return new IllegalArgumentException(
        "got \"" + Shown.text(text) + "\"" + why + "; expected " + expectation());
  }
}
