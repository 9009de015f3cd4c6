package org.kernbench.device.memory;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Ranges by their first address, which they have alone. As a sorted tree of sorted leaves in which
 * all numbers lie side by side: 12 bytes for a range where a {@code TreeMap} takes 48, and a model
 * of 80 layers has millions of them.
 */
final class RangeTable {
  private static final int MOST = 256;

  /** Ranges that follow one another, by address. */
  private static final class Leaf {
    private long[] starts;
    private PageMap.@Nullable Range[] ranges;
    private int size;

    Leaf(int room) {
      this.starts = new long[room];
      this.ranges = new PageMap.Range[room];
    }

    /** The number of the last at or before an address; -1 if all are after it. */
    int atOrBefore(long address) {
      return RangeTable.atOrBefore(starts, size, address);
    }

    void insert(int at, PageMap.Range range) {
      if (size == starts.length) {
        int room = Math.min(MOST, 2 * size);
        starts = Arrays.copyOf(starts, room);
        ranges = Arrays.copyOf(ranges, room);
      }
      System.arraycopy(starts, at, starts, at + 1, size - at);
      System.arraycopy(ranges, at, ranges, at + 1, size - at);
      starts[at] = range.start;
      ranges[at] = range;
      size++;
    }

    void remove(int at) {
      size--;
      System.arraycopy(starts, at + 1, starts, at, size - at);
      System.arraycopy(ranges, at + 1, ranges, at, size - at);
      ranges[size] = null;
    }

    /** Its upper half as a leaf of its own. */
    Leaf split() {
      Leaf upper = new Leaf(MOST);
      int half = size / 2;
      upper.size = size - half;
      System.arraycopy(starts, half, upper.starts, 0, upper.size);
      System.arraycopy(ranges, half, upper.ranges, 0, upper.size);
      Arrays.fill(ranges, half, size, null);
      size = half;
      return upper;
    }
  }

  /** Leaves that are not empty, in order, and the first address of each. */
  private Leaf[] leaves = new Leaf[4];

  private long[] firsts = new long[4];
  private int count;

  private static int atOrBefore(long[] sorted, int size, long value) {
    int found = Arrays.binarySearch(sorted, 0, size, value);
    return found >= 0 ? found : -found - 2;
  }

  /** Adds a range; no other has its first address. */
  void add(PageMap.Range range) {
    int at = Math.max(0, atOrBefore(firsts, count, range.start));
    if (count == 0) {
      insert(0, new Leaf(1), range.start);
    } else if (leaves[at].size == MOST) {
      if (at == count - 1 && range.start > leaves[at].starts[MOST - 1]) {
        insert(++at, new Leaf(MOST), range.start); // most come in order: leaves stay full
      } else {
        Leaf upper = leaves[at].split();
        insert(at + 1, upper, upper.starts[0]);
        at += range.start < upper.starts[0] ? 0 : 1;
      }
    }
    Leaf leaf = leaves[at];
    leaf.insert(leaf.atOrBefore(range.start) + 1, range);
    firsts[at] = leaf.starts[0];
  }

  private void insert(int at, Leaf leaf, long first) {
    if (count == leaves.length) {
      leaves = Arrays.copyOf(leaves, 2 * count);
      firsts = Arrays.copyOf(firsts, 2 * count);
    }
    System.arraycopy(leaves, at, leaves, at + 1, count - at);
    System.arraycopy(firsts, at, firsts, at + 1, count - at);
    leaves[at] = leaf;
    firsts[at] = first;
    count++;
  }

  /** Removes a range that was added. */
  void remove(PageMap.Range range) {
    int at = atOrBefore(firsts, count, range.start);
    Leaf leaf = leaves[at];
    leaf.remove(leaf.atOrBefore(range.start));
    if (leaf.size > 0) {
      firsts[at] = leaf.starts[0];
    } else {
      count--;
      System.arraycopy(leaves, at + 1, leaves, at, count - at);
      System.arraycopy(firsts, at + 1, firsts, at, count - at);
    }
  }

  /** The last range that begins at or before an address; null if none does. */
  PageMap.@Nullable Range atOrBefore(long address) {
    int at = atOrBefore(firsts, count, address);
    return at < 0 ? null : leaves[at].ranges[leaves[at].atOrBefore(address)];
  }

  /** The first range that begins after an address; null if none does. */
  PageMap.@Nullable Range after(long address) {
    int at = atOrBefore(firsts, count, address);
    int next = at < 0 ? 0 : leaves[at].atOrBefore(address) + 1;
    if (at < 0 || next == leaves[at].size) {
      at++;
      next = 0;
    }
    return at == count ? null : leaves[at].ranges[next];
  }
}
