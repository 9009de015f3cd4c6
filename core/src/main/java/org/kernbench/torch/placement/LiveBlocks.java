package org.kernbench.torch.placement;

import java.util.Arrays;
import java.util.Objects;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of a {@link RangeAllocator} by first position: an open hash table of numbers, 20 bytes for
 * a place, of which at most two thirds are taken. A large model has a block for each part of each
 * tensor.
 */
final class LiveBlocks {
  private static final long FREE = -1;
  private static final int FIRST_SIZE = 4;

  private long[] positions = free(FIRST_SIZE);
  private long[] bytes = new long[FIRST_SIZE];
  private @Nullable String[] owners = new String[FIRST_SIZE];
  private int count;

  private static long[] free(int size) {
    long[] positions = new long[size];
    Arrays.fill(positions, FREE);
    return positions;
  }

  /**
   * Adds a block.
   *
   * @param position where it begins, at least 0; no other block does
   */
  void add(long position, long size, String owner) {
    if (3 * (count + 1) > 2 * positions.length) {
      grow();
    }
    int at = placeOf(position);
    positions[at] = position;
    bytes[at] = size;
    owners[at] = owner;
    count++;
  }

  private void grow() {
    long[] were = positions;
    long[] sizes = bytes;
    @Nullable String[] theirs = owners;
    positions = free(2 * were.length);
    bytes = new long[positions.length];
    owners = new String[positions.length];
    for (int i = 0; i < were.length; i++) {
      if (were[i] != FREE) {
        int at = placeOf(were[i]);
        positions[at] = were[i];
        bytes[at] = sizes[i];
        owners[at] = theirs[i];
      }
    }
  }

  /** Where a block is, or would be. */
  private int placeOf(long position) {
    int at = home(position);
    while (positions[at] != position && positions[at] != FREE) {
      at = next(at);
    }
    return at;
  }

  private int home(long position) {
    long mixed = position * 0x9E37_79B9_7F4A_7C15L; // Fibonacci hashing
    return (int) (mixed >>> 32) & (positions.length - 1);
  }

  private int next(int at) {
    return (at + 1) & (positions.length - 1);
  }

  /** Removes the block that begins at a position; returns its bytes, -1 if there is none. */
  long remove(long position) {
    int at = placeOf(position);
    if (positions[at] == FREE) {
      return -1;
    }
    long size = bytes[at];
    int hole = at;
    for (int i = next(at); positions[i] != FREE; i = next(i)) {
      int fromHome = (i - home(positions[i])) & (positions.length - 1);
      int fromHole = (i - hole) & (positions.length - 1);
      if (fromHome >= fromHole) { // who looks for it would stop at the hole
        positions[hole] = positions[i];
        bytes[hole] = bytes[i];
        owners[hole] = owners[i];
        hole = i;
      }
    }
    positions[hole] = FREE;
    owners[hole] = null;
    count--;
    return size;
  }

  /** Tells owner and bytes of every block, by position. */
  void inOrder(ObjLongConsumer<String> each) {
    long[] sorted = Arrays.stream(positions).filter(p -> p != FREE).sorted().toArray();
    for (long position : sorted) {
      int at = placeOf(position);
      each.accept(Objects.requireNonNull(owners[at]), bytes[at]);
    }
  }
}
