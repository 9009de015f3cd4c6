package org.kernbench.nn.parallel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

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
    this(order, sizes, 0);
  }

  /**
   * A layout of the dimensions that training knows.
   *
   * @param order the fastest first
   * @param sizes one for each
   */
  public RankGenerator(List<Dim> order, int... sizes) {
    this(
        String.join("-", order.stream().map(Dim::token).toList()),
        IntStream.range(0, sizes.length)
            .boxed()
            .collect(Collectors.toMap(i -> order.get(i).token(), i -> sizes[i])));
  }

  /**
   * A layout on some ranks of a world.
   *
   * @param order names joined by {@code -}, in any case
   * @param sizes by name; a name that is missing in the order must have size 1
   * @param offset number of its first rank, 0 or more
   */
  public RankGenerator(String order, Map<String, Integer> sizes, int offset) {
    List<String> inOrder =
        new ArrayList<>(Arrays.asList(order.toLowerCase(Locale.ROOT).split("-", -1)));
    Map<String, Integer> known = new LinkedHashMap<>(sizes);
    if (known.getOrDefault(Dim.EP.token(), 1) > 1 && known.getOrDefault(Dim.CP.token(), 1) > 1) {
      throw new IllegalStateException(
          """
          one rank generator cannot have ep %s and cp %s; attention takes one with ep 1, \
          experts one with cp 1\
          """
              .formatted(known.get(Dim.EP.token()), known.get(Dim.CP.token())));
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
    this.grid = RankGrid.of(shape, inOrder, offset);
  }

  /**
   * A layout that fills a world: {@code dp} is what the others leave.
   *
   * @param sizes by name, without {@code dp}
   * @param worldSize number of ranks
   * @throws LayoutException if the others do not divide the world
   */
  public static RankGenerator ofWorld(String order, Map<String, Integer> sizes, int worldSize) {
    if (sizes.containsKey(Dim.DP.token())) {
      throw LayoutException.argument(
          "dp is given, %s, though the world says it; leave it out"
              .formatted(sizes.get(Dim.DP.token())));
    }
    if (worldSize < 1) {
      throw LayoutException.argument("a world of " + worldSize + " ranks; expected 1 or more");
    }
    Map<String, Integer> all = new LinkedHashMap<>();
    long product = 1;
    for (String name : order.toLowerCase(Locale.ROOT).split("-", -1)) {
      int size = sizes.getOrDefault(name, 1);
      product *= size;
      all.put(name, size);
    }
    if (product > worldSize || worldSize % product != 0) {
      throw LayoutException.argument(
          "%s need %s ranks or a multiple; the world has %s, so choose sizes that divide it"
              .formatted(shown(sizes), product, worldSize));
    }
    all.put(Dim.DP.token(), Math.toIntExact(worldSize / product));
    sizes.forEach(all::putIfAbsent);
    return new RankGenerator(order, all);
  }

  private static String shown(Map<String, Integer> sizes) {
    List<String> each = new ArrayList<>();
    sizes.forEach((name, size) -> each.add(name + " " + size));
    return String.join(" x ", each.stream().sorted().toList());
  }

  // ---- along a pipeline ----

  /** The rank with the first stage of a rank's pipeline; itself if there is no {@code pp}. */
  public int pipelineFirst(int rank) {
    return pipeline(rank).getFirst();
  }

  /** The rank with the last stage of a rank's pipeline. */
  public int pipelineLast(int rank) {
    return pipeline(rank).getLast();
  }

  /** The rank with the stage after a rank's, and after the last stage the first. */
  public int pipelineNext(int rank) {
    return neighbour(rank, 1);
  }

  /** The rank with the stage before a rank's, and before the first stage the last. */
  public int pipelinePrevious(int rank) {
    return neighbour(rank, -1);
  }

  private int neighbour(int rank, int step) {
    List<Integer> line = pipeline(rank);
    return line.get(Math.floorMod(line.indexOf(rank) + step, line.size()));
  }

  private List<Integer> pipeline(int rank) {
    if (!grid.has(Dim.PP)) {
      return List.of(rank);
    }
    return groups(Dim.PP).stream()
        .filter(line -> line.contains(rank))
        .findFirst()
        .orElseThrow(() ->
            LayoutException.argument(
                "rank %s; expected %s to %s, the ranks of the layout"
                    .formatted(rank, grid.offset(), grid.offset() + grid.size() - 1)));
  }

  /** Number of ranks. */
  public int worldSize() {
    return grid.size();
  }

  /** The ranks as a grid. */
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

  /** The groups of a dimension. */
  public List<List<Integer>> groups(Dim dim) {
    return groups(dim.token());
  }

  /** A rank's coordinate in a dimension; 0 in one that there is not. */
  public int coordinate(int rank, String name) {
    return grid.coordinate(rank, name);
  }
}
