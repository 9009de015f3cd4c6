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
  private static final int STRIDE = 3; // number and misses, rows and bytes of one, stride

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

  /** Of each access, the number of its form, and how far it lies from the anchor of its range. */
  private int[] formOf = new int[16];

  private long[] relative = new long[16];
  private int size;

  /** What accesses have in common: each different form once. */
  private long[] forms = new long[4 * STRIDE];

  private int formCount;
  private boolean others;
  private long evictions;
  private final Runnable hears;

  /**
   * Nothing noted yet.
   *
   * @param ranges that may be looked up; more may be added before they are
   * @param hears is told of each access
   */
  public Lookups(Ranges ranges, Runnable hears) {
    this.ranges = ranges;
    this.hears = hears;
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
      hears.run();
      return;
    }
    if (size == formOf.length) {
      formOf = Arrays.copyOf(formOf, size * 2);
      relative = Arrays.copyOf(relative, size * 2);
    }
    relative[size] = region.address().value() - r.anchor(number).address;
    formOf[size++] =
        form(
            (long) number << 32 | missed,
            (long) region.rows() << 32 | region.rowBytes(),
            region.strideBytes());
    hears.run();
  }

  /** The number of a form; those that were met last are looked at first. */
  private int form(long what, long rows, long stride) {
    for (int form = formCount - 1; form >= 0; form--) {
      int at = form * STRIDE;
      if (forms[at] == what && forms[at + 1] == rows && forms[at + 2] == stride) {
        return form;
      }
    }
    if (formCount * STRIDE == forms.length) {
      forms = Arrays.copyOf(forms, forms.length * 2);
    }
    int at = formCount * STRIDE;
    forms[at] = what;
    forms[at + 1] = rows;
    forms[at + 2] = stride;
    return formCount++;
  }

  /** Nothing more is to come. */
  public void close() {
    ranges = null;
    formOf = Arrays.copyOf(formOf, size);
    relative = Arrays.copyOf(relative, size);
    forms = Arrays.copyOf(forms, formCount * STRIDE);
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
    return (int) (forms[formOf[i] * STRIDE] >> 32);
  }

  int missed(int i) {
    return (int) forms[formOf[i] * STRIDE];
  }

  long relative(int i) {
    return relative[i];
  }

  int rows(int i) {
    return (int) (forms[formOf[i] * STRIDE + 1] >> 32);
  }

  int rowBytes(int i) {
    return (int) forms[formOf[i] * STRIDE + 1];
  }

  long strideBytes(int i) {
    return forms[formOf[i] * STRIDE + 2];
  }
}
