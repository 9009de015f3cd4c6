package org.kernbench.device.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The accesses of one PE that were looked up in its TLB during a stretch of launches, in their
 * order: where, as seen from an address in their range, and how many pages the TLB did not hold.
 */
public final class Lookups {
  private static final int STRIDE = 4; // number and misses, where, rows and bytes of one, stride

  /**
   * A range that may be looked up, and an address in it from which places are counted: what lies at
   * the same distance from it is the same in a launch that does the same elsewhere.
   */
  public record Anchor(PageMap.Range range, long address) {}

  /** Ranges by number, in the order in which they were added. */
  public static final class Ranges {
    private final Map<PageMap.Range, Integer> numbers = new IdentityHashMap<>();
    private final List<Anchor> anchors = new ArrayList<>();

    /** Number of a range; -1 if it has none. */
    public int number(PageMap.Range range) {
      return numbers.getOrDefault(range, -1);
    }

    /** Gives a range the next number. */
    public int add(Anchor anchor) {
      numbers.put(anchor.range, anchors.size());
      anchors.add(anchor);
      return anchors.size() - 1;
    }

    public Anchor anchor(int number) {
      return anchors.get(number);
    }

    /** How many there are. */
    public int size() {
      return anchors.size();
    }

    /** All of them, by number. */
    public List<Anchor> anchors() {
      return Collections.unmodifiableList(anchors);
    }

    /** Those added later are forgotten. */
    public void truncate(int size) {
      while (anchors.size() > size) {
        numbers.remove(anchors.removeLast().range);
      }
    }
  }

  private @Nullable Ranges ranges;
  private long[] entries = new long[16 * STRIDE];
  private int size;
  private boolean others;
  private long evictions;

  /**
   * Nothing noted yet.
   *
   * @param ranges that may be looked up; more may be added before they are
   */
  public Lookups(Ranges ranges) {
    this.ranges = ranges;
  }

  void begins(long evictionsSoFar) {
    evictions -= evictionsSoFar;
  }

  void ends(long evictionsSoFar) {
    evictions += evictionsSoFar;
  }

  void add(PageMap.Range range, Region region, int missed) {
    Ranges r = ranges;
    int number = r == null ? -1 : r.number(range);
    if (r == null || number < 0) {
      others = true;
      return;
    }
    if (size * STRIDE == entries.length) {
      entries = Arrays.copyOf(entries, entries.length * 2);
    }
    int at = size++ * STRIDE;
    entries[at] = (long) number << 32 | missed;
    entries[at + 1] = region.address().value() - r.anchor(number).address;
    entries[at + 2] = (long) region.rows() << 32 | region.rowBytes();
    entries[at + 3] = region.strideBytes();
  }

  /** Nothing more is to come. */
  public void close() {
    ranges = null;
    entries = Arrays.copyOf(entries, size * STRIDE);
  }

  /** Whether a range was looked up that is not on the list. */
  public boolean hasOthers() {
    return others;
  }

  /** Whether entries were forgotten for others meanwhile. */
  public boolean evicted() {
    return evictions > 0;
  }

  /** How many so far. */
  public int size() {
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
