package org.kernbench.cli.text;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kernbench.eval.sweep.Sweep;
import org.kernbench.eval.sweep.SweepFolder;
import org.kernbench.eval.sweep.SweepRunner;

/** The rows of a sweep for people. */
public final class SweepText {
  private static final List<String> COMPARED = List.of("ranks", "rank_level", "bytes");
  private static final List<String> COLUMNS =
      List.of("status", "crit_ns", "busbw_gb_per_s", "bound_ns", "bound_kind", "efficiency");
  private static final int MOST = 60;

  private SweepText() {}

  /** The rows as a table, and where the files are. */
  public static String write(
      Sweep sweep,
      List<Map<String, Object>> rows,
      SweepRunner.Summary summary,
      SweepFolder folder) {
    List<String> columns = new ArrayList<>(sweep.axes().stream().map(Sweep.Axis::name).toList());
    for (String column : COMPARED) {
      if (!columns.contains(column) && rows.stream().anyMatch(row -> row.containsKey(column))) {
        columns.add(column);
      }
    }
    COLUMNS.stream()
        .filter(c -> rows.stream().anyMatch(row -> row.containsKey(c)))
        .forEach(columns::add);
    List<List<String>> table = new ArrayList<>();
    table.add(columns);
    for (Map<String, Object> row : rows.subList(0, Math.min(MOST, rows.size()))) {
      table.add(columns.stream().map(c -> String.valueOf(row.getOrDefault(c, ""))).toList());
    }
    StringBuilder out = new StringBuilder();
    out.append(
        String.format(
            Locale.ROOT,
            "sweep       %s   (kernbench %s, %s)\n\n",
            sweep.bench().name(),
            sweep.version(),
            points(summary)));
    ResultText.table(out, table, 2);
    if (rows.size() > MOST) {
      out.append(String.format(Locale.ROOT, "  … and %,d more\n", rows.size() - MOST));
    }
    out.append("\nall columns ").append(folder.csv()).append(", ").append(folder.json());
    out.append("\nstore       ").append(folder.store()).append('\n');
    return out.toString();
  }

  /** How many points failed, and the first of them with its first problem. */
  public static String failures(
      Sweep sweep, List<Map<String, Object>> rows, SweepRunner.Summary summary) {
    Map<String, Object> first =
        rows.stream().filter(row -> !"ok".equals(row.get("status"))).findFirst().orElse(Map.of());
    List<String> where =
        sweep.axes().stream()
            .map(axis -> axis.name() + "=" + first.getOrDefault(axis.name(), ""))
            .toList();
    return String.format(
        Locale.ROOT,
        "%,d of %,d points failed, first %s (%s); column problems of the results has the others",
        summary.failed(),
        summary.points(),
        String.join(" ", where),
        String.valueOf(first.getOrDefault("problems", "")).lines().findFirst().orElse(""));
  }

  private static String points(SweepRunner.Summary s) {
    String reused =
        s.reused() == 0 ? "" : String.format(Locale.ROOT, ", %,d of them before", s.reused());
    return String.format(Locale.ROOT, "%,d points%s", s.points(), reused);
  }
}
