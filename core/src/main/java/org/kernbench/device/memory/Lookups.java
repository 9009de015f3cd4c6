package org.kernbench.device.memory;

import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * The accesses of one PE that were looked up in its TLB during a launch, in their order: where, as
 * seen from an address in their range, and how many pages the TLB did not hold.
 */
public final class Lookups {
  private static final int STRIDE = 4; // number and misses, where, rows and bytes of one, stride

  /**
   * A range that may be looked up, and an address in it from which places are counted: what lies at
   * the same distance from it is the same in a launch that does the same elsewhere.
   */
  public record Anchor(PageMap.Range range, long address) {}

  private final Map<PageMap.Range, Integer> numbers = new IdentityHashMap<>();
  private final List<Anchor> anchors;
  private long[] entries = new long[16 * STRIDE];
  private int size;
  private boolean others;
  private long evictions;

  /**
   * Nothing noted yet.
   *
   * @param anchors of the ranges that may be looked up, by number
   */
  public Lookups(List<Anchor> anchors) {
    this.anchors = anchors;
    for (int i = 0; i < anchors.size(); i++) {
      numbers.put(anchors.get(i).range, i);
    }
  }

  void begins(long evictionsSoFar) {
    evictions = -evictionsSoFar;
  }

  void ends(long evictionsSoFar) {
    evictions += evictionsSoFar;
    numbers.clear();
  }

  void add(PageMap.Range range, Region region, int missed) {
    Integer number = numbers.get(range);
    if (number == null) {
      others = true;
      return;
    }
    if (size * STRIDE == entries.length) {
      entries = Arrays.copyOf(entries, entries.length * 2);
    }
    int at = size++ * STRIDE;
    entries[at] = (long) number << 32 | missed;
    entries[at + 1] = region.address().value() - anchors.get(number).address;
    entries[at + 2] = (long) region.rows() << 32 | region.rowBytes();
    entries[at + 3] = region.strideBytes();
  }

  /** Whether a range was looked up that is not on the list. */
  public boolean hasOthers() {
    return others;
  }

  /** Whether entries were forgotten for others meanwhile. */
  public boolean evicted() {
    return evictions > 0;
  }

  int size() {
    return size;
  }

  int number(int i) {
    return (int) (entries[i * STRIDE] >> 32);
  }

  int missed(int i) {
    return (int) entries[i * STRIDE];
  }

  long relative(int i) {
    return entries[i * STRIDE + 1];
  }

  int rows(int i) {
    return (int) (entries[i * STRIDE + 2] >> 32);
  }

  int rowBytes(int i) {
    return (int) entries[i * STRIDE + 2];
  }

  long strideBytes(int i) {
    return entries[i * STRIDE + 3];
  }
}
