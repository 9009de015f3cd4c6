package org.kernbench.nn.placements;

import java.util.List;
import org.kernbench.nn.placements.Placement.Shard;
import org.kernbench.tensor.Shape;

/**
 * Which indices of a whole tensor a rank has along each axis.
 *
 * @param starts the first
 * @param counts how many, perhaps none
 */
record Extents(List<Integer> starts, List<Integer> counts) {
  /** A run of indices. */
  record Run(int start, int count) {
    /** The part of some indices that one of several ranks has. */
    static Run of(int all, int ranks, int rank) {
      int each = all / ranks;
      int more = all % ranks;
      return new Run(rank * each + Math.min(rank, more), each + (rank < more ? 1 : 0));
    }
  }

  /** Those of a rank: an axis that several dimensions cut is cut by the first of them first. */
  static Extents of(Shape whole, List<Placement> placements, List<Integer> sizes, int[] at) {
    int[] starts = new int[whole.rank()];
    int[] counts = whole.toArray();
    for (int i = 0; i < placements.size(); i++) {
      if (placements.get(i) instanceof Shard shard) {
        Run run = Run.of(counts[shard.dim()], sizes.get(i), at[i]);
        starts[shard.dim()] += run.start();
        counts[shard.dim()] = run.count();
      }
    }
    return new Extents(list(starts), list(counts));
  }

  private static List<Integer> list(int[] of) {
    return java.util.Arrays.stream(of).boxed().toList();
  }

  Shape shape() {
    return Shape.of(counts.stream().mapToInt(Integer::intValue).toArray());
  }
}
