package org.kernbench.eval.measured;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.kernbench.config.UsageException;

/**
 * How the rows of a table become runs, if not all of them are of one bench: a row goes by the first
 * case that fits it.
 *
 * @param where rows that count: those whose column has this text
 * @param cases at least one
 */
record Mappings(Map<String, String> where, List<TableMapping> cases) {
  private static final String SHIPPED = "/org/kernbench/measured/";

  /**
   * Mappings that come with the program and that columns alone may ask for. One for runs of a
   * certain program, which columns do not tell, goes by the name of the table only.
   */
  private static final List<String> BY_COLUMNS =
      List.of(
          "matmul",
          "softmax",
          "layernorm",
          "gelu",
          "allreduce",
          "vtrain_steps_single",
          "operations");

  /** Copies list and map. */
  Mappings {
    where = Map.copyOf(where);
    cases = List.copyOf(cases);
  }

  /** The mapping of this name that comes with the program, if there is one. */
  static Optional<Mappings> shipped(String name) {
    if (!name.matches("[a-z0-9_]+")) {
      return Optional.empty();
    }
    try (InputStream in = Mappings.class.getResourceAsStream(SHIPPED + name + ".yaml")) {
      return in == null
          ? Optional.empty()
          : Optional.of(
              TableMapping.parse(
                  "measured/" + name + ".yaml",
                  new String(in.readAllBytes(), StandardCharsets.UTF_8)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Of a table that is named {@code a_b_c}: the mapping a_b_c, else b_c, else c. */
  static Optional<Mappings> byName(String table) {
    for (String name = table; !name.isEmpty(); name = afterFirst(name)) {
      Optional<Mappings> found = shipped(name);
      if (found.isPresent()) {
        return found;
      }
    }
    return Optional.empty();
  }

  private static String afterFirst(String name) {
    int at = name.indexOf('_');
    return at < 0 ? "" : name.substring(at + 1);
  }

  /**
   * The mapping that comes with the program and names just these columns.
   *
   * @param table for messages
   * @throws UsageException if several do, or none
   */
  static Mappings byColumns(String table, List<String> headings) {
    Set<String> there = Set.copyOf(headings);
    List<String> fitting =
        BY_COLUMNS.stream().filter(n -> named(n).columns().equals(there)).toList();
    if (fitting.size() == 1) {
      return named(fitting.getFirst());
    }
    String got = "%s:1: got columns %s; ".formatted(table, String.join(", ", headings));
    throw new UsageException(
        fitting.isEmpty()
            ? got + unknown(table, there)
            : "%sthey may be of %s; say which with --mapping NAME"
                .formatted(got, String.join(" or ", fitting)));
  }

  private static Mappings named(String name) {
    return shipped(name).orElseThrow();
  }

  private static String unknown(String table, Set<String> there) {
    String nearest = Collections.max(BY_COLUMNS, Comparator.comparing(n -> named(n).share(there)));
    String expected =
        "expected %s, or a mapping of them: %s.yaml beside the table, or --mapping FILE"
            .formatted(String.join(", ", TableMapping.PLAIN), ValidationFolder.name(table));
    if (named(nearest).share(there) == 0) {
      return expected;
    }
    Set<String> missing = new TreeSet<>(named(nearest).columns());
    missing.removeAll(there);
    Set<String> more = new TreeSet<>(there);
    more.removeAll(named(nearest).columns());
    return "%s; or the columns of %s%s%s"
        .formatted(
            expected,
            nearest,
            missing.isEmpty() ? "" : ", of which these are missing: " + String.join(", ", missing),
            more.isEmpty() ? "" : ", which do not have " + String.join(", ", more));
  }

  private double share(Set<String> there) {
    double both = columns().stream().filter(there::contains).count();
    return both / (columns().size() + there.size() - both);
  }

  /** All columns that templates and cases name. */
  Set<String> columns() {
    Set<String> all = new TreeSet<>(where.keySet());
    for (TableMapping each : cases) {
      all.addAll(each.columns());
      all.addAll(each.where().keySet());
    }
    return all;
  }

  /** Whether a row counts. */
  boolean counts(Map<String, String> row, String place) {
    return fits(where, row, place);
  }

  static boolean fits(Map<String, String> where, Map<String, String> row, String place) {
    return where.entrySet().stream()
        .allMatch(only ->
            TableMapping.filled("{" + only.getKey() + "}", row, place).equals(only.getValue()));
  }

  /**
   * The case of a row.
   *
   * @param place file and line, for messages
   * @throws UsageException if none fits
   */
  TableMapping of(Map<String, String> row, String place) {
    return cases.stream()
        .filter(each -> each.fits(row, place))
        .findFirst()
        .orElseThrow(() -> new UsageException(none(row, place)));
  }

  private String none(Map<String, String> row, String place) {
    Set<String> asked = new TreeSet<>();
    List<String> known = new ArrayList<>();
    for (TableMapping each : cases) {
      asked.addAll(each.where().keySet());
      known.add(words(each.where()));
    }
    Map<String, String> got =
        asked.stream().collect(Collectors.toMap(c -> c, c -> row.getOrDefault(c, "")));
    return String.format(
        Locale.ROOT,
        """
        %s: no case of the mapping fits %s; expected one of %s; add a case, or leave such rows \
        out with where\
        """,
        place,
        words(got),
        String.join(", ", known));
  }

  private static String words(Map<String, String> columns) {
    return columns.entrySet().stream()
        .map(e -> e.getKey() + " \"" + e.getValue() + "\"")
        .sorted()
        .collect(Collectors.joining(" and "));
  }
}
