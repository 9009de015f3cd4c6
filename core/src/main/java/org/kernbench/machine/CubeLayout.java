package org.kernbench.machine;

import java.util.Arrays;

/**
 * Which router each part of a cube hangs on. Routers are numbered row by row from the north-west.
 */
final class CubeLayout {
  final int width;
  final int height;
  final int pes;
  private final int[] peRouter;

  CubeLayout(MachineConfig.CubeConfig cube) {
    width = cube.nocWidth();
    height = cube.nocHeight();
    pes = cube.pes();
    peRouter = new int[pes];
    for (int corner = 0; corner < cube.corners(); corner++) {
      place(corner, cube);
    }
  }

  /** The most PEs that fit one corner, each with a router of its own. */
  static int capacityPerCorner(int width, int height, int corners) {
    int capacity = Integer.MAX_VALUE;
    for (int corner = 0; corner < corners; corner++) {
      capacity =
          Math.min(
              capacity,
              extent(width, corners >= 2, corner % 2) * extent(height, corners >= 3, corner / 2));
    }
    return capacity;
  }

  /** Routers along one axis that belong to the first or second half, or all if it is not split. */
  private static int extent(int size, boolean split, int half) {
    if (!split) {
      return size;
    }
    return half == 0 ? (size + 1) / 2 : size / 2;
  }

  /**
   * Takes the routers nearest to the corner, on a tie along the row, and numbers them row by row.
   */
  private void place(int corner, MachineConfig.CubeConfig cube) {
    boolean east = corner % 2 == 1;
    boolean south = corner / 2 == 1;
    int columns = extent(width, cube.corners() >= 2, corner % 2);
    int rows = extent(height, cube.corners() >= 3, corner / 2);
    int first = corner * cube.pesPerCorner();
    int placed = 0;
    for (int distance = 0; placed < cube.pesPerCorner(); distance++) {
      for (int dy = 0; dy <= distance && placed < cube.pesPerCorner(); dy++) {
        int dx = distance - dy;
        if (dx < columns && dy < rows) {
          int x = east ? width - 1 - dx : dx;
          int y = south ? height - 1 - dy : dy;
          peRouter[first + placed++] = router(x, y);
        }
      }
    }
    Arrays.sort(peRouter, first, first + placed);
  }

  int router(int x, int y) {
    return y * width + x;
  }

  int routers() {
    return width * height;
  }

  int peRouter(int pe) {
    return peRouter[pe];
  }

  int sramRouter() {
    return router((width - 1) / 2, height / 2);
  }

  int mCpuRouter() {
    return router(width / 2, (height - 1) / 2);
  }

  /** The router with the die-to-die port of a side: the middle of that edge. */
  int portRouter(Side side) {
    int middleX = (width - 1) / 2;
    int middleY = (height - 1) / 2;
    return switch (side) {
      case N -> router(middleX, 0);
      case E -> router(width - 1, middleY);
      case S -> router(middleX, height - 1);
      case W -> router(0, middleY);
    };
  }
}
