package org.kernbench.eval.report;

import de.siegmar.fastcsv.writer.CsvWriter;
import de.siegmar.fastcsv.writer.LineDelimiter;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.kernbench.config.Suggest;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.ValueCheck;
import org.kernbench.machine.Machine;

/** Results and op logs as CSV (RFC 4180, UTF-8, line feed, a header first). */
public final class ResultCsv {
  private static final Pattern NUMBER =
      Pattern.compile("[+-]?(\\d+(\\.\\d+)?|\\.\\d+)([eE][+-]?\\d+)?|-?Infinity");

  private ResultCsv() {}

  /**
   * One line for the run; for a bench of many points one line for each of its rows, after what is
   * so for the whole run ({@code run_…} where a row has something else of that name).
   */
  public static String write(RunResult r) {
    StringWriter text = new StringWriter();
    try (CsvWriter csv = writer(text)) {
      Map<String, Object> run = new LinkedHashMap<>();
      run.put("bench", r.bench());
      run.put("machine", r.machineName());
      run.put("machine_hash", r.machineHash());
      run.put("mode", r.mode());
      Map<String, Object> more = new LinkedHashMap<>(r.params());
      more.put("status", r.status().word());
      more.put("correct", r.values().<Object>map(ValueCheck::isCorrect).orElse(""));
      more.put("max_abs_err", r.values().<Object>map(ValueCheck::maxAbsError).orElse(""));
      more.putAll(r.metrics());
      more.put("op_log_hash", r.sim().opLogHash());
      List<Map<String, Object>> rows = r.rows().isEmpty() ? List.of(Map.of()) : r.rows();
      more.forEach((name, value) ->
          run.put(rows.getFirst().containsKey(name) ? "run_" + name : name, value));
      boolean first = true;
      for (Map<String, Object> row : rows) {
        Map<String, Object> line = new LinkedHashMap<>(run);
        line.putAll(row);
        if (first) {
          csv.writeRecord(line.keySet().stream().map(ResultCsv::text).toList());
          first = false;
        }
        csv.writeRecord(line.values().stream().map(ResultCsv::text).toList());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  /** A table whose rows all have the same columns. */
  public static String table(List<Map<String, Object>> rows) {
    StringWriter text = new StringWriter();
    try (CsvWriter csv = writer(text)) {
      if (!rows.isEmpty()) {
        csv.writeRecord(rows.getFirst().keySet().stream().map(ResultCsv::text).toList());
      }
      for (Map<String, Object> row : rows) {
        csv.writeRecord(row.values().stream().map(ResultCsv::text).toList());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  /** Every kept operation, one line each, in the order of issue. */
  static void writeOpLog(OpLog log, Machine machine, Writer out) throws IOException {
    try (CsvWriter csv = writer(out)) {
      csv.writeRecord(
          "op",
          "pe",
          "kind",
          "issue_ps",
          "start_ps",
          "end_ps",
          "bytes",
          "link",
          "serialisation_ps",
          "contention_ps",
          "translation_ps",
          "cause",
          "cause_op",
          "line");
      for (int id = 0; id < log.size(); id++) {
        if (log.has(id)) {
          csv.writeRecord(
              Integer.toString(id),
              log.pe(id).toString(),
              Suggest.fold(log.kind(id).name()),
              Long.toString(log.issuePs(id)),
              Long.toString(log.startPs(id)),
              Long.toString(log.endPs(id)),
              Integer.toString(log.bytes(id)),
              log.link(id) < 0 ? "" : machine.link(log.link(id)).name(),
              Long.toString(log.serialisationPs(id)),
              Long.toString(log.contentionPs(id)),
              Long.toString(log.translationPs(id)),
              log.cause(id).label(),
              log.causeOp(id) < 0 ? "" : Integer.toString(log.causeOp(id)),
              harmless(log.line(id)));
        }
      }
    }
  }

  private static CsvWriter writer(Writer out) {
    return CsvWriter.builder().lineDelimiter(LineDelimiter.LF).build(out);
  }

  private static String text(Object value) {
    return value instanceof BigDecimal decimal
        ? decimal.toPlainString()
        : value instanceof Number ? value.toString() : harmless(value.toString());
  }

  /**
   * A text that a spreadsheet would take for a formula, behind an apostrophe, which makes it a text
   * there; numbers stay numbers.
   */
  private static String harmless(String text) {
    return !text.isEmpty()
            && "=+-@\t\r".indexOf(text.charAt(0)) >= 0
            && !NUMBER.matcher(text).matches()
        ? "'" + text
        : text;
  }
}
