package org.kernbench.chakra;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Everything that was mended while traces were read: how often, where first, which names. */
public final class Repairs {
  private static final int NAMES = 12;

  private final Map<Repair, Sum> sums = new EnumMap<>(Repair.class);

  private static final class Sum {
    final String first;
    final TreeSet<String> names = new TreeSet<>();
    long count;

    Sum(String first) {
      this.first = first;
    }
  }

  void add(Repair repair, String place) {
    sum(repair, place).count++;
  }

  private Sum sum(Repair repair, String place) {
    return sums.computeIfAbsent(repair, r -> new Sum(place));
  }

  void add(Repair repair, String place, String name) {
    Sum sum = sum(repair, place);
    sum.count++;
    TreeSet<String> names = sum.names;
    if (names.size() < NAMES) {
      names.add(name);
    }
  }

  /**
   * One kind.
   *
   * @param repair what
   * @param count how often
   * @param first where first
   * @param names of what it was, if it has names; the first dozen
   */
  public record Line(Repair repair, long count, String first, List<String> names) {}

  /** The kinds that were found, in the order of {@link Repair}. */
  public List<Line> lines() {
    List<Line> lines = new ArrayList<>();
    sums.forEach(
        (repair, sum) -> lines.add(new Line(repair, sum.count, sum.first, List.copyOf(sum.names))));
    return lines;
  }

  /** How many in all. */
  public long count() {
    return sums.values().stream().mapToLong(s -> s.count).sum();
  }
}
