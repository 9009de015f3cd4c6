package org.kernbench.ccl;

import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.Dimension;

/**
 * The ranks in an order in which neighbours are close: packages along a cycle of their grid, cubes
 * along a cycle of theirs, PEs by number.
 *
 * <p>A grid has a cycle of neighbours (a Hamiltonian cycle) exactly if its number of places is even
 * and it is no line; other grids are walked like a snake, with one long way back. Where links
 * between packages are dead or slow, {@link PackageCycle} looks for a cycle without them.
 */
public final class RingOrder {
  /** Orders of several groups that are compared. */
  private static final int MOST_ORDERS = 8;

  /** The message by which hops are compared. */
  private static final long MESSAGE_BYTES = 64 << 10;

  private final int[] rankAt;
  private final int[] positionOf;

  private RingOrder(int[] rankAt) {
    this.rankAt = rankAt;
    this.positionOf = new int[rankAt.length];
    for (int position = 0; position < rankAt.length; position++) {
      positionOf[rankAt[position]] = position;
    }
  }

  /** That of a group: the one it was given, or one that follows from where its ranks are. */
  public static RingOrder of(Group group) {
    if (!group.order().isEmpty()) {
      return new RingOrder(group.order().stream().mapToInt(Integer::intValue).toArray());
    }
    if (isByNumber(group)) {
      return new RingOrder(IntStream.range(0, group.size()).toArray());
    }
    return new RingOrder(sorted(group.leads(), byPlace(group.machine())));
  }

  /**
   * One order for groups that do alike, so that all of them add in it: of those that each would
   * take for itself the one whose slowest hop in any group is the quickest, then the one with the
   * least time for all hops; the first of equals.
   *
   * @param groups by group and rank, the PE that runs the rank's part; of equal size
   * @return by place the rank; empty if all would take the same
   */
  public static List<Integer> common(Machine machine, List<List<Pe>> groups) {
    if (groups.size() < 2 || groups.getFirst().size() < 3) {
      return List.of(); // two numbers have one sum
    }
    Comparator<Pe> byPlace = byPlace(machine);
    Set<List<Integer>> own = new LinkedHashSet<>();
    for (List<Pe> leads : groups) {
      own.add(Arrays.stream(sorted(leads, byPlace)).boxed().toList());
    }
    return own.size() < 2
        ? List.of()
        : own.stream()
            .limit(MOST_ORDERS)
            .min(
                Comparator.comparing(
                    order -> Hops.of(machine, groups, order),
                    Comparator.comparingLong(Hops::slowestPs).thenComparingLong(Hops::allPs)))
            .orElseThrow();
  }

  /** Times of a message from each rank to the next, of several groups. */
  private record Hops(long slowestPs, long allPs) {
    static Hops of(Machine machine, List<List<Pe>> groups, List<Integer> order) {
      long slowest = 0;
      long all = 0;
      for (List<Pe> leads : groups) {
        for (int place = 0; place < order.size(); place++) {
          Pe from = leads.get(order.get(place));
          Pe to = leads.get(order.get((place + 1) % order.size()));
          long ps = LinkCosts.between(machine, from, to).messagePs(MESSAGE_BYTES);
          slowest = Math.max(slowest, ps);
          all += ps;
        }
      }
      return new Hops(slowest, all);
    }
  }

  private static Comparator<Pe> byPlace(Machine m) {
    int[] sips = inverse(PackageCycle.quickest(m, inverse(packages(m))));
    int[] cubes = cycle(m.cubeMeshWidth(), m.cubeMeshHeight());
    return Comparator.comparingInt((Pe pe) -> sips[pe.sip()])
        .thenComparingInt(pe -> cubes[pe.cube()])
        .thenComparingInt(Pe::pe);
  }

  private static int[] sorted(List<Pe> leads, Comparator<Pe> byPlace) {
    return IntStream.range(0, leads.size())
        .boxed()
        .sorted(Comparator.comparing(leads::get, byPlace))
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /** Whether ranks are packages in a ring, or all neighbours, whose links do not differ. */
  private static boolean isByNumber(Group group) {
    Machine m = group.machine();
    return group.isOfPackages() && m.dimensions().size() == 1 && !m.hasUnequalSipLinks();
  }

  /** By package its position on the cycle of the grid. */
  private static int[] packages(Machine m) {
    if (m.dimensions().size() == 1) {
      return IntStream.range(0, m.sips()).toArray();
    }
    return m.sipTopology().isGrid()
        ? cycle(m.sipGridWidth(), m.sipGridHeight())
        : cycle(m.dimensions().stream().mapToInt(Dimension::size).toArray());
  }

  private static int[] inverse(int[] of) {
    int[] inverse = new int[of.length];
    for (int i = 0; i < of.length; i++) {
      inverse[of[i]] = i;
    }
    return inverse;
  }

  /** Whether each rank has its number for a position. */
  public boolean isByNumber() {
    for (int position = 0; position < rankAt.length; position++) {
      if (rankAt[position] != position) {
        return false;
      }
    }
    return true;
  }

  public int rankAt(int position) {
    return rankAt[position];
  }

  public int positionOf(int rank) {
    return positionOf[rank];
  }

  /**
   * By place in a grid of any number of dimensions, the first fastest: its position on a cycle of
   * neighbours where an even number of places allows one that {@link #cycle(int, int)} finds, with
   * all dimensions but the last walked to and fro as one; else a walk with one long way back.
   */
  public static int[] cycle(int[] sizes) {
    int inner = 1;
    for (int d = 0; d < sizes.length - 1; d++) {
      inner *= sizes[d];
    }
    int last = sizes[sizes.length - 1];
    int[] onCycle = cycle(inner, last);
    int[] walk = walk(sizes, sizes.length - 1, inner);
    int[] position = new int[inner * last];
    for (int place = 0; place < position.length; place++) {
      position[place] = onCycle[place / inner * inner + walk[place % inner]];
    }
    return position;
  }

  /** By place in the first dimensions: its position on a walk from neighbour to neighbour. */
  private static int[] walk(int[] sizes, int dimensions, int places) {
    int[] position = new int[places];
    for (int place = 0; place < places; place++) {
      int rest = place;
      int[] digits = new int[dimensions];
      for (int d = 0; d < dimensions; d++) {
        digits[d] = rest % sizes[d];
        rest /= sizes[d];
      }
      int walked = 0;
      for (int d = dimensions - 1; d >= 0; d--) {
        walked = walked * sizes[d] + (walked % 2 == 0 ? digits[d] : sizes[d] - 1 - digits[d]);
      }
      position[place] = walked;
    }
    return position;
  }

  /** By place, row by row: its position on the cycle. */
  public static int[] cycle(int width, int height) {
    int[] position = new int[width * height];
    int next = 0;
    if (height % 2 == 0 && width > 1) {
      // East along the first row, then to and fro through all columns but the first, and back up
      // it.
      for (int y = 0; y < height; y++) {
        int first = y == 0 || y == height - 1 ? 0 : 1;
        for (int i = first; i < width; i++) {
          int x = y % 2 == 0 ? i : width - 1 - (i - first);
          position[y * width + x] = next++;
        }
      }
      for (int y = height - 2; y > 0; y--) {
        position[y * width] = next++;
      }
      return position;
    }
    if (width % 2 == 0 && height > 1) {
      int[] turned = cycle(height, width);
      for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
          position[y * width + x] = turned[x * height + y];
        }
      }
      return position;
    }
    for (int y = 0; y < height; y++) {
      for (int i = 0; i < width; i++) {
        position[y * width + (y % 2 == 0 ? i : width - 1 - i)] = next++;
      }
    }
    return position;
  }
}
