package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * The ranks of a group as a grid: every rank has a place on each axis, and every combination of
 * places has its rank. Innermost first, the axes are the PEs of a cube, columns and rows of cubes,
 * the dimensions of the network of packages; those with one place are left out. A group that fills
 * no grid has one axis, along which neighbours are as close as a ring order makes them.
 */
public final class Axes {
  /**
   * How the places of an axis are joined.
   *
   * @param size number of places, at least 2
   * @param closed whether each place can send to both neighbours, and the last and the first to
   *     each other, all at once without two messages on one link
   * @param level what differs along it
   */
  public record Axis(int size, boolean closed, Level level) {}

  /** What differs along an axis. */
  public enum Level {
    PE,
    CUBE,
    SIP,
    /** Nothing in particular: the group fills no grid. */
    MIXED
  }

  private static final int NO_DIMENSION = -1;

  private final Group group;

  /** By axis the dimension of the network that it is, if it is one. */
  private final List<Integer> dimensions;

  private final List<Axis> axes;
  private final int[][] places; // by rank and axis
  private final int[] rankAt; // by places, first axis fastest

  private Axes(Group group, List<Level> levels, int[][] places, int[] sizes) {
    this(group, levels, Collections.nCopies(levels.size(), NO_DIMENSION), places, sizes);
  }

  private Axes(
      Group group, List<Level> levels, List<Integer> dimensions, int[][] places, int[] sizes) {
    this.group = group;
    this.dimensions = dimensions;
    this.places = places;
    this.rankAt = new int[Arrays.stream(sizes).reduce(1, (a, b) -> a * b)];
    for (int rank = 0; rank < rankAt.length; rank++) {
      rankAt[index(places[rank], sizes)] = rank;
    }
    this.axes = new ArrayList<>();
    for (int a = 0; a < sizes.length; a++) {
      axes.add(new Axis(sizes[a], true, levels.get(a)));
    }
    for (int a = 0; a < sizes.length; a++) {
      axes.set(a, new Axis(sizes[a], isClosed(a), levels.get(a)));
    }
  }

  /** The grid that a group fills, or one axis. */
  public static Axes of(Group group) {
    Machine m = group.machine();
    List<ToIntFunction<Pe>> coordinates =
        new ArrayList<>(
            List.of(
                Pe::pe, pe -> pe.cube() % m.cubeMeshWidth(), pe -> pe.cube() / m.cubeMeshWidth()));
    List<Level> levels = new ArrayList<>(List.of(Level.PE, Level.CUBE, Level.CUBE));
    List<Integer> dimensions = new ArrayList<>(List.of(NO_DIMENSION, NO_DIMENSION, NO_DIMENSION));
    for (int d = 0; d < m.dimensions().size(); d++) {
      int dimension = d;
      coordinates.add(pe -> m.place(pe.sip(), dimension));
      levels.add(Level.SIP);
      dimensions.add(d);
    }
    List<Level> kept = new ArrayList<>();
    List<Integer> keptDimensions = new ArrayList<>();
    List<int[]> columns = new ArrayList<>();
    long product = 1;
    for (int a = 0; a < coordinates.size(); a++) {
      int[] column = group.leads().stream().mapToInt(coordinates.get(a)).toArray();
      int[] distinct = IntStream.of(column).distinct().sorted().toArray();
      if (distinct.length > 1) {
        product *= distinct.length;
        kept.add(levels.get(a));
        keptDimensions.add(dimensions.get(a));
        columns.add(IntStream.of(column).map(c -> Arrays.binarySearch(distinct, c)).toArray());
      }
    }
    return product == group.size()
        ? new Axes(group, kept, keptDimensions, transposed(columns), sizes(columns))
        : ring(group);
  }

  /** All ranks along one axis, neighbours close to each other. */
  public static Axes ring(Group group) {
    RingOrder order = RingOrder.of(group);
    int[][] places = new int[group.size()][];
    for (int rank = 0; rank < places.length; rank++) {
      places[rank] = new int[] {order.positionOf(rank)};
    }
    return new Axes(group, List.of(Level.MIXED), places, new int[] {group.size()});
  }

  /** All ranks along one axis in the order of their numbers. */
  public static Axes line(Group group) {
    int[][] places = new int[group.size()][];
    for (int rank = 0; rank < places.length; rank++) {
      places[rank] = new int[] {rank};
    }
    return new Axes(group, List.of(Level.MIXED), places, new int[] {group.size()});
  }

  /**
   * A hypercube: an axis of two places for each bit of a rank's number, nearest ranks first. Ranks
   * beyond the largest power of two stand behind the one that has their number without its top bit.
   */
  public static Axes hypercube(Group group) {
    int bits = 31 - Integer.numberOfLeadingZeros(group.size());
    int[][] places = new int[group.size()][bits];
    for (int rank = 0; rank < places.length; rank++) {
      for (int bit = 0; bit < bits; bit++) {
        places[rank][bit] = rank >> bit & 1;
      }
    }
    int[] sizes = new int[bits];
    Arrays.fill(sizes, 2);
    return new Axes(group, Collections.nCopies(bits, Level.MIXED), places, sizes);
  }

  private static int[][] transposed(List<int[]> columns) {
    int[][] rows = new int[columns.get(0).length][columns.size()];
    for (int a = 0; a < columns.size(); a++) {
      for (int rank = 0; rank < rows.length; rank++) {
        rows[rank][a] = columns.get(a)[rank];
      }
    }
    return rows;
  }

  private static int[] sizes(List<int[]> columns) {
    return columns.stream().mapToInt(c -> IntStream.of(c).max().orElseThrow() + 1).toArray();
  }

  private static int index(int[] place, int[] sizes) {
    int index = 0;
    for (int a = sizes.length - 1; a >= 0; a--) {
      index = index * sizes[a] + place[a];
    }
    return index;
  }

  public Group group() {
    return group;
  }

  public int count() {
    return axes.size();
  }

  /** Ranks on the grid: the first of the group, and but for a hypercube all. */
  public int ranks() {
    return rankAt.length;
  }

  public Axis axis(int a) {
    return axes.get(a);
  }

  /** Where a rank is on an axis. */
  public int place(int rank, int axis) {
    return places[rank][axis];
  }

  /** The rank at another place of an axis, elsewhere as a rank is. */
  public int rankAt(int rank, int axis, int place) {
    int index = 0;
    for (int a = axes.size() - 1; a >= 0; a--) {
      index = index * axes.get(a).size() + (a == axis ? place : places[rank][a]);
    }
    return rankAt[index];
  }

  /** The ranks along an axis through a rank. */
  public int[] line(int rank, int axis) {
    int[] sizes = axes.stream().mapToInt(Axis::size).toArray();
    int[] place = places[rank].clone();
    int[] line = new int[sizes[axis]];
    for (int i = 0; i < line.length; i++) {
      place[axis] = i;
      line[i] = rankAt[index(place, sizes)];
    }
    return line;
  }

  /** All lines along an axis. */
  public List<int[]> lines(int axis) {
    List<int[]> lines = new ArrayList<>();
    for (int rank = 0; rank < rankAt.length; rank++) {
      if (places[rank][axis] == 0) {
        lines.add(line(rank, axis));
      }
    }
    return lines;
  }

  /** Whether the packages along an axis reach each other through a switch, or each directly. */
  public boolean isCrossbar(int axis) {
    Machine m = group.machine();
    int dimension = dimensions.get(axis);
    if (dimension != NO_DIMENSION) {
      return isCrossbar(m.dimensions().get(dimension));
    }
    boolean mixed = axes.get(axis).level() == Level.MIXED && group.level() == RankLevel.SIP;
    return mixed && m.dimensions().size() == 1 && isCrossbar(m.dimensions().getFirst());
  }

  /** Whether the packages along an axis hang on a switch that adds up. */
  public boolean isSumming(int axis) {
    int dimension = dimensions.get(axis);
    return dimension != NO_DIMENSION && group.machine().dimensions().get(dimension).reduces();
  }

  private static boolean isCrossbar(Dimension dimension) {
    return switch (dimension.kind()) {
      case SWITCH, FULLY_CONNECTED -> true;
      case RING, MESH -> false;
    };
  }

  private boolean isClosed(int axis) {
    if (axes.get(axis).size() == 2) {
      return false;
    }
    Machine m = group.machine();
    for (int[] line : lines(axis)) {
      Set<Integer> used = new HashSet<>();
      for (int i = 0; i < 2 * line.length; i++) {
        Pe here = group.lead(line[i / 2]);
        Pe next = group.lead(line[(i / 2 + 1) % line.length]);
        Route route = i % 2 == 0 ? m.route(here, next) : m.route(next, here);
        for (int link : route.links()) {
          LinkKind kind = m.linkKind(link);
          boolean port = kind == LinkKind.PE_TO_ROUTER || kind == LinkKind.ROUTER_TO_PE;
          if (!port && !used.add(link)) {
            return false; // the way back is the way there
          }
        }
      }
    }
    return true;
  }
}
