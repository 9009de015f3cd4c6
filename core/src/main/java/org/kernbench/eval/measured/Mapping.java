package org.kernbench.eval.measured;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kernbench.config.ConfigMap;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.Problems;
import org.kernbench.config.Suggest;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;

/**
 * How the columns of a table become runs: a small YAML file beside it. Texts are templates in which
 * {@code {column}} stands for the value of a column.
 *
 * @param bench what to run
 * @param params parameters of the bench, as templates
 * @param set values of the machine, as templates
 * @param metric a template of {@code kernel}, {@code observed} or {@code repeated}
 * @param value the time, as a template
 * @param unit its unit, as a template: ns, us, ms or s
 * @param weight as a template
 * @param size what errors are shown by, as a template
 * @param source where the numbers come from, as a template
 * @param where rows that count: those whose column has this text
 */
record Mapping(
    String bench,
    Map<String, String> params,
    Map<String, String> set,
    String metric,
    String value,
    String unit,
    String weight,
    String size,
    String source,
    Map<String, String> where) {
  /** Of a table that says all of it in columns of these names. */
  static final List<String> PLAIN = List.of("bench", "params", "metric", "value", "unit");

  static Mapping plain(List<String> headings) {
    return new Mapping(
        "{bench}",
        Map.of(),
        Map.of(),
        "{metric}",
        "{value}",
        "{unit}",
        headings.contains("weight") ? "{weight}" : "1",
        headings.contains("size") ? "{size}" : "0",
        headings.contains("source") ? "{source}" : "",
        Map.of());
  }

  /**
   * Reads one.
   *
   * @throws UsageException if it cannot be read
   * @throws org.kernbench.config.ConfigException with all that is wrong in it
   */
  static Mapping read(Path file) {
    try {
      return parse(file.toString(), UserFile.text(file, "a mapping of columns, in YAML"));
    } catch (UnreadableException e) {
      throw new UsageException("--mapping " + file + ": " + e.getMessage());
    }
  }

  static Mapping parse(String name, String text) {
    Problems problems = new Problems();
    ConfigTree tree = ConfigTree.parse(name, text, problems);
    ConfigMap root = tree.root(problems);
    Mapping mapping =
        new Mapping(
            root.text("bench"),
            texts(root, "params"),
            texts(root, "set"),
            orElse(root, "metric", "observed"),
            root.text("value"),
            root.text("unit"),
            orElse(root, "weight", "1"),
            orElse(root, "size", "0"),
            orElse(root, "source", ""),
            texts(root, "where"));
    root.done();
    problems.throwIfAny();
    return mapping;
  }

  private static String orElse(ConfigMap map, String key, String otherwise) {
    return map.has(key) ? map.text(key) : otherwise;
  }

  private static Map<String, String> texts(ConfigMap root, String key) {
    Map<String, String> texts = new LinkedHashMap<>();
    if (root.has(key)) {
      ConfigMap map = root.map(key);
      flatten("", map, texts);
    }
    return texts;
  }

  private static void flatten(String path, ConfigMap map, Map<String, String> into) {
    for (String key : map.keys()) {
      into.put(path + key, map.text(key));
    }
  }

  /**
   * A template with the values of a row.
   *
   * @param row by column
   * @param where file and line, for messages
   */
  static String filled(String template, Map<String, String> row, String where) {
    StringBuilder text = new StringBuilder();
    int at = 0;
    while (at < template.length()) {
      int open = template.indexOf('{', at);
      int close = open < 0 ? -1 : template.indexOf('}', open);
      if (close < 0) {
        break;
      }
      String column = template.substring(open + 1, close);
      String value = row.get(column);
      if (value == null) {
        throw new UsageException(
            String.format(
                Locale.ROOT,
                "%s: the mapping names a column \"%s\"; expected one of %s%s",
                where,
                column,
                String.join(", ", row.keySet()),
                Suggest.hint(column, List.copyOf(row.keySet()))));
      }
      text.append(template, at, open).append(value);
      at = close + 1;
    }
    return text.append(template.substring(at)).toString();
  }
}
