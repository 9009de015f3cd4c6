package org.kernbench.eval.measured;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.output.TextTable;

/** A {@link Validation} for people, for programs, and as a section of a document. */
public final class ValidationReport {
  private static final int WORST = 3;

  private ValidationReport() {}

  /** As text: every row, means, bias by size, the worst rows with what they were spent on. */
  public static String text(Validation v) {
    StringBuilder out = new StringBuilder();
    line(
        out,
        "measured    %s (%d rows, sha256 %s)",
        v.file().file(),
        v.rows().size(),
        v.file().hash());
    line(out, "machine     %s", v.machine());
    line(out, "");
    TextTable table =
        new TextTable(List.of("row", "measured us", "simulated us", "error", "cause")).left(0, 4);
    for (Validation.Compared c : v.rows()) {
      table.add(
          List.of(
              c.row().shown(),
              us(c.row().ps()),
              us(c.simulated().ps(c.row())),
              percent(c.error()),
              c.simulated().why()));
    }
    out.append(table);
    line(out, "");
    line(
        out,
        "error       mean %.1f %%, bias %+.1f %%, mean |ln(simulated/measured)| %.4f",
        100 * v.meanError(),
        100 * v.bias(),
        v.meanLogRatio());
    for (Validation.Bin bin : v.bySize()) {
      line(
          out,
          "            %+6.1f %% over %d rows of %s %s to %s",
          100 * bin.bias(),
          bin.rows(),
          v.sizeWord(),
          plain(bin.from()),
          plain(bin.to()));
    }
    line(out, "worst");
    for (Validation.Compared c : v.worst(WORST)) {
      line(out, "  %s  %s: %s", percent(c.error()), c.row().shown(), c.simulated().why());
    }
    return out.toString();
  }

  /** As JSON. */
  public static String json(Validation v) {
    return Json.write(tree(v));
  }

  static Map<String, Object> tree(Validation v) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("schema", 1);
    json.put("file", v.file().file());
    json.put("sha256", v.file().hash());
    json.put("machine", v.machine());
    json.put("mean_error", Numbers.rounded(v.meanError()));
    json.put("bias", Numbers.rounded(v.bias()));
    json.put("mean_log_ratio", Numbers.rounded(v.meanLogRatio()));
    List<Object> bins = new ArrayList<>();
    for (Validation.Bin bin : v.bySize()) {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("by", v.sizeWord());
      one.put("rows", bin.rows());
      one.put("from", Numbers.rounded(bin.from()));
      one.put("to", Numbers.rounded(bin.to()));
      one.put("bias", Numbers.rounded(bin.bias()));
      bins.add(one);
    }
    json.put("by_size", bins);
    List<Object> rows = new ArrayList<>();
    for (Validation.Compared c : v.rows()) {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("where", c.row().where());
      one.put("bench", c.row().bench());
      one.put("params", c.row().params());
      one.put("set", c.row().overrides());
      one.put("metric", c.row().metric().name().toLowerCase(Locale.ROOT));
      one.put("measured_us", Numbers.rounded(c.row().ps() / 1e6));
      one.put("simulated_us", Numbers.rounded(c.simulated().ps(c.row()) / 1e6));
      one.put("kernel_us", Numbers.rounded(c.simulated().kernelPs() / 1e6));
      one.put("error", Numbers.rounded(c.error()));
      one.put("weight", Numbers.rounded(c.row().weight()));
      one.put("cause", c.simulated().why());
      one.put("source", c.row().source());
      rows.add(one);
    }
    json.put("rows", rows);
    return json;
  }

  private static void line(StringBuilder out, String format, Object... arguments) {
    out.append(String.format(Locale.ROOT, format, arguments).stripTrailing()).append('\n');
  }

  static String us(double ps) {
    return String.format(Locale.ROOT, "%,.2f", ps / 1e6);
  }

  static String percent(double share) {
    return String.format(Locale.ROOT, "%+.1f %%", 100 * share);
  }

  private static String plain(double value) {
    return value >= 100
        ? String.format(Locale.ROOT, "%,.0f", value)
        : String.format(Locale.ROOT, "%.3g", value);
  }
}
