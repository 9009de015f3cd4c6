package org.kernbench.ccl.dimensions;

import java.util.TreeSet;
import org.kernbench.ccl.DimensionSteps.Step;
import org.kernbench.ccl.Wiring;

/** Names of the queues of {@link ByDimension}, a set for each chunk under way, and their ends. */
final class DimensionQueues {
  private DimensionQueues() {}

  static String next(int axis, int lane) {
    return lane("next" + axis, lane);
  }

  static String previous(int axis, int lane) {
    return lane("previous" + axis, lane);
  }

  /** The queue to or from the rank so many places further on the same line of n. */
  static String peer(int axis, int further, int n, int lane) {
    return lane("dimension" + axis + "_" + Math.floorMod(further, n), lane);
  }

  private static String lane(String name, int lane) {
    return lane == 0 ? name : name + "_chunk" + lane;
  }

  /** Joins the ranks of a line as a step needs them. */
  static void join(Wiring wiring, Step step, int a, int[] line, int lane) {
    int n = line.length;
    switch (step) {
      case RING -> {
        for (int i = 0; i < n; i++) {
          wiring.join(line[i], next(a, lane), line[(i + 1) % n], previous(a, lane));
        }
      }
      case DIRECT -> {
        for (int i = 0; i < n; i++) {
          for (int j = i + 1; j < n; j++) {
            join(wiring, a, line, i, j, lane);
          }
        }
      }
      case HALVING_DOUBLING -> {
        for (int i = 0; i < n; i++) {
          for (int bit = 1; bit < n; bit *= 2) {
            if ((i & bit) == 0) {
              wiring.join(line[i], peer(a, bit, n, lane), line[i | bit], peer(a, -bit, n, lane));
            }
          }
        }
      }
      case DOUBLE_BINARY_TREE -> {
        TreeSet<Integer> edges = new TreeSet<>();
        for (int tree = 0; tree < 2; tree++) {
          for (int i = 0; i < n; i++) {
            int parent = parent(tree, i, n);
            if (parent >= 0) {
              edges.add(Math.min(i, parent) * n + Math.max(i, parent));
            }
          }
        }
        for (int edge : edges) {
          join(wiring, a, line, edge / n, edge % n, lane);
        }
      }
    }
  }

  /**
   * Of the queues of a line that go by distance alone those that begin at its first rank, one for
   * each that a shift of the line takes it to.
   *
   * @param step RING or DIRECT
   */
  static void joinFirst(Wiring wiring, Step step, int a, int[] line, int lane) {
    if (step == Step.RING) {
      wiring.join(line[0], next(a, lane), line[1], previous(a, lane));
      return;
    }
    for (int j = 1; 2 * j <= line.length; j++) {
      join(wiring, a, line, 0, j, lane);
    }
  }

  private static void join(Wiring wiring, int a, int[] line, int i, int j, int lane) {
    int n = line.length;
    wiring.join(line[i], peer(a, j - i, n, lane), line[j], peer(a, i - j, n, lane));
  }

  // ---- two binary trees of a power of two of places ----

  /**
   * The place above another in a tree: in the first tree the last place is the root, with one
   * child, and the others are a full tree in their order; in the second the first place is the
   * root.
   *
   * @return -1 above the root
   */
  static int parent(int tree, int place, int n) {
    int shift = tree == 0 ? 1 : 0; // numbers from 1 in the full tree
    int number = place + shift;
    if (number == (tree == 0 ? n : 0)) {
      return -1;
    }
    int bit = Integer.lowestOneBit(number);
    if (bit == n / 2) {
      return tree == 0 ? n - 1 : 0;
    }
    return ((number - bit) | (bit << 1)) - shift;
  }

  /** The places below another, at most two, in order. */
  static int[] children(int tree, int place, int n) {
    int shift = tree == 0 ? 1 : 0;
    int number = place + shift;
    if (number == (tree == 0 ? n : 0)) {
      return new int[] {n / 2 - shift};
    }
    int half = Integer.lowestOneBit(number) / 2;
    return half == 0 ? new int[0] : new int[] {number - half - shift, number + half - shift};
  }
}
