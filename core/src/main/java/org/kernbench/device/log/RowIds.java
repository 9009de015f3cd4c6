package org.kernbench.device.log;

import java.util.Arrays;

/**
 * The ids under which rows of {@link OpRows} are written again: of each PE blocks of ids that
 * follow one another, as they were reserved.
 */
public final class RowIds {
  /** By PE, of each block its first row and the id of that. */
  private int[][] blocks;

  /** By PE, how many rows have ids. */
  private int[] reserved;

  /** No row has an id yet. */
  public RowIds() {
    this.blocks = new int[0][];
    this.reserved = new int[0];
  }

  /** The first rows of a PE, so many, have ids from now on. */
  public void reserve(OpLog log, int slot, int rows) {
    if (slot >= blocks.length) {
      int before = blocks.length;
      blocks = Arrays.copyOf(blocks, slot + 1);
      Arrays.fill(blocks, before, blocks.length, new int[0]);
      reserved = Arrays.copyOf(reserved, slot + 1);
    }
    int more = rows - reserved[slot];
    if (more > 0) {
      int[] longer = Arrays.copyOf(blocks[slot], blocks[slot].length + 2);
      longer[longer.length - 2] = reserved[slot];
      longer[longer.length - 1] = log.reserve(more);
      blocks[slot] = longer;
      reserved[slot] = rows;
    }
  }

  /** The id of a row of a PE; what is negative and stands for none stays as it is. */
  public int id(int slot, int row) {
    if (row < 0) {
      return row;
    }
    int[] theirs = blocks[slot];
    int at = theirs.length - 2;
    while (theirs[at] > row) {
      at -= 2;
    }
    return theirs[at + 1] + row - theirs[at];
  }
}
