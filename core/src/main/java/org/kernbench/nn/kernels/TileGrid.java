package org.kernbench.nn.kernels;

import java.util.ArrayList;
import java.util.List;

/**
 * The tiles of a matrix, divided over places: these form a grid too, and each has a rectangle of
 * neighbouring tiles, so that it reads few rows and columns.
 *
 * @param m rows of the matrix
 * @param n columns
 * @param tileM rows of a tile, but of the last ones
 * @param tileN columns
 * @param outer groups of places, each with a rectangle of the matrix
 * @param inner places of a group, each with a rectangle of that
 */
record TileGrid(int m, int n, int tileM, int tileN, Places outer, Places inner) {
  /** Places as a grid. */
  record Places(int down, int across) {
    int count() {
      return down * across;
    }
  }

  /** Consecutive tiles along one axis: the first, and behind the last. */
  record Range(int from, int to) {
    int count() {
      return to - from;
    }

    /** The {@code index}-th of {@code parts} as even ones. */
    private Range cut(int index, int parts) {
      int each = (to - from) / parts;
      int more = (to - from) % parts;
      int start = from + index * each + Math.min(index, more);
      return new Range(start, start + each + (index < more ? 1 : 0));
    }
  }

  /** Tiles of one place: some rows of tiles, some columns of tiles. */
  record Rectangle(Range rows, Range columns) {}

  /** A division over equal places. */
  static TileGrid of(int m, int n, int tileM, int tileN, int places) {
    return of(m, n, tileM, tileN, new Places(1, 1), places);
  }

  /**
   * A division over groups of places, in each of which the place with the most tiles has fewest,
   * and reads least.
   */
  static TileGrid of(int m, int n, int tileM, int tileN, Places outer, int places) {
    int high = Math.ceilDiv(Math.ceilDiv(m, tileM), outer.down);
    int wide = Math.ceilDiv(Math.ceilDiv(n, tileN), outer.across);
    Places best = new Places(1, 1);
    for (int down = 1; down <= Math.min(places, high); down++) {
      Places next = new Places(down, Math.min(places / down, wide));
      if (cost(next, high, wide) < cost(best, high, wide)) {
        best = next;
      }
    }
    return new TileGrid(m, n, tileM, tileN, outer, best);
  }

  /** Tiles of the place that has most, then rows and columns of tiles that it reads. */
  private static long cost(Places places, int high, int wide) {
    long down = Math.ceilDiv(high, places.down);
    long across = Math.ceilDiv(wide, places.across);
    return down * across * (high + wide + 1L) + down + across;
  }

  /** How many places have tiles. */
  int places() {
    return outer.count() * inner.count();
  }

  /** The tiles of a place. */
  Rectangle tilesOf(int group, int place) {
    Range rows = new Range(0, Math.ceilDiv(m, tileM)).cut(group / outer.across, outer.down);
    Range columns = new Range(0, Math.ceilDiv(n, tileN)).cut(group % outer.across, outer.across);
    return new Rectangle(
        rows.cut(row(place), inner.down), columns.cut(column(place), inner.across));
  }

  /**
   * In which row of its group a place is. Neighbouring places share the operand of which each reads
   * the smaller part: as copies lie over places in their order, that part is near.
   */
  private int row(int place) {
    return inner.across > inner.down ? place % inner.down : place / inner.across;
  }

  private int column(int place) {
    return inner.across > inner.down ? place / inner.down : place % inner.across;
  }

  /**
   * The block that a place does first, of {@code down x across}, counted row by row. Places with
   * the same columns begin at different ones of these, and so do places with the same rows:
   * otherwise they would read the same memory at the same time.
   */
  int firstBlock(int place, int down, int across) {
    int row = column(place) * down / inner.across;
    int column = row(place) * across / inner.down;
    return row * across + column;
  }

  /** Cuts a rectangle into such of at most so many tiles along each axis, row by row. */
  static List<Rectangle> blocks(Rectangle of, int down, int across) {
    List<Rectangle> blocks = new ArrayList<>();
    for (int i = of.rows.from; i < of.rows.to; i += down) {
      for (int j = of.columns.from; j < of.columns.to; j += across) {
        blocks.add(
            new Rectangle(
                new Range(i, Math.min(of.rows.to, i + down)),
                new Range(j, Math.min(of.columns.to, j + across))));
      }
    }
    return blocks;
  }
}
