package org.kernbench.eval.figures;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Figures of rows: lines, bars, a heat map. For benches of your own that are {@code Illustrated},
 * and for the rows of a sweep.
 *
 * <p>A row has its columns as text, as {@code results.csv} and {@code summary.csv} have them. What
 * is alike in all rows stands in the caption: the conditions under which the figure holds. Two rows
 * for one point are an error that says what tells them apart, so nothing is averaged in silence.
 *
 * <p>A column whose name ends in {@code _ns} is written as time, {@code bytes} and those in {@code
 * _bytes} as sizes. An axis on which numbers differ thirty-fold is logarithmic, and says so.
 */
public final class Chart {
  /** As many as can be told apart by colour and mark. */
  public static final int MOST_SERIES = 32;

  private final String title;
  private final List<Map<String, String>> rows;

  private Chart(String title, List<Map<String, String>> rows) {
    this.title = title;
    this.rows = rows;
  }

  /**
   * A chart of rows.
   *
   * @param title what the figures show, in a line
   * @param rows every column as text
   */
  public static Chart of(String title, List<Map<String, String>> rows) {
    return new Chart(title, List.copyOf(rows));
  }

  /** This chart with the rows alone that have a value in a column. */
  public Chart only(String column, String value) {
    Set<String> values = new TreeSet<>();
    List<Map<String, String>> kept = new ArrayList<>();
    for (Map<String, String> row : rows) {
      String there = value(row, column);
      values.add(there);
      if (there.equals(value)) {
        kept.add(row);
      }
    }
    if (kept.isEmpty()) {
      throw new IllegalArgumentException(
          "no row has %s=%s; there are %s".formatted(column, value, values));
    }
    return new Chart(title, kept);
  }

  // ---- figures ----

  /** A line for each value of a column, over numbers. */
  public Figure lines(String name, String x, String y, String by) {
    Points points = points(x, y, by);
    return ChartDrawing.lines(name, words(x, y, by, points), x, y, points);
  }

  /** A group of bars for each value of {@code x}, in each a bar for every value of {@code by}. */
  public Figure bars(String name, String x, String y, String by) {
    Points points = points(x, y, by);
    return ChartDrawing.bars(name, words(x, y, by, points), y, points);
  }

  /** A box for each pair of values, darker where the third is larger, with the number in it. */
  public Figure heatMap(String name, String x, String y, String value) {
    Points points = points(x, value, y);
    return ChartDrawing.heatMap(name, words(x, value, y, points), points);
  }

  // ---- rows ----

  /**
   * Values by series and by place along x, each in the order in which rows first have them.
   *
   * @param places texts along x
   * @param values by series, then by place
   * @param missing rows without a number
   */
  record Points(List<String> places, Map<String, Map<String, Double>> values, int missing) {
    double[] all() {
      return values.values().stream()
          .flatMap(line -> line.values().stream())
          .mapToDouble(v -> v)
          .toArray();
    }

    double[] numbers(String column) {
      return places.stream().mapToDouble(place -> number(column, place)).toArray();
    }
  }

  private Points points(String x, String y, String by) {
    Map<String, Map<String, Double>> values = new LinkedHashMap<>();
    Map<String, Map<String, String>> first = new LinkedHashMap<>();
    Set<String> places = new LinkedHashSet<>();
    int missing = 0;
    for (Map<String, String> row : rows) {
      String place = value(row, x);
      String series = by.isEmpty() ? "" : value(row, by);
      String text = value(row, y);
      Map<String, String> before = first.putIfAbsent(place + "\n" + series, row);
      if (before != null) {
        throw new IllegalArgumentException(twice(before, row, x, by));
      }
      places.add(place);
      if (text.isBlank()) {
        missing++;
      } else {
        values.computeIfAbsent(series, s -> new LinkedHashMap<>()).put(place, number(y, text));
      }
    }
    if (values.isEmpty()) {
      throw new IllegalArgumentException(
          "no row has a number in " + y + "; there are " + rows.size() + " rows");
    }
    if (values.size() > MOST_SERIES) {
      throw new IllegalArgumentException(
          "%s has %s values, and %s can be told apart; leave some out with only(column, value)"
              .formatted(by, values.size(), MOST_SERIES));
    }
    return new Points(List.copyOf(places), values, missing);
  }

  private static String twice(
      Map<String, String> one, Map<String, String> other, String x, String by) {
    List<String> differ = new ArrayList<>();
    one.forEach((column, text) -> {
      if (!text.equals(other.get(column))) {
        differ.add(column);
      }
    });
    return "two rows are for one point, %s=%s%s; they differ in %s: choose one with only(column, value)"
        .formatted(
            x,
            one.get(x),
            by.isEmpty() ? "" : ", " + by + "=" + one.get(by),
            differ.isEmpty() ? "nothing" : String.join(", ", differ));
  }

  private static String value(Map<String, String> row, String column) {
    @Nullable String value = row.get(column);
    if (value == null) {
      throw new IllegalArgumentException(
          "no column " + column + "; the rows have " + String.join(", ", row.keySet()));
    }
    return value;
  }

  static double number(String column, String text) {
    try {
      double number = Double.parseDouble(text.strip());
      if (Double.isFinite(number)) {
        return number;
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw new IllegalArgumentException(column + ": got \"" + text + "\"; expected a number");
  }

  // ---- words ----

  private Plots.Words words(String x, String y, String by, Points points) {
    List<String> conditions = new ArrayList<>();
    for (String column : rows.getFirst().keySet()) {
      String value = rows.getFirst().get(column);
      boolean shown = column.equals(x) || column.equals(y) || column.equals(by);
      if (!shown && !value.isBlank() && isAlike(column, value)) {
        conditions.add(column + "=" + value);
      }
    }
    if (points.missing() > 0) {
      conditions.add(points.missing() + " of " + rows.size() + " points have no value");
    }
    return new Plots.Words(title, String.join("  ", conditions), x, y);
  }

  private boolean isAlike(String column, String value) {
    return rows.stream().allMatch(row -> value.equals(row.get(column)));
  }
}
