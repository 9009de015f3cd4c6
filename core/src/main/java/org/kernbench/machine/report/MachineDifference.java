package org.kernbench.machine.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.kernbench.machine.Machine;

/**
 * The values of two machines that are not alike, by their paths: what each file and all that it
 * extends say in the end, whichever of them says it.
 */
public final class MachineDifference {
  /** Stands for what a machine does not say. */
  public static final String NOTHING = "-";

  /**
   * A value that is not alike.
   *
   * @param path of its key, lists with their numbers in brackets
   * @param first what one machine says, {@link #NOTHING} if nothing
   * @param second what the other says
   */
  public record Row(String path, String first, String second) {}

  private MachineDifference() {}

  /** All values that differ, by path; none if the machines have one configuration. */
  public static List<Row> of(Machine first, Machine second) {
    Map<String, String> a = values(first);
    Map<String, String> b = values(second);
    Set<String> paths = new TreeSet<>(a.keySet());
    paths.addAll(b.keySet());
    List<Row> rows = new ArrayList<>();
    for (String path : paths) {
      Row row = new Row(path, a.getOrDefault(path, NOTHING), b.getOrDefault(path, NOTHING));
      if (!row.first.equals(row.second)) {
        rows.add(row);
      }
    }
    return rows;
  }

  private static Map<String, String> values(Machine machine) {
    Map<String, String> values = new LinkedHashMap<>();
    for (String line : machine.configText().split("\n")) {
      int equals = line.indexOf('=');
      values.put(line.substring(0, equals), line.substring(equals + 1));
    }
    return values;
  }
}
