package org.kernbench.eval.sweep;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.kernbench.config.Suggest;
import org.kernbench.eval.Bench;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.output.Json;

/**
 * The row of one point in the results store. All of it but {@code wallMs} follows from the key.
 *
 * @param key of the point
 * @param bench its name
 * @param machine name
 * @param machineHash hash of its configuration
 * @param mode {@code full}, {@code time} or {@code values}
 * @param params parameters and conditions as a JSON object
 * @param status {@code ok}, {@code wrong_values}, … as in results; {@code refused} if the choice of
 *     values cannot be run
 * @param correct {@code true}, {@code false}, or empty if no values were compared
 * @param maxAbsError largest error of a value; empty if none was compared
 * @param critPs simulated time in picoseconds; 0 if there is none
 * @param boundPs what it cannot be below, picoseconds
 * @param boundKind what kind of bound
 * @param metrics all metrics as a JSON object
 * @param opLogHash of the run
 * @param problems what went wrong, one per line
 * @param wallMs wall-clock time of the run in milliseconds
 * @param files every file that the run read, by absolute path, with a hash of what it said
 */
public record SweepRow(
    String key,
    String bench,
    String machine,
    String machineHash,
    String mode,
    String params,
    String status,
    String correct,
    String maxAbsError,
    long critPs,
    long boundPs,
    String boundKind,
    String metrics,
    String opLogHash,
    String problems,
    double wallMs,
    SortedMap<String, String> files) {
  private static final int FIELDS = 17;

  /** Copies the map. */
  public SweepRow {
    files = Collections.unmodifiableSortedMap(new TreeMap<>(files));
  }

  /** The row of a result. */
  public static SweepRow of(String key, RunResult r) {
    return new SweepRow(
        key,
        r.bench(),
        r.machineName(),
        r.machineHash(),
        r.mode(),
        Json.compact(r.params()),
        r.status().word(),
        r.values().map(v -> Boolean.toString(v.isCorrect())).orElse(""),
        r.values().map(v -> number(v.maxAbsError())).orElse(""),
        picoseconds(r.metrics(), "crit_ns"),
        picoseconds(r.metrics(), "bound_ns"),
        String.valueOf(r.metrics().getOrDefault("bound_kind", "")),
        Json.compact(r.metrics()),
        r.sim().opLogHash(),
        String.join("\n", r.problems()),
        r.sim().wallMs(),
        new TreeMap<>());
  }

  /** This row with what its run read. */
  SweepRow having(SortedMap<String, String> read) {
    return new SweepRow(
        key,
        bench,
        machine,
        machineHash,
        mode,
        params,
        status,
        correct,
        maxAbsError,
        critPs,
        boundPs,
        boundKind,
        metrics,
        opLogHash,
        problems,
        wallMs,
        read);
  }

  /** The row of a point that cannot be run as configured. */
  static SweepRow refused(Sweep.Point point, Bench bench, String why) {
    Map<String, Object> params = new LinkedHashMap<>();
    for (String param : point.options().params()) {
      int equals = param.indexOf('=');
      params.put(Suggest.fold(param.substring(0, equals)), param.substring(equals + 1));
    }
    return new SweepRow(
        point.key(),
        bench.name(),
        "",
        "",
        point.options().mode().name().toLowerCase(java.util.Locale.ROOT),
        Json.compact(params),
        "refused",
        "",
        "",
        0,
        0,
        "",
        "{}",
        "",
        why,
        0,
        new TreeMap<>());
  }

  private static String number(double value) {
    return Json.compact(value).replace("\"", "");
  }

  private static long picoseconds(Map<String, Object> metrics, String name) {
    return Optional.ofNullable(metrics.get(name))
        .map(v -> ((BigDecimal) v).movePointRight(3).longValueExact())
        .orElse(0L);
  }

  /** Whether the run ended well. */
  public boolean isOk() {
    return status.equals("ok");
  }

  /** The fields as text, in order, for another process. */
  public List<String> toTexts() {
    return List.of(
        key,
        bench,
        machine,
        machineHash,
        mode,
        params,
        status,
        correct,
        maxAbsError,
        Long.toString(critPs),
        Long.toString(boundPs),
        boundKind,
        metrics,
        opLogHash,
        problems,
        Double.toString(wallMs),
        String.join("\0", files.entrySet().stream().map(e -> e.getValue() + e.getKey()).toList()));
  }

  /** The row that {@link #toTexts} wrote. */
  public static SweepRow fromTexts(List<String> texts) {
    if (texts.size() != FIELDS) {
      throw new IllegalArgumentException(
          "got " + texts.size() + " fields of a row; expected " + FIELDS);
    }
    List<String> t = new ArrayList<>(texts);
    return new SweepRow(
        t.get(0),
        t.get(1),
        t.get(2),
        t.get(3),
        t.get(4),
        t.get(5),
        t.get(6),
        t.get(7),
        t.get(8),
        Long.parseLong(t.get(9)),
        Long.parseLong(t.get(10)),
        t.get(11),
        t.get(12),
        t.get(13),
        t.get(14),
        Double.parseDouble(t.get(15)),
        files(t.get(16)));
  }

  /** Hash and path of each, without a sign between: paths are absolute and begin with one. */
  private static SortedMap<String, String> files(String text) {
    SortedMap<String, String> files = new TreeMap<>();
    for (String each : text.isEmpty() ? new String[0] : text.split("\0")) {
      int path = each.indexOf('/');
      files.put(each.substring(path), each.substring(0, path));
    }
    return files;
  }
}
