package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.RingOrder;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.SipTopology;

/**
 * A group as packages of cubes: in each package the same rectangle of cubes, one rank on each cube;
 * the packages themselves in rows and columns.
 */
final class Packages {
  /** How packages exchange what their root cubes hold. */
  enum Network {
    /** Rings along rows and columns; a plain ring is one row. */
    RINGS,
    /** Lines along rows and columns. */
    LINES
  }

  private final Group group;
  private final AlgorithmConfig config;
  private final Network network;

  /** Ranks of a package's cubes, by row and column of its rectangle. */
  private final Map<Integer, int[][]> cubes = new LinkedHashMap<>();

  /** Packages by row and column. */
  private final int[][] sips;

  Packages(Group group, AlgorithmConfig config) {
    this.group = group;
    this.config = config;
    Map<Integer, List<Integer>> ranksOfSip = new TreeMap<>();
    for (int rank = 0; rank < group.size(); rank++) {
      ranksOfSip.computeIfAbsent(group.lead(rank).sip(), s -> new ArrayList<>()).add(rank);
    }
    ranksOfSip.forEach((sip, ranks) -> cubes.put(sip, cubesOf(ranks)));
    List<Integer> order = List.copyOf(ranksOfSip.keySet());
    int[][] first = cubes(order.get(0));
    for (int sip : order) {
      int[][] other = cubes(sip);
      if (other.length != first.length || other[0].length != first[0].length) {
        throw refused(
            """
            sip %s takes part with other cubes than sip %s; use a world_size that is a \
            multiple of the cubes of a sip, %s\
            """
                .formatted(sip, order.get(0), machine().cubesPerSip()));
      }
    }
    SipTopology topology = config.topology().orElse(machine().sipTopology());
    this.network = topology == SipTopology.MESH_2D_NO_WRAP ? Network.LINES : Network.RINGS;
    this.sips = topology.isGrid() ? sipGrid(order) : new int[][] {sipRing(order)};
  }

  private Machine machine() {
    return group.machine();
  }

  private CollectiveException refused(String reason) {
    return new CollectiveException("algorithm " + config.name() + ": " + reason);
  }

  private int[][] cubesOf(List<Integer> ranks) {
    int width = machine().cubeMeshWidth();
    return rectangle(
        ranks,
        ranks.stream().mapToInt(r -> group.lead(r).cube() % width).toArray(),
        ranks.stream().mapToInt(r -> group.lead(r).cube() / width).toArray(),
        "cubes of sip " + group.lead(ranks.get(0)).sip(),
        "use a world_size of whole rows of " + width + " cubes, or at most one row");
  }

  private int[][] sipGrid(List<Integer> order) {
    int width = machine().sipGridWidth();
    return rectangle(
        order,
        order.stream().mapToInt(s -> s % width).toArray(),
        order.stream().mapToInt(s -> s / width).toArray(),
        "sips",
        "use a world_size of whole rows of " + width + " sips, or topology: ring_1d");
  }

  private int[] sipRing(List<Integer> order) {
    if (machine().sipTopology() == SipTopology.NETWORK) {
      int[] places =
          machine().dimensions().size() == 1
              ? IntStream.range(0, machine().sips()).toArray()
              : RingOrder.cycle(
                  machine().dimensions().stream().mapToInt(Dimension::size).toArray());
      return order.stream()
          .sorted(Comparator.comparingInt(s -> places[s]))
          .mapToInt(Integer::intValue)
          .toArray();
    }
    if (!machine().sipTopology().isGrid()) {
      return order.stream().mapToInt(Integer::intValue).toArray();
    }
    int[] cycle = RingOrder.cycle(machine().sipGridWidth(), machine().sipGridHeight());
    return order.stream()
        .sorted(Comparator.comparingInt(s -> cycle[s]))
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /** Puts things into the rows and columns that they cover. */
  private int[][] rectangle(List<Integer> things, int[] x, int[] y, String what, String remedy) {
    int left = IntStream.of(x).min().orElseThrow();
    int top = IntStream.of(y).min().orElseThrow();
    int width = IntStream.of(x).max().orElseThrow() - left + 1;
    int height = IntStream.of(y).max().orElseThrow() - top + 1;
    int[][] result = new int[height][width];
    boolean[][] taken = new boolean[height][width];
    for (int i = 0; i < x.length; i++) {
      if (taken[y[i] - top][x[i] - left]) {
        throw refused(
            """
            ranks %s and %s are on one cube; it needs rank_level cube or sip; for PEs of a \
            cube use ring or tree\
            """
                .formatted(result[y[i] - top][x[i] - left], things.get(i)));
      }
      taken[y[i] - top][x[i] - left] = true;
      result[y[i] - top][x[i] - left] = things.get(i);
    }
    if (x.length != width * height) {
      throw refused(x.length + " " + what + " take part, which do not fill a rectangle; " + remedy);
    }
    return result;
  }

  Network network() {
    return network;
  }

  /** Ranks of a package's cubes. */
  int[][] cubes(int sip) {
    int[][] ranks = cubes.get(sip);
    if (ranks == null) {
      throw new IllegalArgumentException("sip " + sip + " takes no part");
    }
    return ranks;
  }

  /** In each package the tree of its cubes to its root; packages are not joined. */
  Tree cubeTrees() {
    Tree tree = new Tree(group.size());
    for (int[][] ranks : cubes.values()) {
      int[] at = rootIn(ranks);
      GridTree.add(tree, ranks, at[0], at[1], false, "");
    }
    return tree;
  }

  /** Column and row of the root in a package's rectangle. */
  private int[] rootIn(int[][] ranks) {
    if (config.rootCube().isPresent()) {
      return placeOf(config.rootCube().getAsInt(), ranks);
    }
    boolean corner =
        config.root().orElse(AlgorithmConfig.Root.CENTER) != AlgorithmConfig.Root.CENTER;
    return corner ? new int[] {0, 0} : new int[] {ranks[0].length / 2, ranks.length / 2};
  }

  private int[] placeOf(int cube, int[][] ranks) {
    for (int row = 0; row < ranks.length; row++) {
      for (int column = 0; column < ranks[row].length; column++) {
        if (group.lead(ranks[row][column]).cube() == cube) {
          return new int[] {column, row};
        }
      }
    }
    int last = group.lead(ranks[ranks.length - 1][ranks[0].length - 1]).cube();
    throw refused(
        "root_cube is %s, which takes no part; expected one of the cubes %s to %s"
            .formatted(cube, group.lead(ranks[0][0]).cube(), last));
  }

  List<Integer> sips() {
    return List.copyOf(cubes.keySet());
  }

  /** The rank of a package's root. */
  int root(int sip) {
    int[][] ranks = cubes(sip);
    int[] at = rootIn(ranks);
    return ranks[at[1]][at[0]];
  }

  /** The ranks of the roots, in the packages' rows and columns. */
  int[][] roots() {
    int[][] roots = new int[sips.length][sips[0].length];
    for (int row = 0; row < sips.length; row++) {
      for (int column = 0; column < sips[row].length; column++) {
        roots[row][column] = root(sips[row][column]);
      }
    }
    return roots;
  }
}
