package org.kernbench.eval.figures;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Where numbers stand along an axis, and which of them are written there.
 *
 * @param low value at 0
 * @param high value at 1
 * @param base 0 for a scale in equal steps, else of the logarithm: powers of it are ticks
 * @param unit how ticks are written
 */
record ChartScale(double low, double high, int base, Unit unit) {
  private static final double SPREAD = 30; // from here on a logarithm shows more

  /** How numbers of a column are written, by the ending of its name. */
  enum Unit {
    /** Bytes, with binary prefixes. */
    BYTES,
    /** Nanoseconds. */
    TIME,
    /** A plain number. */
    NUMBER;

    static Unit of(String column) {
      return column.equals("bytes") || column.endsWith("_bytes")
          ? BYTES
          : column.endsWith("_ns") ? TIME : NUMBER;
    }

    /** What stands at a place along an axis: of a size, with its prefix. */
    String name(String column, String place) {
      return this == BYTES ? write(Chart.number(column, place)) : place;
    }

    String write(double value) {
      return switch (this) {
        case BYTES -> Plots.bytes(value);
        case TIME -> Plots.time(value);
        case NUMBER -> number(value);
      };
    }
  }

  /** A scale on which all values have room; from 0 on if it is one in equal steps. */
  static ChartScale of(String column, double[] values, boolean fromZero) {
    double least = Double.MAX_VALUE;
    double most = -Double.MAX_VALUE;
    for (double value : values) {
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    Unit unit = Unit.of(column);
    if (!fromZero && least > 0 && most / least >= SPREAD) {
      int base = unit == Unit.BYTES ? 2 : 10;
      return new ChartScale(
          power(base, Math.floor(log(base, least) + 1e-9)),
          power(base, Math.ceil(log(base, most) - 1e-9)),
          base,
          unit);
    }
    double low = Math.min(0, least);
    double step = step(most - low, unit);
    double high = Math.max(step, Math.ceil(most / step - 1e-9) * step);
    return new ChartScale(Math.floor(low / step + 1e-9) * step, high, 0, unit);
  }

  /** From 0 to 1. */
  double at(double value) {
    return base == 0
        ? (value - low) / (high - low)
        : StrictMath.log(value / low) / StrictMath.log(high / low);
  }

  boolean isLogarithmic() {
    return base != 0;
  }

  /** The values that are written: at most nine powers, or ten multiples of a step. */
  List<Double> ticks() {
    List<Double> ticks = new ArrayList<>();
    if (base == 0) {
      double step = step(high - low, unit);
      for (int i = 0; low + i * step <= high * (1 + 1e-9); i++) {
        ticks.add(low + i * step);
      }
      return ticks;
    }
    long first = Math.round(log(base, low));
    long last = Math.round(log(base, high));
    long every = Math.max(1, (last - first + 7) / 8);
    for (long power = first; power <= last; power += every) {
      ticks.add(power(base, power));
    }
    return ticks;
  }

  /**
   * The step that divides a length into four to ten: 1, 2 or 5 times a power of ten, of sizes a
   * power of two.
   */
  private static double step(double length, Unit unit) {
    if (length <= 0) {
      return 1;
    }
    if (unit == Unit.BYTES) {
      return power(2, Math.floor(log(2, length / 4) + 1e-9));
    }
    double power = StrictMath.pow(10, Math.floor(StrictMath.log10(length / 4)));
    double share = length / 4 / power;
    return power * (share >= 5 ? 5 : share >= 2 ? 2 : 1);
  }

  private static double log(int base, double value) {
    return StrictMath.log(value) / StrictMath.log(base);
  }

  private static double power(int base, double exponent) {
    return StrictMath.pow(base, exponent);
  }

  /** Three digits, without a power of ten where people do without. */
  static String number(double value) {
    if (value == 0) {
      return "0";
    }
    double size = Math.abs(value);
    if (size >= 1e7 || size < 1e-3) {
      return String.format(Locale.ROOT, "%.2e", value);
    }
    int digits = (int) Math.max(0, 2 - Math.floor(StrictMath.log10(size)));
    String text = String.format(Locale.ROOT, "%,." + digits + "f", value);
    return text.contains(".") ? text.replaceFirst("\\.?0+$", "") : text;
  }
}
