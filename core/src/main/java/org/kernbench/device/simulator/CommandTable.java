package org.kernbench.device.simulator;

import java.util.Arrays;
import java.util.function.IntFunction;

/**
 * All commands of a machine by index, by which events name them. Commands serve again and again, so
 * the table grows a few times only.
 *
 * <p>Threads may add at the same time. One may ask for a command that it has added, or of which
 * another has told it.
 */
final class CommandTable {
  private static final int BLOCK_BITS = 10;
  private static final int BLOCK = 1 << BLOCK_BITS;

  /** Replaced, complete, when it grows: others may look meanwhile. */
  private volatile Op[][] blocks = new Op[4][];

  private int count;

  /** Adds a command, which is told its index. */
  synchronized <T extends Op> T add(IntFunction<T> make) {
    int block = count >>> BLOCK_BITS;
    Op[][] all = blocks;
    if (block == all.length) {
      all = Arrays.copyOf(all, block * 2);
      blocks = all;
    }
    if (all[block] == null) {
      all[block] = new Op[BLOCK];
    }
    T op = make.apply(count);
    all[block][count & BLOCK - 1] = op;
    count++;
    return op;
  }

  Op get(int index) {
    return blocks[index >>> BLOCK_BITS][index & BLOCK - 1];
  }
}
