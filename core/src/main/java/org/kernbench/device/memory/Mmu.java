package org.kernbench.device.memory;

import org.jspecify.annotations.Nullable;
import org.kernbench.machine.spec.MmuSpec;

/**
 * The memory management unit of one PE: what it takes to translate the virtual addresses of loads
 * and stores. (What they translate to is the business of {@link PageMap}.)
 *
 * <p>The TLB is looked up when the CPU issues a command, in the order of issue, once for every page
 * that the command touches; so hits and misses do not depend on how fast memories answer. Each miss
 * delays the DMA of its command by {@code pe.mmu.miss}; commands in different DMA queues walk side
 * by side.
 *
 * <p>Most accesses follow another one to the same page, so what the newest entry translates is
 * kept, and an access within it costs two comparisons.
 */
public final class Mmu {
  private final int pe;
  private final int entries;
  private final long missPs;
  private final int pageShift;
  private final Tlb tlb;

  // what the newest entry of the TLB translates
  private long newestStart;
  private long newestEnd;

  private long lookups;
  private long misses;

  public Mmu(MmuSpec spec, int pe) {
    this.pe = pe;
    this.entries = spec.entries();
    this.missPs = spec.missPs();
    this.pageShift = Long.numberOfTrailingZeros(spec.pageBytes());
    this.tlb = new Tlb(spec.entries());
  }

  /**
   * What the translation of an access takes; to be asked once, when it is issued.
   *
   * @param range that the region lies in; null if it is physical or has no bytes
   */
  public long translatePs(Region region, PageMap.@Nullable Range range) {
    if (range == null) {
      return 0;
    }
    long from = region.address().value();
    if (from >= newestStart && from + region.extent() <= newestEnd) {
      lookups++;
      return 0;
    }
    return lookUp(region, range) * missPs;
  }

  /** Looks up every page that a region touches, ascending; returns how many missed. */
  private int lookUp(Region region, PageMap.Range r) {
    int missed = 0;
    long page = -1;
    boolean gaps = region.strideBytes() > 1L << pageShift; // else every page between is touched
    int rows = gaps ? region.rows() : 1;
    long rowBytes = gaps ? region.rowBytes() : region.extent();
    for (int row = 0; row < rows; row++) {
      long from = region.address().value() + row * region.strideBytes();
      long last = (from + rowBytes - 1) >> pageShift;
      for (long p = Math.max(page + 1, from >> pageShift); p <= last; p++) {
        lookups++;
        if (!use(p, r)) {
          missed++;
        }
        page = p;
      }
    }
    misses += missed;
    return missed;
  }

  private boolean use(long page, PageMap.Range r) {
    long start = Math.max(page << pageShift, r.start);
    newestStart = start;
    newestEnd = Math.min((page + 1) << pageShift, r.end);
    r.translatedAt(pe);
    return tlb.use(start);
  }

  // ---- what the host does ----

  /** Takes the first translations of a range, as many as the TLB holds. */
  public void fill(PageMap.Range r) {
    long first = r.start >> pageShift;
    long last = Math.min((r.end - 1) >> pageShift, first + entries - 1);
    for (long page = first; page <= last; page++) {
      use(page, r);
    }
  }

  /** Forgets all translations of a range. */
  public void forget(PageMap.Range r) {
    for (long page = r.start >> pageShift; page <= (r.end - 1) >> pageShift; page++) {
      tlb.remove(Math.max(page << pageShift, r.start));
    }
    if (newestStart >= r.start && newestStart < r.end) {
      newestEnd = newestStart;
    }
  }

  /** Pages looked up so far. */
  public long lookups() {
    return lookups;
  }

  /** Those of them that the TLB did not hold. */
  public long misses() {
    return misses;
  }
}
