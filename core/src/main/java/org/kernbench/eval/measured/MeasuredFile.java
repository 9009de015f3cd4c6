package org.kernbench.eval.measured;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;

/**
 * A table of measured runs: CSV with one line of headings. Either its columns are {@code bench,
 * params, metric, value, unit} (and perhaps {@code weight, size, source}), or a mapping says what
 * they mean: the file given, else one beside the table with the same name and the ending {@code
 * .yaml}, else one that comes with kernbench, for a table whose name ends so or with just these
 * columns.
 *
 * @param file its name as given
 * @param hash the first 16 digits of its SHA-256
 * @param rows in the order of the file
 */
public record MeasuredFile(String file, String hash, List<MeasuredRow> rows) {
  /** Copies the list. */
  public MeasuredFile {
    rows = List.copyOf(rows);
  }

  /**
   * Reads a table.
   *
   * @throws UsageException with file and line, if it cannot be understood
   */
  public static MeasuredFile read(String name, Optional<Path> mappingFile) {
    String text;
    Path path;
    try {
      path = UserFile.path(name);
      text = UserFile.text(path, "a table of measured runs, in CSV");
    } catch (UnreadableException e) {
      throw new UsageException(name + ": " + e.getMessage());
    }
    List<String> lines = text.lines().toList();
    if (lines.isEmpty() || lines.getFirst().isBlank()) {
      throw new UsageException(
          name + ":1: is empty; expected a line of headings and one line for each run");
    }
    List<String> headings = cells(lines.getFirst().replaceFirst("^# *", ""), name + ":1");
    Mappings mappings = mapping(name, path, headings, mappingFile);
    List<MeasuredRow> rows = new ArrayList<>();
    for (int i = 1; i < lines.size(); i++) {
      String where = name + ":" + (i + 1);
      if (!lines.get(i).isBlank()) {
        Map<String, String> row = named(headings, cells(lines.get(i), where), where);
        if (mappings.counts(row, where)) {
          rows.add(row(mappings.of(row, where), row, where));
        }
      }
    }
    if (rows.isEmpty()) {
      throw new UsageException(
          name + ": has no runs; expected at least one line after the headings");
    }
    return new MeasuredFile(name, hash(text), rows);
  }

  /** This file with some of its rows. */
  public MeasuredFile with(List<MeasuredRow> some) {
    return new MeasuredFile(file, hash, some);
  }

  private static Mappings mapping(
      String name, Path path, List<String> headings, Optional<Path> given) {
    if (given.isPresent()) {
      Optional<Mappings> shipped = Mappings.shipped(given.get().toString());
      return shipped.isPresent() && !Files.exists(given.get())
          ? shipped.get()
          : TableMapping.read(given.get());
    }
    if (headings.containsAll(TableMapping.PLAIN)) {
      return TableMapping.plain(headings);
    }
    String own = String.valueOf(path.getFileName()).replaceFirst("\\.[^.]*$", "");
    Path beside = path.resolveSibling(own + ".yaml");
    if (Files.exists(beside)) {
      return TableMapping.read(beside);
    }
    return Mappings.byName(own).orElseGet(() -> Mappings.byColumns(name, headings));
  }

  private static Map<String, String> named(
      List<String> headings, List<String> cells, String where) {
    if (cells.size() != headings.size()) {
      throw new UsageException(
          String.format(
              Locale.ROOT,
              "%s: got %d values for %d headings; expected one for each",
              where,
              cells.size(),
              headings.size()));
    }
    Map<String, String> row = new LinkedHashMap<>();
    for (int i = 0; i < cells.size(); i++) {
      row.put(headings.get(i), cells.get(i));
    }
    return row;
  }

  private static MeasuredRow row(TableMapping mapping, Map<String, String> row, String where) {
    List<String> params = new ArrayList<>();
    if (row.containsKey("params") && mapping.params().isEmpty()) {
      for (String param : row.get("params").strip().split("[; ]+")) {
        if (!param.isEmpty()) {
          params.add(param);
        }
      }
    }
    mapping
        .params()
        .forEach((name, text) -> params.add(name + "=" + TableMapping.filled(text, row, where)));
    List<String> overrides = new ArrayList<>();
    mapping
        .set()
        .forEach((key, text) -> overrides.add(key + "=" + TableMapping.filled(text, row, where)));
    double value = number(mapping.value(), row, where, "value");
    return new MeasuredRow(
        where,
        TableMapping.filled(mapping.bench(), row, where),
        params,
        overrides,
        metric(TableMapping.filled(mapping.metric(), row, where), where),
        value * unitPs(TableMapping.filled(mapping.unit(), row, where), where),
        number(mapping.weight(), row, where, "weight"),
        mapping.size().equals("0") ? 0 : number(mapping.size(), row, where, "size"),
        TableMapping.filled(mapping.source(), row, where));
  }

  private static MeasuredRow.Metric metric(String text, String where) {
    for (MeasuredRow.Metric each : MeasuredRow.Metric.values()) {
      if (each.name().equalsIgnoreCase(text.strip())) {
        return each;
      }
    }
    throw new UsageException(
        where + ": metric: got \"" + text + "\"; expected kernel, observed or repeated");
  }

  private static double unitPs(String text, String where) {
    return switch (text.strip()) {
      case "ns" -> 1e3;
      case "us", "µs" -> 1e6;
      case "ms" -> 1e9;
      case "s" -> 1e12;
      default ->
          throw new UsageException(
              where + ": unit: got \"" + text + "\"; expected ns, us, ms or s");
    };
  }

  private static double number(
      String template, Map<String, String> row, String where, String what) {
    String text = TableMapping.filled(template, row, where).strip();
    try {
      double value = Double.parseDouble(text);
      if (value > 0 && Double.isFinite(value)) {
        return value;
      }
    } catch (NumberFormatException e) {
      // told below
    }
    throw new UsageException(
        where + ": " + what + ": got \"" + text + "\"; expected a number above 0");
  }

  /** Cells between commas; one in quotes may hold commas. */
  private static List<String> cells(String line, String where) {
    List<String> cells = new ArrayList<>();
    StringBuilder cell = new StringBuilder();
    boolean quoted = false;
    for (int i = 0; i < line.length(); i++) {
      char c = line.charAt(i);
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        cells.add(cell.toString().strip());
        cell.setLength(0);
      } else {
        cell.append(c);
      }
    }
    if (quoted) {
      throw new UsageException(where + ": a quote is not closed; expected \"...\" around a value");
    }
    cells.add(cell.toString().strip());
    return cells;
  }

  private static String hash(String text) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest).substring(0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every JDK has it
    }
  }
}
