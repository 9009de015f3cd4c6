package org.kernbench.nn.parallel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Numbers the ranks of a parallel layout: an order such as {@code tp-cp-ep-dp-pp} names its
 * dimensions, the first varies fastest with the rank. Source: {@code docs/spec/megatron.md} 3.
 */
public final class RankGenerator {
  private final RankGrid grid;

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
          """
          one rank generator cannot have ep %s and cp %s; attention takes one with ep 1, \
          experts one with cp 1\
          """
              .formatted(known.get("ep"), known.get("cp")));
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
    List<Integer> shape = new ArrayList<>();
    for (int i = 0; i < inOrder.size(); i++) {
      String name = inOrder.get(i);
      Integer size = known.get(name);
      if (size == null || inOrder.indexOf(name) != i) {
        throw new IllegalArgumentException(
            "order %s: %s; expected each of %s once"
                .formatted(
                    order,
                    size == null ? "unknown dimension " + name : name + " occurs twice",
                    String.join(", ", known.keySet())));
      }
      shape.add(size);
    }
    this.grid = RankGrid.of(shape, inOrder);
  }

  /** Number of ranks. */
  public int worldSize() {
    return grid.size();
  }

  /** The same as a grid. */
  public RankGrid grid() {
    return grid;
  }

  /**
   * The groups of a dimension, or of several joined by {@code -}: ranks that differ in these only.
   *
   * @return groups in ascending order of their first rank, ranks ascending
   */
  public List<List<Integer>> groups(String token) {
    return grid.enumerate(token.toLowerCase(Locale.ROOT).split("-", -1));
  }

  /** A rank's coordinate in a dimension; 0 in one that there is not. */
  public int coordinate(int rank, String name) {
    return grid.coordinate(rank, name);
  }
}
