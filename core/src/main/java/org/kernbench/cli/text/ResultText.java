package org.kernbench.cli.text;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import org.kernbench.ccl.AutoChoice;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.explain.Why;

/** A result for people: conditions first, then values, time and bound, then where the time went. */
public final class ResultText {
  private static final int LEAST_LABEL = 12;

  /** Characters of conditions on one line. */
  private static final int ROW = 84;

  private final StringBuilder out = new StringBuilder();

  /** Columns of the labels: the longest decides. */
  private final int labelWidth;

  private ResultText(RunResult result) {
    labelWidth =
        result.metrics().keySet().stream()
            .filter(name -> isShown(name, result.metrics()))
            .mapToInt(name -> label(name).length() + 1)
            .reduce(LEAST_LABEL, Math::max);
  }

  /** Conditions, values, time and bound. */
  static String head(RunResult result) {
    ResultText text = new ResultText(result);
    text.conditions(result);
    text.values(result);
    text.time(result);
    text.why(result);
    return text.out.toString();
  }

  /** All that a run has to say, as lines of text. */
  public static String write(RunResult result) {
    ResultText text = new ResultText(result);
    text.conditions(result);
    text.values(result);
    text.time(result);
    text.why(result);
    text.breakdown(result);
    text.rows(result);
    text.choices(result);
    text.verified(result);
    text.checked(result);
    text.simulation(result);
    return text.out.toString();
  }

  private void line(String label, String text) {
    out.append(label).append(" ".repeat(labelWidth - label.length())).append(text).append('\n');
  }

  private void conditions(RunResult r) {
    line("bench", r.bench() + "   (kernbench " + r.version() + ", mode " + r.mode() + ")");
    if (!r.machineName().isEmpty()) {
      line("machine", r.machineName() + "   (configuration " + r.machineHash() + ")");
    }
    List<String> params = new ArrayList<>();
    r.params().forEach((name, value) -> params.add(brief(name + "=" + value)));
    String label = "with";
    StringBuilder row = new StringBuilder();
    for (String p : params) {
      if (!row.isEmpty() && row.length() + p.length() > ROW) {
        line(label, row.toString());
        label = "";
        row.setLength(0);
      }
      row.append(row.isEmpty() ? "" : "  ").append(p);
    }
    if (!row.isEmpty()) {
      line(label, row.toString());
    }
    out.append('\n');
  }

  /** Of a condition that fills more than a row what stands before its details, which JSON keeps. */
  private static String brief(String condition) {
    int details = condition.indexOf("; ");
    return condition.length() > ROW && details > 0
        ? condition.substring(0, details) + "; ..."
        : condition;
  }

  private void values(RunResult r) {
    if (r.values().isEmpty()) {
      if (r.mode().equals("time")) {
        line("values", "not computed (mode time)");
      }
      return;
    }
    ValueCheck v = r.values().get();
    if (!v.compared().isEmpty()) {
      kinds(v);
      return;
    }
    String error =
        v.allowed() == 0
            ? "all exact"
            : String.format(
                Locale.ROOT,
                "largest error %s, allowed %.4g",
                number(v.maxAbsError()),
                v.allowed());
    line(
        "values",
        v.isCorrect()
            ? v.checked() == 0
                ? "correct: there are none to compare" + left(r)
                : "correct: " + grouped(v.checked()) + " compared with f64 sums, " + error
            : "WRONG: " + grouped(v.wrong()) + " of " + grouped(v.checked()));
  }

  /** What is checked of collectives that have no values. */
  private static String left(RunResult r) {
    return "barrier".equals(r.params().get("op")) ? "; no rank left before the last had come" : "";
  }

  /** Tensors of several kinds, each with its own tolerance. */
  private void kinds(ValueCheck v) {
    String beside = grouped(v.checked()) + " compared with one rank in f64";
    line(
        "values",
        v.isCorrect()
            ? "correct: " + beside + ", all within what rounding does to each tensor"
            : "WRONG: " + grouped(v.wrong()) + " of " + beside);
    List<List<String>> table = new ArrayList<>();
    table.add(List.of("compared", "tensors", "values", "error / allowed", "worst"));
    for (ValueCheck.Compared c : v.compared()) {
      table.add(
          List.of(
              c.kind(),
              grouped(c.tensors()),
              grouped(c.values()),
              String.format(Locale.ROOT, "%.3g", c.worst()),
              c.worstTensor()));
    }
    table(table, labelWidth);
  }

  private void time(RunResult r) {
    Map<String, Object> m = r.metrics();
    if (m.get("crit_ns") instanceof BigDecimal crit
        && m.get("bound_ns") instanceof BigDecimal bound) {
      boolean points = !r.rows().isEmpty() && r.rows().getFirst().containsKey("efficiency");
      boolean slowest = (points || r.point().isPresent()) && !r.params().containsKey("point");
      boolean devices = points && r.rows().getFirst().containsKey("device");
      String what = slowest ? "   (slowest " + (devices ? "device" : "point") + ")" : "";
      line("time", ns(crit) + what);
      if (bound.signum() > 0) {
        double ratio = crit.doubleValue() / bound.doubleValue();
        line(
            "bound",
            String.format(
                Locale.ROOT,
                "%s (%s); the time is %.2f x the bound, efficiency %.1f %%",
                ns(bound),
                m.get("bound_kind"),
                ratio,
                100 / ratio));
      }
    } else if (r.mode().equals("values")) {
      line("time", "not simulated (mode values)");
    }
    m.forEach((name, value) -> {
      if (isShown(name, m)) {
        metric(name, value, m);
      }
    });
  }

  /** Whether a metric has a line of its own. */
  private static boolean isShown(String name, Map<String, Object> all) {
    return switch (name) {
      case "crit_ns", "bound_ns", "bound_kind", "efficiency" -> false;
      default -> !(name.endsWith("_pct") && all.containsKey(inNs(name)));
    };
  }

  private void checked(RunResult r) {
    r.checked()
        .ifPresent(c -> {
          int found = c.findings().size() + c.left();
          out.append('\n');
          line(
              "checked",
              "%s in %s accesses and %s messages"
                  .formatted(
                      found == 0 ? "no findings" : found + (found == 1 ? " finding" : " findings"),
                      grouped(c.accesses()),
                      grouped(c.messages())));
        });
  }

  /** What took most of the time, in sentences. */
  private void why(RunResult r) {
    String label = "why";
    for (String sentence : r.path().map(Why::of).orElse(List.of())) {
      line(label, sentence);
      label = "";
    }
  }

  /** The time of which a metric is the percentage. */
  private static String inNs(String percent) {
    return percent.substring(0, percent.length() - "_pct".length()) + "_ns";
  }

  /** A metric's name without its unit. */
  private static String label(String name) {
    return name.replaceFirst("_(ns|pct|gb_per_s)$", "");
  }

  private void metric(String name, Object value, Map<String, Object> all) {
    String text = value instanceof BigDecimal d ? groupedDecimal(d) : String.valueOf(value);
    String unit = "";
    if (name.endsWith("_ns")) {
      Object percent = all.get(label(name) + "_pct");
      unit = " ns" + (percent == null ? "" : ", " + percent + " % of the time");
    } else if (name.endsWith("_pct")) {
      unit = " %";
    } else if (name.endsWith("_gb_per_s")) {
      unit = " GB/s";
    }
    line(label(name), text + unit);
  }

  /** With as many digits after the point as it has. */
  private static String groupedDecimal(BigDecimal d) {
    int digits = Math.max(0, d.stripTrailingZeros().scale());
    return String.format(Locale.ROOT, "%,." + digits + "f", d);
  }

  private void breakdown(RunResult r) {
    if (!r.breakdownNote().isEmpty() && r.rows().isEmpty()) {
      out.append('\n');
      line("breakdown", r.breakdownNote());
    }
    if (r.breakdown().isEmpty()) {
      return;
    }
    out.append("\nwhere the time went\n");
    boolean hasLines = r.breakdown().stream().anyMatch(s -> !s.line().isEmpty());
    List<List<String>> table = new ArrayList<>();
    table.add(List.of("share", "time", "cause", "mostly at", hasLines ? "kernel line" : ""));
    for (Breakdown.Share s : r.breakdown()) {
      table.add(
          List.of(
              String.format(Locale.ROOT, "%.1f %%", 100 * s.share()),
              ns(BigDecimal.valueOf(s.ps(), 3)),
              s.cause().text(),
              s.place(),
              s.line()));
    }
    table(table, 2);
  }

  private void rows(RunResult r) {
    if (r.rows().isEmpty()) {
      return;
    }
    out.append('\n');
    List<List<String>> table = new ArrayList<>();
    table.add(List.copyOf(r.rows().getFirst().keySet()));
    for (Map<String, Object> row : r.rows()) {
      table.add(
          row.values().stream()
              .map(v -> v instanceof BigDecimal d ? d.toPlainString() : String.valueOf(v))
              .toList());
    }
    table(table, 0);
  }

  private static final int REASON = 90;

  /** What auto compared for each call, or each size. */
  private void choices(RunResult r) {
    for (AutoChoice choice : r.choices()) {
      out.append(
          String.format(
              Locale.ROOT,
              "%nwhat auto compared for %s of %,d bytes: %s, by %s%n",
              choice.op().word(),
              choice.bytes(),
              choice.chosen(),
              choice.basis().word()));
      List<List<String>> table = new ArrayList<>();
      table.add(List.of("simulated", "forecast", "algorithm", ""));
      for (AutoChoice.Candidate c : choice.candidates()) {
        String note =
            c.note().length() <= REASON ? c.note() : c.note().substring(0, REASON - 2) + " …";
        table.add(List.of(ns(c.simulatedPs()), ns(c.forecastPs()), c.algorithm(), note));
      }
      table(table, 2);
    }
  }

  private static String ns(OptionalLong ps) {
    return ps.isPresent() ? ns(BigDecimal.valueOf(ps.getAsLong(), 3)) : "-";
  }

  /** Columns as wide as their widest cell; numbers to the right; {@code indent} spaces before. */
  private void table(List<List<String>> rows, int indent) {
    table(out, rows, indent);
  }

  /** Columns side by side; numbers to the right. */
  public static void table(StringBuilder out, List<List<String>> rows, int indent) {
    int columns = rows.getFirst().size();
    int[] width = new int[columns];
    boolean[] right = new boolean[columns];
    for (int c = 0; c < columns; c++) {
      for (List<String> row : rows) {
        width[c] = Math.max(width[c], row.get(c).length());
      }
      String sample = rows.size() > 1 ? rows.get(1).get(c) : "";
      right[c] = !sample.isEmpty() && Character.isDigit(sample.charAt(0));
    }
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder(" ".repeat(indent));
      for (int c = 0; c < columns; c++) {
        String pad = " ".repeat(width[c] - row.get(c).length());
        line.append(right[c] ? pad + row.get(c) : row.get(c) + pad).append("  ");
      }
      out.append(line.toString().stripTrailing()).append('\n');
    }
  }

  private void verified(RunResult r) {
    r.verified().forEach((modes, how) -> line("verified", modes + ": " + how));
  }

  private void simulation(RunResult r) {
    if (r.sim().events() > 0) {
      out.append('\n');
      line(
          "simulated",
          String.format(
              Locale.ROOT,
              "%s: %,d events in %.0f ms%s%s",
              r.sim().scope().text(),
              r.sim().events(),
              r.sim().wallMs(),
              r.sim().numerics().startsWith("vector") ? ", products by " + r.sim().numerics() : "",
              r.sim().opLogHash().isEmpty() ? "" : ", op log " + r.sim().opLogHash()));
    }
  }

  private static String ns(BigDecimal ns) {
    return String.format(Locale.ROOT, "%,.3f ns", ns);
  }

  private static String grouped(long n) {
    return String.format(Locale.ROOT, "%,d", n);
  }

  private static String number(double value) {
    return value == Math.rint(value)
        ? Long.toString((long) value)
        : String.format(Locale.ROOT, "%.4g", value);
  }
}
