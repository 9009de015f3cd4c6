package org.kernbench.nn;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Numbers the ranks of a parallel layout: an order such as {@code tp-cp-ep-dp-pp} names its
 * dimensions, the first varies fastest with the rank. Source: {@code megatron.md} 3.
 */
public final class RankGenerator {
  private final List<String> names;
  private final int[] sizes;

  /**
   * A layout.
   *
   * @param order names joined by {@code -}, in any case
   * @param sizes by name; a name that is missing in the order must have size 1
   */
  public RankGenerator(String order, Map<String, Integer> sizes) {
    List<String> inOrder =
        new ArrayList<>(Arrays.asList(order.toLowerCase(Locale.ROOT).split("-", -1)));
    Map<String, Integer> known = new LinkedHashMap<>(sizes);
    if (known.getOrDefault("ep", 1) > 1 && known.getOrDefault("cp", 1) > 1) {
      throw new IllegalStateException(
          "one rank generator cannot have ep "
              + known.get("ep")
              + " and cp "
              + known.get("cp")
              + "; attention takes one with ep 1, experts one with cp 1");
    }
    known.forEach((name, size) -> {
      if (size < 1) {
        throw new IllegalArgumentException(name + " has size " + size + "; expected 1 or more");
      }
      if (!inOrder.contains(name)) {
        if (size != 1) {
          throw new IllegalStateException(
              name + " has size " + size + " but is not in the order " + order);
        }
        inOrder.add(name);
      }
    });
    this.names = List.copyOf(inOrder);
    this.sizes = new int[names.size()];
    for (int i = 0; i < names.size(); i++) {
      String name = names.get(i);
      Integer size = known.get(name);
      if (size == null || names.indexOf(name) != i) {
        throw new IllegalArgumentException(
            "order "
                + order
                + ": "
                + (size == null ? "unknown dimension " + name : name + " occurs twice")
                + "; expected each of "
                + String.join(", ", known.keySet())
                + " once");
      }
      this.sizes[i] = size;
    }
  }

  /** Number of ranks. */
  public int worldSize() {
    return Arrays.stream(sizes).reduce(1, Math::multiplyExact);
  }

  /**
   * The groups of a dimension, or of several joined by {@code -}: ranks that differ in these only.
   *
   * @return groups in ascending order of their first rank, ranks ascending
   */
  public List<List<Integer>> groups(String token) {
    boolean[] selected = new boolean[names.size()];
    for (String name : token.toLowerCase(Locale.ROOT).split("-", -1)) {
      int at = names.indexOf(name);
      if (at < 0) {
        throw new IllegalArgumentException(
            "groups of "
                + token
                + ": unknown dimension "
                + name
                + "; expected some of "
                + String.join(", ", names));
      }
      selected[at] = true;
    }
    Map<Integer, List<Integer>> byRest = new LinkedHashMap<>();
    for (int rank = 0; rank < worldSize(); rank++) {
      int rest = 0;
      int stride = 1;
      int left = rank;
      for (int i = 0; i < sizes.length; i++) {
        rest += selected[i] ? 0 : left % sizes[i] * stride;
        left /= sizes[i];
        stride *= sizes[i];
      }
      byRest.computeIfAbsent(rest, r -> new ArrayList<>()).add(rank);
    }
    return byRest.values().stream().map(List::copyOf).toList();
  }

  /** A rank's coordinate in a dimension. */
  public int coordinate(int rank, String name) {
    int left = rank;
    for (int i = 0; i < sizes.length; i++) {
      if (names.get(i).equals(name)) {
        return left % sizes[i];
      }
      left /= sizes[i];
    }
    throw new IllegalArgumentException("unknown dimension " + name);
  }
}
