package org.kernbench.eval.measured;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;

/** What a {@link Calibration} found, for people, for programs, and as a machine. */
public final class CalibrationReport {
  private static final int WORST = 3;

  private CalibrationReport() {}

  /** As text. */
  public static String text(Calibration.Found f) {
    StringBuilder out = new StringBuilder();
    line(
        out,
        "measured    %s (%d rows, sha256 %s)",
        f.file().file(),
        f.file().rows().size(),
        f.file().hash());
    line(out, "machine     %s", f.machine());
    line(
        out,
        "fitted      %d rows: mean error %.1f %% before, %.1f %% after (mean |ln| %.4f, %.4f)",
        f.after().rows().size(),
        100 * f.before().meanError(),
        100 * f.after().meanError(),
        f.before().meanLogRatio(),
        f.after().meanLogRatio());
    if (f.heldOutAfter().isPresent()) {
      line(
          out,
          "held out    %d rows: mean error %.1f %% before, %.1f %% after (mean |ln| %.4f, %.4f)",
          f.heldOutAfter().get().rows().size(),
          100 * f.heldOutBefore().orElseThrow().meanError(),
          100 * f.heldOutAfter().get().meanError(),
          f.heldOutBefore().orElseThrow().meanLogRatio(),
          f.heldOutAfter().get().meanLogRatio());
    }
    for (int i = 0; i < f.values().size(); i++) {
      line(
          out,
          "value       %s = %s%s",
          f.parameters().get(i).path(),
          f.values().get(i),
          interval(f, i).map(text -> " (" + text + ")").orElse(""));
    }
    for (String warning : f.warnings()) {
      line(out, "warning     %s", warning);
    }
    f.refusal().ifPresent(why -> line(out, "refused     %s", why));
    line(out, "worst");
    for (Validation.Compared c : f.heldOutAfter().orElse(f.after()).worst(WORST)) {
      line(
          out,
          "  %s  %s: %s",
          ValidationReport.percent(c.error()),
          c.row().shown(),
          c.simulated().why());
    }
    line(out, "simulated   %,d rows", f.simulations());
    return out.toString();
  }

  private static Optional<String> interval(Calibration.Found f, int i) {
    return i < f.intervals().size() ? Optional.of(f.intervals().get(i).text()) : Optional.empty();
  }

  /** As JSON. */
  public static String json(Calibration.Found f) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("schema", 1);
    json.put("file", f.file().file());
    json.put("sha256", f.file().hash());
    json.put("machine", f.machine());
    Map<String, Object> values = new LinkedHashMap<>();
    for (int i = 0; i < f.values().size(); i++) {
      values.put(f.parameters().get(i).path(), f.values().get(i));
    }
    json.put("values", values);
    Map<String, Object> intervals = new LinkedHashMap<>();
    for (int i = 0; i < f.intervals().size(); i++) {
      Identifiability.Interval each = f.intervals().get(i);
      intervals.put(
          f.parameters().get(i).path(),
          List.of(Numbers.rounded(each.low()), Numbers.rounded(each.high())));
    }
    json.put("intervals_95", intervals);
    json.put("fitted_rows", f.after().rows().size());
    json.put("fitted_error_before", Numbers.rounded(f.before().meanError()));
    json.put("fitted_error", Numbers.rounded(f.after().meanError()));
    json.put("fitted_log_ratio", Numbers.rounded(f.after().meanLogRatio()));
    f.heldOutAfter()
        .ifPresent(held -> {
          json.put("held_out_rows", held.rows().size());
          json.put(
              "held_out_error_before",
              Numbers.rounded(f.heldOutBefore().orElseThrow().meanError()));
          json.put("held_out_error", Numbers.rounded(held.meanError()));
          json.put("held_out_log_ratio", Numbers.rounded(held.meanLogRatio()));
        });
    json.put("warnings", f.warnings());
    json.put("refused", f.refusal().isPresent());
    f.refusal().ifPresent(why -> json.put("reason", why));
    json.put("simulations", f.simulations());
    return Json.write(json);
  }

  /**
   * A machine that extends the one that was fitted, with the values found and nothing else.
   *
   * @param base what it extends
   * @param set {@code path=value} that were given beside
   */
  public static String yaml(Calibration.Found f, String base, List<String> set, String version) {
    String held =
        f.heldOutAfter().isPresent()
            ? String.format(
                Locale.ROOT, "held-out error %.1f %%", 100 * f.heldOutAfter().get().meanError())
            : String.format(
                Locale.ROOT, "error %.1f %%, nothing held out", 100 * f.after().meanError());
    String origin =
        "calibrated on %s, sha256 %s, %s".formatted(f.file().file(), f.file().hash(), held);
    StringBuilder out = new StringBuilder();
    line(
        out,
        "# Written by kernbench %s calibrate: %d of %d rows fitted, mean error %.1f %% before and %.1f %% after.",
        version,
        f.after().rows().size(),
        f.file().rows().size(),
        100 * f.before().meanError(),
        100 * f.after().meanError());
    for (String warning : f.warnings()) {
      line(out, "# Warning: %s.", warning);
    }
    line(out, "extends: %s", base);
    TreeMap<String, String> keys = new TreeMap<>();
    for (String each : set) {
      int equals = each.indexOf('=');
      keys.put(each.substring(0, equals).strip(), each.substring(equals + 1).strip() + "  # given");
    }
    for (int i = 0; i < f.values().size(); i++) {
      String within = interval(f, i).map(text -> ", " + text).orElse("");
      keys.put(f.parameters().get(i).path(), f.values().get(i) + "  # " + origin + within);
    }
    List<String> open = new ArrayList<>();
    keys.forEach((path, value) -> {
      List<String> parts = List.of(path.split("\\."));
      int same = 0;
      while (same < Math.min(open.size(), parts.size() - 1)
          && open.get(same).equals(parts.get(same))) {
        same++;
      }
      while (open.size() > same) {
        open.removeLast();
      }
      for (int i = same; i < parts.size() - 1; i++) {
        out.append("  ".repeat(i)).append(parts.get(i)).append(":\n");
        open.add(parts.get(i));
      }
      out.append("  ".repeat(parts.size() - 1))
          .append(parts.getLast())
          .append(": ")
          .append(value)
          .append('\n');
    });
    return out.toString();
  }

  private static void line(StringBuilder out, String format, Object... arguments) {
    out.append(String.format(Locale.ROOT, format, arguments)).append('\n');
  }
}
