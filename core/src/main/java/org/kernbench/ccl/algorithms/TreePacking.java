package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.kernbench.ccl.Group;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Route;

/**
 * Spanning trees that together use the links of a group as fully as possible.
 *
 * <p>A tree that carries a share of the vector, up to be reduced and down to be handed out, loads
 * each of its edges with that share in both directions. The largest sum of shares per second that
 * no link is overloaded by is the strength of the graph (Tutte 1961, Nash-Williams 1961), and it is
 * the linear programme
 *
 * <pre>maximise sum x_T over spanning trees T, with sum x_T load_T(link) at most its rate.</pre>
 *
 * <p>There are very many trees, so columns are made when wanted: the tree with the least load at
 * the prices of the links is a minimum spanning tree. Links are the machine's own, so that PE ports
 * and links that several edges share count, and so do the loads and stores of the vector itself.
 * Everything is done in a fixed order with the same arithmetic, so the same machine gives the same
 * trees.
 */
final class TreePacking {
  /** Edges of a rank that are considered: its nearest ranks. */
  private static final int NEAREST = 8;

  /** Ranks up to which the best shares are searched for. */
  private static final int EXACT = 32;

  private static final int MOST_EQUAL = 16;
  private static final int PASSES = 40;
  private static final int STEEPNESS = 24;
  private static final double GAIN = 1e-7;
  private static final int MOST_STEPS = 4000;

  /** A share that is not worth its messages. */
  private static final double LEAST_SHARE = 1e-3;

  /**
   * A tree and its share.
   *
   * @param edges indices of {@link #edges}
   * @param share of the vector; all together 1
   */
  record Packed(int[] edges, double share) {}

  /**
   * Two neighbours.
   *
   * @param a lower rank
   * @param b higher rank
   */
  record Edge(int a, int b) {}

  private final Group group;
  private final Machine machine;
  private final int n;
  private final List<Edge> edges = new ArrayList<>();

  // rows: what limits; by row, how often each edge uses it, its rate and what the vector itself
  // uses
  private final List<int[]> uses = new ArrayList<>();
  private final List<Double> rates = new ArrayList<>();
  private final List<Integer> own = new ArrayList<>();

  TreePacking(Group group) {
    this.group = group;
    this.machine = group.machine();
    this.n = group.size();
    findEdges();
    findRows();
  }

  List<Edge> edges() {
    return edges;
  }

  // ---- edges ----

  private record Near(int a, int b, long latencyPs, int links) {}

  private void findEdges() {
    List<Near> pairs = new ArrayList<>();
    Set<Integer> leads = new HashSet<>();
    for (int rank = 0; rank < n; rank++) {
      leads.add(routerOf(rank));
    }
    for (int a = 0; a < n; a++) {
      for (int b = a + 1; b < n; b++) {
        Route route = route(a, b);
        pairs.add(new Near(a, b, route.latencyPs(), route.length()));
      }
    }
    pairs.sort(
        Comparator.comparingLong(Near::latencyPs).thenComparing(Near::a).thenComparing(Near::b));
    int[] component = new int[n];
    Arrays.setAll(component, i -> i);
    long[] nearest = new long[n];
    Arrays.fill(nearest, Long.MAX_VALUE);
    int[] degree = new int[n];
    for (Near p : pairs) {
      nearest[p.a] = Math.min(nearest[p.a], p.latencyPs);
      nearest[p.b] = Math.min(nearest[p.b], p.latencyPs);
    }
    for (Near p : pairs) {
      boolean joins = component[p.a] != component[p.b];
      boolean direct = !passes(p, leads);
      if (joins || (direct && degree[p.a] < NEAREST && degree[p.b] < NEAREST)) {
        edges.add(new Edge(p.a, p.b));
        degree[p.a]++;
        degree[p.b]++;
        int old = component[p.a];
        for (int i = 0; i < n; i++) {
          component[i] = component[i] == old ? component[p.b] : component[i];
        }
      }
    }
  }

  /** The first node beyond a rank's PE. */
  private int routerOf(int rank) {
    return machine.link(route(rank, rank == 0 ? 1 : 0).first()).toNode();
  }

  /** Whether a pair's route goes through the router of a third rank, which could have helped. */
  private boolean passes(Near pair, Set<Integer> routers) {
    int from = routerOf(pair.a);
    int to = routerOf(pair.b);
    for (int link : route(pair.a, pair.b).links()) {
      int node = machine.link(link).toNode();
      if (node != from && node != to && routers.contains(node)) {
        return true;
      }
    }
    return false;
  }

  private Route route(int a, int b) {
    return machine.route(group.lead(a), group.lead(b));
  }

  // ---- rows ----

  private void findRows() {
    Map<Integer, int[]> byLink = new LinkedHashMap<>();
    for (int e = 0; e < edges.size(); e++) {
      Edge edge = edges.get(e);
      for (Route route : List.of(route(edge.a, edge.b), route(edge.b, edge.a))) {
        for (int link : route.links()) {
          byLink.computeIfAbsent(link, l -> new int[edges.size()])[e]++;
        }
      }
    }
    Map<Integer, Integer> vectors = new LinkedHashMap<>();
    for (int rank = 0; rank < n; rank++) {
      int pe = machine.peNode(group.lead(rank));
      int hbm = machine.hbmNode(group.lead(rank));
      for (int link : machine.route(pe, hbm).links()) {
        vectors.merge(link, 1, Integer::sum);
      }
      for (int link : machine.route(hbm, pe).links()) {
        vectors.merge(link, 1, Integer::sum);
      }
    }
    Map<String, Integer> known = new LinkedHashMap<>();
    byLink.forEach((link, use) -> {
      int vector = vectors.getOrDefault(link, 0);
      double rate = machine.link(link).rate().bytesPerSecond();
      String key = vector + Arrays.toString(use);
      Integer row = known.get(key);
      if (row == null) {
        known.put(key, uses.size());
        uses.add(use);
        rates.add(rate);
        own.add(vector);
      } else {
        rates.set(row, Math.min(rates.get(row), rate));
      }
    });
  }

  /** Seconds per byte of vector that the rows need with these trees. */
  double secondsPerByte(List<Packed> trees) {
    double worst = 0;
    for (int row = 0; row < uses.size(); row++) {
      double load = own.get(row);
      for (Packed tree : trees) {
        load += tree.share * use(row, tree.edges);
      }
      worst = Math.max(worst, load / rates.get(row));
    }
    return worst;
  }

  private int use(int row, int[] tree) {
    int sum = 0;
    for (int e : tree) {
      sum += uses.get(row)[e];
    }
    return sum;
  }

  // ---- few equal trees ----

  /**
   * Trees of equal shares, each in turn made anew as the cheapest where loaded links are dear; the
   * best that was met.
   *
   * @param count of the trees
   */
  List<Packed> equal(int count) {
    int rows = uses.size();
    double[] load = new double[rows];
    int[][] trees = new int[count][];
    double best = Double.POSITIVE_INFINITY;
    List<Packed> result = List.of();
    for (int step = 0; step < count * PASSES; step++) {
      int at = step % count;
      if (trees[at] != null) {
        change(load, trees[at], -1.0 / count);
      }
      double[] price = new double[rows];
      double full = 0;
      for (int row = 0; row < rows; row++) {
        full = Math.max(full, (own.get(row) + load[row]) / rates.get(row));
      }
      for (int row = 0; row < rows; row++) {
        // With one more tree, in units of the fullest; the power makes the fullest count alone.
        double after = (own.get(row) + load[row] + 1.0 / count) / rates.get(row);
        price[row] = StrictMath.pow(after / (full + 1e-30), STEEPNESS) / rates.get(row) + 1e-30;
      }
      trees[at] = cheapest(price);
      change(load, trees[at], 1.0 / count);
      if (step >= count - 1) {
        double seconds = 0;
        for (int row = 0; row < rows; row++) {
          seconds = Math.max(seconds, (own.get(row) + load[row]) / rates.get(row));
        }
        if (seconds < best * (1 - 1e-9)) {
          best = seconds;
          result = Arrays.stream(trees).map(t -> new Packed(t, 1.0 / count)).toList();
        }
      }
    }
    return result;
  }

  private void change(double[] load, int[] tree, double share) {
    for (int row = 0; row < load.length; row++) {
      load[row] += share * use(row, tree);
    }
  }

  // ---- the linear programme ----

  /**
   * Ways to pack, from one tree to the best there is: more trees use the links better, fewer need
   * fewer messages under way on an edge.
   */
  List<List<Packed>> candidates() {
    List<List<Packed>> all = new ArrayList<>();
    if (n <= EXACT) {
      List<Packed> packed = solve(List.of(), true);
      while (true) {
        all.add(packed);
        if (packed.size() == 1) {
          break;
        }
        packed = solve(withoutSmallest(packed), false);
      }
    }
    for (int count = 1; count <= (n <= EXACT ? MOST_EQUAL : 4); count++) {
      List<Packed> equal = equal(count);
      all.add(equal);
      all.add(reshared(equal));
    }
    return undominated(all);
  }

  /** Those that no other beats in both, how few trees share an edge and how fast they are. */
  private List<List<Packed>> undominated(List<List<Packed>> all) {
    List<List<Packed>> sorted = new ArrayList<>(all);
    sorted.sort(
        Comparator.<List<Packed>>comparingInt(this::mostTrees)
            .thenComparingDouble(this::secondsPerByte)
            .thenComparingInt(List::size));
    List<List<Packed>> best = new ArrayList<>();
    double seconds = Double.POSITIVE_INFINITY;
    for (List<Packed> each : sorted) {
      double its = secondsPerByte(each);
      if (its < seconds * 0.999) {
        seconds = its;
        best.add(each);
      }
    }
    return best;
  }

  /** The best shares for these very trees; some may be left out. */
  List<Packed> reshared(List<Packed> trees) {
    return solve(trees.stream().map(Packed::edges).toList(), false);
  }

  /** The most trees that share an edge. */
  int mostTrees(List<Packed> trees) {
    return Arrays.stream(treesOnEdges(trees)).max().orElse(0);
  }

  /** By edge, how many trees use it. */
  int[] treesOnEdges(List<Packed> trees) {
    int[] count = new int[edges.size()];
    for (Packed tree : trees) {
      for (int e : tree.edges) {
        count[e]++;
      }
    }
    return count;
  }

  private static List<int[]> withoutSmallest(List<Packed> packed) {
    Packed smallest = packed.get(0);
    for (Packed p : packed) {
      smallest = p.share <= smallest.share ? p : smallest;
    }
    List<int[]> rest = new ArrayList<>();
    for (Packed p : packed) {
      if (p != smallest) {
        rest.add(p.edges);
      }
    }
    return rest;
  }

  private List<Packed> solve(List<int[]> columns, boolean more) {
    int rows = uses.size();
    double fastest = rates.stream().mapToDouble(r -> r).min().orElse(1);
    double[] limit = new double[rows];
    for (int row = 0; row < rows; row++) {
      // A little more on each, in a fixed pattern: so no two limits are reached at once, and no
      // step of the simplex is empty.
      limit[row] = rates.get(row) / fastest * (1 + 1e-7 * (1 + row * 0.618 % 1.0));
    }
    Simplex simplex = new Simplex(limit);
    for (int[] column : columns) {
      simplex.add(load(column));
    }
    List<int[]> trees = new ArrayList<>(columns);
    for (int step = 0; step < MOST_STEPS; step++) {
      simplex.optimise();
      if (!more) {
        break;
      }
      double[] price = simplex.prices();
      int[] tree = cheapest(price);
      double[] load = load(tree);
      double cost = 0;
      for (int row = 0; row < rows; row++) {
        cost += price[row] * load[row];
      }
      if (cost > 1 - GAIN) {
        break;
      }
      trees.add(tree);
      simplex.add(load);
    }
    return shares(trees, simplex.values());
  }

  private static List<Packed> shares(List<int[]> trees, double[] values) {
    double sum = Arrays.stream(values).sum();
    List<Packed> all = new ArrayList<>();
    double kept = 0;
    for (int i = 0; i < trees.size(); i++) {
      if (values[i] > LEAST_SHARE * sum) {
        kept += values[i];
      }
    }
    for (int i = 0; i < trees.size(); i++) {
      if (values[i] > LEAST_SHARE * sum) {
        all.add(new Packed(trees.get(i), values[i] / kept));
      }
    }
    return all;
  }

  private double[] load(int[] tree) {
    double[] load = new double[uses.size()];
    for (int row = 0; row < load.length; row++) {
      load[row] = own.get(row) + use(row, tree);
    }
    return load;
  }

  /** A minimum spanning tree at these prices (Kruskal); equal edges in turn, by index. */
  private int[] cheapest(double[] price) {
    int m = edges.size();
    double[] cost = new double[m];
    for (int row = 0; row < price.length; row++) {
      if (price[row] != 0) {
        int[] use = uses.get(row);
        for (int e = 0; e < m; e++) {
          cost[e] += price[row] * use[e];
        }
      }
    }
    Integer[] order = new Integer[m];
    Arrays.setAll(order, e -> e);
    Arrays.sort(order, Comparator.comparingDouble(e -> cost[e]));
    int[] component = new int[n];
    Arrays.setAll(component, i -> i);
    int[] tree = new int[n - 1];
    int taken = 0;
    for (int e : order) {
      Edge edge = edges.get(e);
      int a = component[edge.a];
      int b = component[edge.b];
      if (a != b) {
        tree[taken++] = e;
        for (int i = 0; i < n; i++) {
          component[i] = component[i] == a ? b : component[i];
        }
      }
    }
    return tree;
  }
}
