package org.kernbench.tensor;

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
  private static final int WORDS = PAGE_BYTES / Long.SIZE;
  private static final long[] FULL = new long[0];

  private final long sizeBytes;
  private long[] pageNumbers = new long[8];
  private byte[] @Nullable [] pages = new byte[8][];
  private long[] @Nullable [] written = new long[8][];
  private int pageCount;

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
      int slot = find(at >>> PAGE_SHIFT);
      if (slot < 0) {
        Arrays.fill(dst, to, to + step, (byte) 0);
      } else {
        System.arraycopy(pages[slot], inPage, dst, to, step);
      }
      at += step;
      to += step;
      left -= step;
    }
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
      int slot = findOrAdd(at >>> PAGE_SHIFT);
      System.arraycopy(src, from, pages[slot], inPage, step);
      mark(slot, inPage, step);
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
      int slot = find(at >>> PAGE_SHIFT);
      if (slot < 0) {
        return at;
      }
      long[] bits = Objects.requireNonNull(written[slot]);
      if (bits != FULL) {
        for (int i = inPage; i < inPage + step; i++) {
          if ((bits[i >> 6] & 1L << i) == 0) {
            return at - inPage + i;
          }
        }
      }
      at += step;
    }
    return -1;
  }

  /** Bytes of memory held for contents and written marks; 0 before the first write. */
  public long residentBytes() {
    long marks = 0;
    for (long @Nullable [] bits : written) {
      marks += bits == null ? 0 : 8L * bits.length;
    }
    return (long) pageCount * PAGE_BYTES + marks;
  }

  private void check(long address, long n) {
    if (address < 0 || n < 0 || address > sizeBytes - n) {
      throw new IndexOutOfBoundsException(
          n + " bytes at address " + address + ": the memory has " + sizeBytes + " bytes");
    }
  }

  private int find(long page) {
    int mask = pages.length - 1;
    int slot = hash(page) & mask;
    while (pages[slot] != null) {
      if (pageNumbers[slot] == page) {
        return slot;
      }
      slot = (slot + 1) & mask;
    }
    return ~slot;
  }

  private int findOrAdd(long page) {
    int slot = find(page);
    if (slot >= 0) {
      return slot;
    }
    if (pageCount * 2 >= pages.length) {
      grow();
      slot = find(page);
    }
    slot = ~slot;
    pageNumbers[slot] = page;
    pages[slot] = new byte[PAGE_BYTES];
    written[slot] = new long[WORDS];
    pageCount++;
    return slot;
  }

  private void grow() {
    final long[] oldNumbers = pageNumbers;
    final byte[] @Nullable [] oldPages = pages;
    final long[] @Nullable [] oldWritten = written;
    int capacity = oldPages.length * 2;
    pageNumbers = new long[capacity];
    pages = new byte[capacity][];
    written = new long[capacity][];
    for (int i = 0; i < oldPages.length; i++) {
      if (oldPages[i] != null) {
        int slot = ~find(oldNumbers[i]);
        pageNumbers[slot] = oldNumbers[i];
        pages[slot] = oldPages[i];
        written[slot] = oldWritten[i];
      }
    }
  }

  private static int hash(long page) {
    return (int) ((page * 0x9e3779b97f4a7c15L) >>> 32);
  }

  private void mark(int slot, int from, int n) {
    long[] bits = Objects.requireNonNull(written[slot]);
    if (bits == FULL) {
      return;
    }
    if (n == PAGE_BYTES) {
      written[slot] = FULL;
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
    written[slot] = FULL;
  }
}
