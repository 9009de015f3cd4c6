package org.kernbench.eval.traffic;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.function.IntBinaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * The processing elements of a machine as nodes of a grid: west to east along axis 0, north to
 * south along axis 1, packages of further dimensions along further axes. Where they fill no grid
 * they stand in a line, by their numbers.
 */
final class TrafficNodes {
  private final int[] sizes;

  /** By node, then axis. */
  private final int[][] places;

  /** By place in the grid, axis 0 fastest. */
  private final int[] nodeAt;

  private TrafficNodes(int[] sizes, int[][] places, int[] nodeAt) {
    this.sizes = sizes;
    this.places = places;
    this.nodeAt = nodeAt;
  }

  static TrafficNodes of(Machine machine) {
    int count = machine.peCount();
    int dimensions = machine.dimensions().size();
    int axes = Math.max(2, dimensions);
    long[][] keys = new long[axes][count];
    for (int pe = 0; pe < count; pe++) {
      Pe at = machine.peAt(pe);
      int router = machine.node(machine.linkTo(first(machine, pe))).index();
      int[] inside = {
        at.cube() % machine.cubeMeshWidth() * machine.nocWidth() + router % machine.nocWidth(),
        at.cube() / machine.cubeMeshWidth() * machine.nocHeight() + router / machine.nocWidth()
      };
      for (int axis = 0; axis < axes; axis++) {
        long outside = axis < dimensions ? machine.place(at.sip(), axis) : 0;
        keys[axis][pe] = (outside << Integer.SIZE) + (axis < 2 ? inside[axis] : 0);
      }
    }
    return ofKeys(keys, count);
  }

  /** The link by which a PE sends; any of its routes begins with it. */
  private static int first(Machine machine, int pe) {
    int other = pe == 0 ? 1 : 0;
    return machine.route(machine.peAt(pe), machine.peAt(other)).first();
  }

  private static TrafficNodes ofKeys(long[][] keys, int count) {
    List<int[]> ranks = new ArrayList<>(); // of each axis that has more than one place
    List<Integer> sizes = new ArrayList<>();
    for (long[] axis : keys) {
      List<Long> known =
          List.copyOf(new TreeSet<>(IntStream.range(0, count).mapToObj(i -> axis[i]).toList()));
      if (known.size() > 1) {
        ranks.add(IntStream.range(0, count).map(i -> known.indexOf(axis[i])).toArray());
        sizes.add(known.size());
      }
    }
    long product = sizes.stream().mapToLong(i -> i).reduce(1, (a, b) -> a * b);
    int[] nodeAt = new int[count];
    Arrays.fill(nodeAt, -1);
    int[][] places = new int[count][];
    boolean full = product == count;
    for (int node = 0; node < count && full; node++) {
      int n = node;
      places[node] = ranks.stream().mapToInt(r -> r[n]).toArray();
      int at = index(places[node], sizes);
      full = nodeAt[at] < 0;
      nodeAt[at] = node;
    }
    if (full) {
      return new TrafficNodes(sizes.stream().mapToInt(i -> i).toArray(), places, nodeAt);
    }
    int[][] line = IntStream.range(0, count).mapToObj(i -> new int[] {i}).toArray(int[][]::new);
    return new TrafficNodes(new int[] {count}, line, IntStream.range(0, count).toArray());
  }

  private static int index(int[] place, List<Integer> sizes) {
    int at = 0;
    for (int axis = place.length - 1; axis >= 0; axis--) {
      at = at * sizes.get(axis) + place[axis];
    }
    return at;
  }

  int count() {
    return places.length;
  }

  int axes() {
    return sizes.length;
  }

  int size(int axis) {
    return sizes[axis];
  }

  int place(int node, int axis) {
    return places[node][axis];
  }

  /** The node at a place. */
  int at(int[] place) {
    return nodeAt[index(place, IntStream.of(sizes).boxed().toList())];
  }

  /** The node at what a rule makes of the place along each axis, given its size. */
  int moved(int node, IntBinaryOperator rule) {
    int at = 0;
    for (int axis = sizes.length - 1; axis >= 0; axis--) {
      at = at * sizes[axis] + rule.applyAsInt(places[node][axis], sizes[axis]);
    }
    return nodeAt[at];
  }

  /** For people, e.g. {@code 8x8 nodes}. */
  String text() {
    return IntStream.of(sizes)
        .mapToObj(Integer::toString)
        .collect(Collectors.joining("x", "", " nodes"));
  }
}
