package org.kernbench.device.memory;

import java.util.BitSet;
import java.util.List;
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
  private State state;

  /** What was the state before another came to be: its arrays are the next copy's. */
  private @Nullable State spare;

  /** Remembers what is looked up; null if nobody wants to know. */
  private @Nullable Lookups noted;

  public Mmu(MmuSpec spec, int pe) {
    this.pe = pe;
    this.entries = spec.entries();
    this.missPs = spec.missPs();
    this.pageShift = Long.numberOfTrailingZeros(spec.pageBytes());
    this.state = new State(new Tlb(spec.entries()), pageShift);
  }

  /** What is translated at a time, and what has been looked up so far. */
  public static final class State {
    private final Tlb tlb;
    private final int pageShift;

    // what the newest entry of the TLB translates
    private long newestStart;
    private long newestEnd;

    private long lookups;
    private long misses;

    private State(Tlb tlb, int pageShift) {
      this.tlb = tlb;
      this.pageShift = pageShift;
    }

    /** As another is, which goes its own way. */
    private State becomesAs(State other) {
      tlb.becomesAs(other.tlb);
      newestStart = other.newestStart;
      newestEnd = other.newestEnd;
      lookups = other.lookups;
      misses = other.misses;
      return this;
    }

    private boolean isNewest(long from, long extent) {
      return from >= newestStart && from + extent <= newestEnd;
    }

    /** Looks up every page that an access touches, ascending; returns how many missed. */
    private int lookUp(long address, int rows, int rowBytes, long strideBytes, PageMap.Range r) {
      int missed = 0;
      long page = -1;
      boolean gaps = strideBytes > 1L << pageShift; // else every page between is touched
      int parts = gaps ? rows : 1;
      long partBytes = gaps ? rowBytes : (rows - 1) * strideBytes + rowBytes;
      for (int part = 0; part < parts; part++) {
        long from = address + part * strideBytes;
        long last = (from + partBytes - 1) >> pageShift;
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
      return tlb.use(start);
    }

    private void forget(PageMap.Range r) {
      for (long page = r.start >> pageShift; page <= (r.end - 1) >> pageShift; page++) {
        tlb.remove(Math.max(page << pageShift, r.start));
      }
      if (newestStart >= r.start && newestStart < r.end) {
        newestEnd = newestStart;
      }
    }

    /** How many entries were forgotten for others so far. */
    public long evictions() {
      return tlb.evictions();
    }
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
    int missed = 0;
    if (state.isNewest(from, region.extent())) {
      state.lookups++;
    } else {
      range.translatedAt(pe);
      missed = state.lookUp(from, region.rows(), region.rowBytes(), region.strideBytes(), range);
    }
    Lookups n = noted;
    if (n != null) {
      n.add(range, region, missed);
    }
    return missed * missPs;
  }

  // ---- used again ----

  /** Begins to note the accesses that are looked up. */
  public void noteIn(Lookups lookups) {
    lookups.begins(state.evictions());
    noted = lookups;
  }

  /** Ends that. */
  public void notesNoMore() {
    Lookups n = noted;
    if (n != null) {
      n.ends(state.evictions());
      noted = null;
    }
  }

  /**
   * Has some accesses that were noted looked up in a state that may come to be, at ranges that lie
   * likewise.
   *
   * @param from the first access
   * @param to behind the last
   * @param ranges by the number that {@link Lookups} has for each
   * @return whether they hit and miss as they did
   */
  public static boolean goesOn(
      State state, Lookups accesses, int from, int to, Lookups.Ranges ranges) {
    for (int i = from; i < to; i++) {
      Lookups.Anchor anchor = ranges.anchor(accesses.number(i));
      long at = anchor.address() + accesses.relative(i);
      int rows = accesses.rows(i);
      int rowBytes = accesses.rowBytes(i);
      long stride = accesses.strideBytes(i);
      int missed = 0;
      if (state.isNewest(at, (rows - 1) * stride + rowBytes)) {
        state.lookups++;
      } else {
        missed = state.lookUp(at, rows, rowBytes, stride, anchor.range());
      }
      if (missed != accesses.missed(i)) {
        return false;
      }
    }
    return true;
  }

  /** A copy of the state as it is. */
  public State state() {
    State copy = spare == null ? new State(new Tlb(entries), pageShift) : spare;
    spare = null;
    return copy.becomesAs(state);
  }

  /** It comes to be, all at once. */
  public void becomes(State other) {
    spare = state;
    state = other;
  }

  /** The MMUs of some PEs, by their indices, may come to hold translations of some ranges. */
  public static void mayHold(List<Lookups.Anchor> ranges, BitSet pes) {
    if (!ranges.isEmpty() && !pes.isEmpty()) {
      int firstWord = pes.nextSetBit(0) / Long.SIZE;
      long[] words = pes.get(firstWord * Long.SIZE, pes.length()).toLongArray();
      ranges.forEach(anchor -> anchor.range().translatedAt(firstWord, words));
    }
  }

  /** Forgets all translations of a range in a state that may come to be. */
  public static void forgetIn(PageMap.Range r, State state) {
    state.forget(r);
  }

  // ---- what the host does ----

  /** Takes the first translations of a range, as many as the TLB holds. */
  public void fill(PageMap.Range r) {
    long first = r.start >> pageShift;
    long last = Math.min((r.end - 1) >> pageShift, first + entries - 1);
    r.translatedAt(pe);
    for (long page = first; page <= last; page++) {
      state.use(page, r);
    }
  }

  /** Forgets all translations of a range. */
  public void forget(PageMap.Range r) {
    state.forget(r);
  }

  /** How many entries were forgotten for others so far. */
  public long evictions() {
    return state.evictions();
  }

  /** Pages looked up so far. */
  public long lookups() {
    return state.lookups;
  }

  /** Those of them that the TLB did not hold. */
  public long misses() {
    return state.misses;
  }
}
