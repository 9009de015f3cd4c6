package org.kernbench.tensor;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Memory of somebody else, for example a file that is mapped, which a {@link SparseBytes} reads
 * instead of holding a copy, until other bytes are written over it. It must not change meanwhile.
 *
 * <p>Several memories may share one; when the last has let it go it is given back. Whoever makes it
 * holds it too, until {@link #release}. Not thread-safe.
 */
public final class Loan {
  private final MemorySegment bytes;
  private final Runnable back;
  private int holders = 1;

  /**
   * Lends.
   *
   * @param back is run once, when nobody reads the memory any more
   */
  public Loan(MemorySegment bytes, Runnable back) {
    this.bytes = bytes;
    this.back = back;
  }

  /** All of it. */
  public MemorySegment bytes() {
    return bytes;
  }

  void hold() {
    holders++;
  }

  /** One holder less. */
  public void release() {
    if (--holders == 0) {
      back.run();
    }
  }

  /** Which pages of a memory are read from a {@link Loan}: few long runs, in ascending order. */
  static final class Pages {
    private final int pageBytes;
    private final List<Run> runs = new ArrayList<>();

    /** Pages {@code first..end-1}, whose bytes begin in the loan at a position. */
    private record Run(long first, long end, Loan loan, long at) {}

    Pages(int pageBytes) {
      this.pageBytes = pageBytes;
    }

    boolean isEmpty() {
      return runs.isEmpty();
    }

    /** How many pages. */
    long count() {
      return runs.stream().mapToLong(run -> run.end - run.first).sum();
    }

    boolean has(long page) {
      return find(page) >= 0;
    }

    /** The run that has a page; negative if none has. */
    private int find(long page) {
      int low = 0;
      int high = runs.size() - 1;
      while (low <= high) {
        int middle = (low + high) >>> 1;
        Run run = runs.get(middle);
        if (page < run.first) {
          high = middle - 1;
        } else if (page >= run.end) {
          low = middle + 1;
        } else {
          return middle;
        }
      }
      return -1;
    }

    /** Copies bytes of a page that is lent. */
    void read(long page, int inPage, byte[] to, int offset, int n) {
      Run run = runs.get(find(page));
      long from = run.at + (page - run.first) * pageBytes + inPage;
      MemorySegment.copy(run.loan.bytes(), JAVA_BYTE, from, to, offset, n);
    }

    /** Pages that were not lent, or are no longer. */
    void add(long first, long end, Loan loan, long at) {
      int place = 0;
      while (place < runs.size() && runs.get(place).first < first) {
        place++;
      }
      loan.hold();
      runs.add(place, new Run(first, end, loan, at));
    }

    /** Gives pages back; those of the range that are not lent do not matter. */
    void remove(long first, long end) {
      for (int i = runs.size() - 1; i >= 0; i--) {
        Run run = runs.get(i);
        if (run.first < end && run.end > first) {
          runs.remove(i);
          if (run.end > end) {
            add(end, run.end, run.loan, run.at + (end - run.first) * pageBytes);
          }
          if (run.first < first) {
            add(run.first, first, run.loan, run.at);
          }
          run.loan.release();
        }
      }
    }
  }
}
