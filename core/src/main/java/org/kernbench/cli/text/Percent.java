package org.kernbench.cli.text;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** Shares of a whole as percentages with one digit that sum to 100.0 exactly. */
final class Percent {
  private static final long TENTHS = 1000;

  private Percent() {}

  /**
   * Rounds down, then gives the missing tenths to the largest remainders, the first of equals.
   *
   * @param parts at least 0; their sum is the whole
   */
  static List<String> of(List<Long> parts) {
    long whole = Math.max(1, parts.stream().mapToLong(Long::longValue).sum());
    List<Long> tenths = new ArrayList<>();
    List<Double> rest = new ArrayList<>();
    for (long part : parts) {
      double exact = (double) part / whole * TENTHS;
      long down = (long) Math.floor(exact);
      tenths.add(down);
      rest.add(exact - down);
    }
    long missing = TENTHS - tenths.stream().mapToLong(Long::longValue).sum();
    List<Integer> order = new ArrayList<>(IntStream.range(0, parts.size()).boxed().toList());
    order.sort(Comparator.comparing(rest::get, Collections.reverseOrder()));
    for (int i = 0; i < Math.min(missing, order.size()); i++) {
      tenths.set(order.get(i), tenths.get(order.get(i)) + 1);
    }
    return tenths.stream().map(t -> t / 10 + "." + t % 10 + " %").toList();
  }
}
