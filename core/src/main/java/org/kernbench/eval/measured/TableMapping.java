package org.kernbench.eval.measured;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
 * @param where rows that it is for: those whose column has this text
 */
record TableMapping(
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
  private static final Pattern COLUMN = Pattern.compile("\\{([^}]*)}");

  /** Of a table that says all of it in columns of these names. */
  static final List<String> PLAIN = List.of("bench", "params", "metric", "value", "unit");

  static Mappings plain(List<String> headings) {
    return new Mappings(Map.of(), List.of(plainOf(headings)));
  }

  private static TableMapping plainOf(List<String> headings) {
    return new TableMapping(
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
  static Mappings read(Path file) {
    try {
      return parse(file.toString(), UserFile.text(file, "a mapping of columns, in YAML"));
    } catch (UnreadableException e) {
      throw new UsageException("--mapping " + file + ": " + e.getMessage());
    }
  }

  static Mappings parse(String name, String text) {
    Problems problems = new Problems();
    ConfigTree tree = ConfigTree.parse(name, text, problems);
    ConfigMap root = tree.root(problems);
    Mappings mappings = new Mappings(texts(root, "where"), read(root));
    root.done();
    problems.throwIfAny();
    return mappings;
  }

  /** One mapping for all rows, or those of the list {@code cases}, with what stands beside it. */
  private static List<TableMapping> read(ConfigMap root) {
    if (!root.has("cases")) {
      return List.of(of(root, root));
    }
    List<TableMapping> cases = new ArrayList<>();
    for (ConfigMap one : root.maps("cases")) {
      cases.add(of(one, root));
      one.done();
    }
    return cases;
  }

  /**
   * Of one case; what it does not say is said for all.
   *
   * @param one the case, or all
   * @param all the whole file
   */
  private static TableMapping of(ConfigMap one, ConfigMap all) {
    Map<String, String> set = texts(all, "set");
    Map<String, String> params = texts(all, "params");
    if (one != all) {
      set.putAll(texts(one, "set"));
      params.putAll(texts(one, "params"));
    }
    return new TableMapping(
        said(one, all, "bench"),
        params,
        set,
        orElse(one, all, "metric", "observed"),
        said(one, all, "value"),
        said(one, all, "unit"),
        orElse(one, all, "weight", "1"),
        orElse(one, all, "size", "0"),
        orElse(one, all, "source", ""),
        one == all ? Map.of() : texts(one, "where"));
  }

  private static String said(ConfigMap one, ConfigMap all, String key) {
    return all.has(key) && !one.has(key) ? all.text(key) : one.text(key);
  }

  private static String orElse(ConfigMap one, ConfigMap all, String key, String otherwise) {
    return one.has(key) || all.has(key) ? said(one, all, key) : otherwise;
  }

  /** The columns that its templates name. */
  Set<String> columns() {
    Set<String> columns = new LinkedHashSet<>();
    List<String> templates = new ArrayList<>(List.of(bench));
    templates.addAll(params.values());
    templates.addAll(set.values());
    templates.addAll(List.of(metric, value, unit, weight, size, source));
    for (String template : templates) {
      Matcher m = COLUMN.matcher(template);
      while (m.find()) {
        columns.add(m.group(1));
      }
    }
    return columns;
  }

  /** Whether a row is one of those that this is for. */
  boolean fits(Map<String, String> row, String place) {
    return Mappings.fits(where, row, place);
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
