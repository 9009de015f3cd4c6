package org.kernbench.ccl.flow;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.ccl.flow.Dataflow.Part;

/**
 * Reduce-scatter and all-gather along the lines of one axis, drawn into a {@link Dataflow}: the
 * building blocks of rings, tori, meshes, hierarchies and hypercubes.
 *
 * <p>On a line of n ranks, each with a block of b bytes, a block goes some places to the right of
 * its owner and the others to the left, so that all get it once. How far ({@link Reach}) is all in
 * which a ring in one direction, a ring in both and a line without wrap differ. In a reduce-scatter
 * contributions to a block come from both sides and are added on their way. With each message on a
 * link of its own,
 *
 * <pre>
 *   T = (o + L + b/B) times the farthest reach, + gamma b for each step of a reduce-scatter
 * </pre>
 *
 * <p>What a rank holds is a list of parts, in the order of their units. A phase moves each with a
 * message of its own, so blocks that came in pieces stay in pieces, unless they are joined.
 */
public final class Phases {
  /** How far blocks go along a line. */
  public enum Reach {
    /** One way round a ring. */
    ONE_WAY,
    /** Both ways round a ring, half the way each; the block opposite goes to the right. */
    TWO_WAY,
    /** Both ways round a ring, half the way each; the block opposite goes to the left. */
    TWO_WAY_MIRRORED,
    /** To both ends of a line. */
    LINE,
    /** From each to each other, with one message. */
    DIRECT;

    /** Places that the block at a place goes to the right; the others it goes to the left. */
    private int right(int size, int place) {
      return switch (this) {
        case ONE_WAY -> size - 1;
        case TWO_WAY -> size / 2;
        case TWO_WAY_MIRRORED -> (size - 1) / 2;
        case LINE -> size - 1 - place;
        case DIRECT -> throw new IllegalStateException("there are no sides");
      };
    }

    /** Contributions to the block at a place that come from its left. */
    private int fromLeft(int size, int place) {
      return this == LINE ? place : right(size, place); // a ring turns the same way in both phases
    }
  }

  /** Which units a rank has when a phase scatters. */
  interface Blocks {
    /** Runs of units, ascending: first and count of each. */
    List<int[]> of(int rank);
  }

  private final Dataflow flow;
  private final Map<Part, List<Part>> stored = new IdentityHashMap<>();

  Phases(Dataflow flow) {
    this.flow = flow;
  }

  // ---- reduce-scatter ----

  /**
   * Reduce-scatter along a line.
   *
   * @param held by rank: its sums so far; replaced with those of the block it is left with
   */
  void reduceScatter(int[] line, Reach reach, List<List<Part>> held, Blocks blocks) {
    int n = line.length;
    int begin = begin(line, held);
    List<List<Part>> left = new ArrayList<>();
    for (int place = 0; place < n; place++) {
      List<int[]> units = blocks.of(line[place]);
      left.add(
          reach == Reach.DIRECT
              ? reducedDirectly(line, place, held, units, begin)
              : reducedOnTheWay(line, place, reach, held, units, begin));
    }
    for (int place = 0; place < n; place++) {
      held.set(line[place], left.get(place));
    }
  }

  /** The first step of a phase. */
  private static int begin(int[] line, List<List<Part>> held) {
    int begin = 0;
    for (int rank : line) {
      for (Part p : held.get(rank)) {
        begin = Math.max(begin, p.step);
      }
    }
    return begin;
  }

  private List<Part> reducedDirectly(
      int[] line, int place, List<List<Part>> held, List<int[]> units, int begin) {
    int n = line.length;
    List<Part> sum = select(held.get(line[place]), units);
    for (int d = 1; d < n; d++) {
      List<Part> other = select(held.get(line[Math.floorMod(place - d, n)]), units);
      sum = combine(sum, moved(other, line[place], begin + d - 1));
    }
    return sum;
  }

  private List<Part> reducedOnTheWay(
      int[] line, int place, Reach reach, List<List<Part>> held, List<int[]> units, int begin) {
    int n = line.length;
    int fromLeft = reach.fromLeft(n, place);
    int fromRight = n - 1 - fromLeft;
    // On a line the ends send most, so what has the shortest way sets out last.
    int spare = reach == Reach.LINE ? begin + n - 1 : begin;
    List<Part> own = select(held.get(line[place]), units);
    List<Part> left =
        chain(line, place, -1, fromLeft, held, units, Math.max(begin, spare - fromLeft));
    List<Part> right =
        chain(line, place, 1, fromRight, held, units, Math.max(begin, spare - fromRight));
    return fromLeft <= fromRight
        ? combine(combine(own, left), right)
        : combine(combine(own, right), left);
  }

  /**
   * The contributions of some ranks to one side, added on their way from step {@code earliest} on.
   */
  private List<Part> chain(
      int[] line,
      int place,
      int side,
      int count,
      List<List<Part>> held,
      List<int[]> units,
      int earliest) {
    List<Part> sum = List.of();
    for (int distance = count; distance > 0; distance--) {
      int from = line[Math.floorMod(place + side * distance, line.length)];
      int to = line[Math.floorMod(place + side * (distance - 1), line.length)];
      sum = moved(combine(select(held.get(from), units), sum), to, earliest);
    }
    return sum;
  }

  // ---- all-gather ----

  /**
   * All-gather along a line of results, stored as they come.
   *
   * @param held by rank: its block, stored; replaced with all blocks
   */
  void allGather(int[] line, Reach reach, List<List<Part>> held) {
    List<List<List<Part>>> gathered = spread(line, reach, held, true);
    for (int place = 0; place < line.length; place++) {
      List<Part> all = new ArrayList<>();
      gathered.get(place).forEach(all::addAll);
      all.sort((a, b) -> Integer.compare(a.first, b.first));
      held.set(line[place], all);
    }
  }

  /**
   * Every rank gets every rank's sum and adds them up, all in the same association: the fewest
   * steps and the most bytes.
   *
   * @param held by rank: its sum; replaced with that of the line
   */
  void exchange(int[] line, Reach reach, List<List<Part>> held) {
    List<List<List<Part>>> gathered = spread(line, reach, held, false);
    for (int place = 0; place < line.length; place++) {
      List<List<Part>> level = gathered.get(place);
      while (level.size() > 1) {
        List<List<Part>> above = new ArrayList<>();
        for (int i = 0; i < level.size(); i += 2) {
          above.add(i + 1 < level.size() ? combine(level.get(i), level.get(i + 1)) : level.get(i));
        }
        level = above;
      }
      held.set(line[place], level.get(0));
    }
  }

  /** By place, and by the place it is from, what is there in the end. */
  private List<List<List<Part>>> spread(
      int[] line, Reach reach, List<List<Part>> held, boolean store) {
    int n = line.length;
    int begin = begin(line, held);
    List<List<List<Part>>> at = new ArrayList<>();
    for (int place = 0; place < n; place++) {
      at.add(new ArrayList<>());
      for (int from = 0; from < n; from++) {
        at.get(place).add(from == place ? held.get(line[place]) : List.of());
      }
    }
    for (int from = 0; from < n; from++) {
      if (reach == Reach.DIRECT) {
        for (int d = 1; d < n; d++) {
          int to = (from + d) % n;
          at.get(to).set(from, arrived(held.get(line[from]), line[to], begin + d - 1, store));
        }
        continue;
      }
      int right = reach.right(n, from);
      for (int side : new int[] {1, -1}) {
        List<Part> block = held.get(line[from]);
        for (int d = 1; d <= (side > 0 ? right : n - 1 - right); d++) {
          int to = Math.floorMod(from + side * d, n);
          block = arrived(block, line[to], 0, store);
          at.get(to).set(from, block);
        }
      }
    }
    return at;
  }

  private List<Part> arrived(List<Part> block, int to, int earliest, boolean store) {
    List<Part> here = moved(block, to, earliest);
    if (store) {
      here.forEach(this::store);
    }
    return here;
  }

  // ---- lists of parts ----

  /** Sums of all contributions as results in their place. */
  void finish(List<List<Part>> held) {
    held.replaceAll(parts -> parts.stream().map(flow::finish).toList());
    held.forEach(parts -> parts.forEach(this::store));
  }

  void store(Part part) {
    stored.put(part, List.of(flow.store(part)));
  }

  /** Adjoining results as few parts, read back from memory. */
  void join(List<List<Part>> held) {
    held.replaceAll(this::joined);
  }

  private List<Part> joined(List<Part> parts) {
    List<Part> result = new ArrayList<>();
    int from = 0;
    for (int i = 1; i <= parts.size(); i++) {
      if (i < parts.size() && parts.get(i).first == parts.get(i - 1).end()) {
        continue;
      }
      if (i - from == 1) {
        result.add(parts.get(from));
      } else {
        List<Part> run = new ArrayList<>();
        parts.subList(from, i).forEach(p -> run.addAll(stored.getOrDefault(p, List.of())));
        Part all = flow.join(run);
        stored.put(all, run);
        result.add(all);
      }
      from = i;
    }
    return result;
  }

  private List<Part> moved(List<Part> parts, int to, int earliest) {
    return parts.stream().map(p -> flow.move(p, to, earliest)).toList();
  }

  private List<Part> select(List<Part> held, List<int[]> runs) {
    List<Part> result = new ArrayList<>();
    for (int[] run : runs) {
      for (Part p : held) {
        int first = Math.max(p.first, run[0]);
        int end = Math.min(p.end(), run[0] + run[1]);
        if (first < end) {
          result.add(flow.slice(p, first, end - first));
        }
      }
    }
    return result;
  }

  /** Units of two parts combined, unit by unit; nothing and something is something. */
  private List<Part> combine(List<Part> a, List<Part> b) {
    if (a.isEmpty() || b.isEmpty()) {
      return a.isEmpty() ? b : a;
    }
    List<Part> result = new ArrayList<>();
    int i = 0;
    int j = 0;
    int at = a.get(0).first;
    while (i < a.size() && j < b.size()) {
      Part x = a.get(i);
      Part y = b.get(j);
      int first = Math.max(at, Math.max(x.first, y.first));
      int end = Math.min(x.end(), y.end());
      result.add(
          flow.combine(flow.slice(x, first, end - first), flow.slice(y, first, end - first)));
      at = end;
      i += x.end() == end ? 1 : 0;
      j += y.end() == end ? 1 : 0;
    }
    return result;
  }
}
