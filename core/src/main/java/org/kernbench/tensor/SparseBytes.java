package org.kernbench.tensor;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of one memory, byte-addressed from 0. Memory exists where it was written; elsewhere it
 * reads as zeros and {@link #isWritten} says so, to the byte.
 *
 * <p>Simulated memories are gigabytes of which programs touch little, and there may be thousands of
 * them: pages of 4 KiB in an open-addressing table that starts empty. A page keeps one bit per byte
 * until it is completely written, then none. One owner at a time; not thread-safe.
 */
public final class SparseBytes {
  private static final int PAGE_SHIFT = 12;
  private static final int PAGE_BYTES = 1 << PAGE_SHIFT;

  private final long sizeBytes;
  private @Nullable Page[] table = new Page[8];
  private int pageCount;

  /** Pages that are not in the table, but have contents nevertheless. */
  private final Loan.Pages lent = new Loan.Pages(PAGE_BYTES);

  /** The bytes that have been touched in one aligned 4 KiB. */
  private static final class Page {
    final long number;
    final byte[] bytes = new byte[PAGE_BYTES];

    /** One bit per byte written; null when all are. */
    long @Nullable [] marks = new long[PAGE_BYTES / Long.SIZE];

    Page(long number) {
      this.number = number;
    }

    void erase(int from, int n) {
      long[] bits = marks;
      if (bits == null) {
        bits = new long[PAGE_BYTES / Long.SIZE];
        Arrays.fill(bits, -1L);
        marks = bits;
      }
      Arrays.fill(bytes, from, from + n, (byte) 0);
      for (int i = from; i < from + n; i++) {
        bits[i >> 6] &= ~(1L << i);
      }
    }

    int firstUnwritten(int from, int n) {
      final long[] bits = marks;
      if (bits != null) {
        for (int i = from; i < from + n; i++) {
          if ((bits[i >> 6] & 1L << i) == 0) {
            return i;
          }
        }
      }
      return -1;
    }

    void mark(int from, int n) {
      final long[] bits = marks;
      if (bits == null) {
        return;
      }
      int last = from + n - 1;
      long head = -1L << from;
      long tail = -1L >>> (63 - (last & 63));
      int first = from >> 6;
      int end = last >> 6;
      if (first == end) {
        bits[first] |= head & tail;
      } else {
        bits[first] |= head;
        Arrays.fill(bits, first + 1, end, -1L);
        bits[end] |= tail;
      }
      for (long word : bits) {
        if (word != -1L) {
          return;
        }
      }
      marks = null;
    }
  }

  /**
   * An empty memory.
   *
   * @throws IllegalArgumentException if the size is negative
   */
  public SparseBytes(long sizeBytes) {
    if (sizeBytes < 0) {
      throw new IllegalArgumentException("memory of " + sizeBytes + " bytes; expected 0 or more");
    }
    this.sizeBytes = sizeBytes;
  }

  /** The extent in bytes: addresses are {@code 0..sizeBytes-1}. */
  public long sizeBytes() {
    return sizeBytes;
  }

  /**
   * Copies {@code n} bytes at {@code address} to {@code dst[off..]}; never-written bytes are 0.
   *
   * @throws IndexOutOfBoundsException if either range is out of bounds
   */
  public void read(long address, byte[] dst, int off, int n) {
    check(address, n);
    Objects.checkFromIndexSize(off, n, dst.length);
    long at = address;
    int to = off;
    int left = n;
    while (left > 0) {
      int inPage = (int) at & (PAGE_BYTES - 1);
      int step = Math.min(left, PAGE_BYTES - inPage);
      Page page = table[slot(at >>> PAGE_SHIFT)];
      if (page == null) {
        readAbsent(at >>> PAGE_SHIFT, inPage, dst, to, step);
      } else {
        System.arraycopy(page.bytes, inPage, dst, to, step);
      }
      at += step;
      to += step;
      left -= step;
    }
  }

  private void readAbsent(long number, int inPage, byte[] dst, int to, int n) {
    if (lent.has(number)) {
      lent.read(number, inPage, dst, to, n);
    } else {
      Arrays.fill(dst, to, to + n, (byte) 0);
    }
  }

  /**
   * What {@link #write} does with {@code n} bytes of a loan, but whole pages are not copied: they
   * are read from the loan until something is written to them.
   *
   * @throws IndexOutOfBoundsException if either range is out of bounds
   */
  public void lend(long address, Loan loan, long from, long n) {
    check(address, n);
    Objects.checkFromIndexSize(from, n, loan.bytes().byteSize());
    long first = (address + PAGE_BYTES - 1) >>> PAGE_SHIFT;
    long end = (address + n) >>> PAGE_SHIFT;
    if (first >= end) {
      copy(address, loan, from, n);
      return;
    }
    long start = first << PAGE_SHIFT;
    long stop = end << PAGE_SHIFT;
    copy(address, loan, from, start - address);
    erase(start, stop - start);
    lent.add(first, end, loan, from + start - address);
    copy(stop, loan, from + stop - address, address + n - stop);
  }

  private void copy(long address, Loan loan, long from, long n) {
    byte[] bytes = new byte[(int) n]; // less than two pages
    MemorySegment.copy(loan.bytes(), JAVA_BYTE, from, bytes, 0, bytes.length);
    write(address, bytes, 0, bytes.length);
  }

  /**
   * Copies {@code n} bytes from {@code src[off..]} to {@code address}.
   *
   * @throws IndexOutOfBoundsException if either range is out of bounds
   */
  public void write(long address, byte[] src, int off, int n) {
    check(address, n);
    Objects.checkFromIndexSize(off, n, src.length);
    long at = address;
    int from = off;
    int left = n;
    while (left > 0) {
      int inPage = (int) at & (PAGE_BYTES - 1);
      int step = Math.min(left, PAGE_BYTES - inPage);
      Page page = findOrAdd(at >>> PAGE_SHIFT);
      System.arraycopy(src, from, page.bytes, inPage, step);
      page.mark(inPage, step);
      at += step;
      from += step;
      left -= step;
    }
  }

  /**
   * Writes {@code pattern} over and over, from its first byte at {@code address}, for {@code n}
   * bytes in all (the last copy may be cut).
   *
   * @throws IllegalArgumentException if the pattern is empty
   * @throws IndexOutOfBoundsException if the range is out of bounds
   */
  public void fill(long address, long n, byte[] pattern) {
    check(address, n);
    if (pattern.length == 0) {
      throw new IllegalArgumentException("fill at " + address + ": empty pattern");
    }
    int copies = Math.max(1, PAGE_BYTES / pattern.length);
    byte[] chunk = new byte[copies * pattern.length];
    for (int i = 0; i < copies; i++) {
      System.arraycopy(pattern, 0, chunk, i * pattern.length, pattern.length);
    }
    long done = 0;
    while (done < n) {
      int step = (int) Math.min(chunk.length, n - done);
      write(address + done, chunk, 0, step);
      done += step;
    }
  }

  /**
   * Forgets what was written to the {@code n} bytes at {@code address}: they read as zeros and
   * count as never written. Pages that are forgotten completely give their memory back.
   *
   * @throws IndexOutOfBoundsException if the range is out of bounds
   */
  public void erase(long address, long n) {
    check(address, n);
    if (n == 0) {
      return;
    }
    long first = address >>> PAGE_SHIFT;
    long last = (address + n - 1) >>> PAGE_SHIFT;
    if (!lent.isEmpty()) {
      takeIfCut(first, address);
      takeIfCut(last, address + n);
      lent.remove(first, last + 1);
    }
    if (last - first < pageCount) {
      for (long number = first; number <= last; number++) {
        erase(number, address, n);
      }
    } else {
      for (long number : pagesWithin(first, last)) {
        erase(number, address, n);
      }
    }
  }

  /** Makes a lent page one of our own where an address cuts it, so that a part can be erased. */
  private void takeIfCut(long number, long address) {
    if ((address & (PAGE_BYTES - 1)) != 0 && lent.has(number)) {
      findOrAdd(number);
    }
  }

  private long[] pagesWithin(long first, long last) {
    return Arrays.stream(table)
        .filter(page -> page != null && page.number >= first && page.number <= last)
        .mapToLong(page -> page == null ? -1 : page.number)
        .toArray();
  }

  private void erase(long number, long address, long n) {
    int slot = slot(number);
    Page page = table[slot];
    if (page == null) {
      return;
    }
    long start = number << PAGE_SHIFT;
    int from = (int) Math.max(0, address - start);
    int to = (int) Math.min(PAGE_BYTES, address + n - start);
    if (to - from == PAGE_BYTES) {
      remove(slot);
    } else {
      page.erase(from, to - from);
    }
  }

  /**
   * Empties a place and closes the gap, so that every later page is still found from its own place.
   */
  private void remove(int slot) {
    final @Nullable Page[] places = table;
    int mask = places.length - 1;
    int gap = slot;
    int next = (gap + 1) & mask;
    for (Page page = places[next]; page != null; page = places[next]) {
      int home = hash(page.number) & mask;
      if (((next - home) & mask) >= ((next - gap) & mask)) {
        places[gap] = page;
        gap = next;
      }
      next = (next + 1) & mask;
    }
    places[gap] = null;
    pageCount--;
  }

  /** Whether every one of the {@code n} bytes at {@code address} has been written; yes if 0. */
  public boolean isWritten(long address, long n) {
    return firstUnwritten(address, n) < 0;
  }

  /** The address of the first never-written byte of the range, or -1 if there is none. */
  public long firstUnwritten(long address, long n) {
    check(address, n);
    long at = address;
    long end = address + n;
    while (at < end) {
      int inPage = (int) at & (PAGE_BYTES - 1);
      int step = (int) Math.min(end - at, PAGE_BYTES - inPage);
      Page page = table[slot(at >>> PAGE_SHIFT)];
      if (page == null && !lent.has(at >>> PAGE_SHIFT)) {
        return at;
      }
      int found = page == null ? -1 : page.firstUnwritten(inPage, step);
      if (found >= 0) {
        return at - inPage + found;
      }
      at += step;
    }
    return -1;
  }

  /**
   * Bytes of memory held for contents and written marks, lent pages included; 0 before the first
   * write.
   */
  public long residentBytes() {
    long marks = 0;
    for (Page page : table) {
      marks += page == null || page.marks == null ? 0 : PAGE_BYTES / Byte.SIZE;
    }
    return (pageCount + lent.count()) * PAGE_BYTES + marks;
  }

  private void check(long address, long n) {
    if (address < 0 || n < 0 || address > sizeBytes - n) {
      throw new IndexOutOfBoundsException(
          n + " bytes at address " + address + ": the memory has " + sizeBytes + " bytes");
    }
  }

  /** Where the page is in the table, or the free place where it belongs. */
  private int slot(long number) {
    final @Nullable Page[] places = table;
    int mask = places.length - 1;
    int slot = hash(number) & mask;
    for (Page page = places[slot]; page != null && page.number != number; page = places[slot]) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  private Page findOrAdd(long number) {
    Page page = table[slot(number)];
    if (page == null) {
      if (pageCount * 2 >= table.length) {
        grow();
      }
      page = new Page(number);
      if (lent.has(number)) {
        lent.read(number, 0, page.bytes, 0, PAGE_BYTES);
        page.marks = null;
      }
      table[slot(number)] = page;
      pageCount++;
    }
    return page;
  }

  private void grow() {
    final @Nullable Page[] old = table;
    table = new Page[old.length * 2];
    for (Page page : old) {
      if (page != null) {
        table[slot(page.number)] = page;
      }
    }
  }

  private static int hash(long page) {
    return (int) ((page * 0x9e3779b97f4a7c15L) >>> 32);
  }
}
