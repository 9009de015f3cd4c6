package org.kernbench.ccl.algorithms;

/**
 * Trees in grids: along the rows to the root's column, then along that column to the root.
 *
 * <p>In a grid of x columns and y rows its depth is the farthest row distance plus the farthest
 * column distance of the root, the least that shortest ways allow.
 */
final class GridTree {
  private GridTree() {}

  /**
   * Adds the tree of a grid.
   *
   * @param ranks by row and column
   * @param wrap whether rows and columns are rings, so that the shorter way round is taken
   * @param prefix put before the direction names E, W, S, N
   */
  static void add(Tree tree, int[][] ranks, int rootX, int rootY, boolean wrap, String prefix) {
    int[] column = new int[ranks.length];
    for (int y = 0; y < ranks.length; y++) {
      addLine(tree, ranks[y], rootX, wrap, prefix + "E", prefix + "W");
      column[y] = ranks[y][rootX];
    }
    addLine(tree, column, rootY, wrap, prefix + "S", prefix + "N");
  }

  /** Adds a line or ring of ranks; the longer side of the root comes first. */
  private static void addLine(
      Tree tree, int[] line, int root, boolean wrap, String up, String down) {
    int n = line.length;
    int below = wrap ? n / 2 : root; // ranks that reach the root upwards
    int above = n - 1 - below;
    for (int pass = 0; pass < 2; pass++) {
      boolean upwards = (pass == 0) == (below >= above);
      int count = upwards ? below : above;
      for (int distance = count; distance > 0; distance--) {
        int at = Math.floorMod(upwards ? root - distance : root + distance, n);
        int next = Math.floorMod(upwards ? at + 1 : at - 1, n);
        tree.add(line[at], upwards ? up : down, line[next], upwards ? down : up);
      }
    }
  }
}
