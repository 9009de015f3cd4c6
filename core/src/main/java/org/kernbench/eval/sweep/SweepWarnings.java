package org.kernbench.eval.sweep;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.kernbench.config.Suggest;

/**
 * Axes of a sweep that change more than they say: rows that differ in an algorithm, say, and with
 * it in the number of ranks, are no comparison of algorithms.
 */
final class SweepWarnings {
  /** What a comparison holds fixed, and the axes that change it by intention. */
  private static final Map<String, List<String>> FIXED =
      Map.of(
          "ranks", List.of("ranks", "rank_level", "world_size", "stride"),
          "rank_level", List.of("rank_level"),
          "bytes", List.of("n_elem", "dtype", "bytes", "min_size", "max_size"),
          "pes", List.of("pes", "over", "rank_level"),
          "products", List.of("products"),
          "product_rows", List.of("m"));

  private static final List<String> NAMES =
      List.of("ranks", "rank_level", "bytes", "pes", "products", "product_rows");

  private SweepWarnings() {}

  /** One line for each axis and each thing that it changes unasked, in the order of the axes. */
  static List<String> of(Sweep sweep, List<Map<String, Object>> rows) {
    List<String> warnings = new ArrayList<>();
    for (Sweep.Axis axis : sweep.axes()) {
      for (String what : NAMES) {
        if (!isAsked(axis.name(), what)) {
          changed(sweep, rows, axis, what).ifPresent(warnings::add);
        }
      }
    }
    return warnings;
  }

  /** The machine's or the file's own value of that name counts as asked for, and so do counts. */
  private static boolean isAsked(String axis, String what) {
    String key = axis.substring(Math.max(axis.lastIndexOf('.'), axis.lastIndexOf(':')) + 1);
    boolean isSize = axis.startsWith("set:") && List.of("count", "w", "h").contains(key);
    return isSize || FIXED.getOrDefault(what, List.of()).contains(Suggest.fold(key));
  }

  private static Optional<String> changed(
      Sweep sweep, List<Map<String, Object>> rows, Sweep.Axis axis, String what) {
    Map<List<Object>, Set<String>> alike = new LinkedHashMap<>();
    for (Map<String, Object> row : rows) {
      String value = String.valueOf(row.getOrDefault(what, ""));
      if (!value.isEmpty()) {
        List<Object> others = new ArrayList<>();
        for (Sweep.Axis other : sweep.axes()) {
          others.add(other == axis ? "" : row.getOrDefault(other.name(), ""));
        }
        alike.computeIfAbsent(others, k -> new LinkedHashSet<>()).add(value);
      }
    }
    return alike.values().stream()
        .filter(values -> values.size() > 1)
        .findFirst()
        .map(values ->
            "%s also changes %s (%s), so its rows compare different things%s"
                .formatted(
                    axis.name(),
                    what,
                    String.join(", ", values),
                    sweep.bench().params().stream().anyMatch(p -> p.name().equals(what))
                        ? "; --param " + what + "=… holds it"
                        : ""));
  }
}
