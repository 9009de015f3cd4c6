package org.kernbench.device.check;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Who wrote each byte of the machine last, and who has read it since. Sparse: consecutive bytes
 * with one history are one cell, and memory that was never touched has none. Keys are physical
 * addresses, which are unique over all memories.
 */
final class ShadowMemory {
  /** From so many readers of a cell on, an older read of the same line by the same PE gives way. */
  private static final int MANY_READERS = 16;

  private final TreeMap<Long, Cell> cells = new TreeMap<>();

  private static final class Cell {
    final long end;
    @Nullable MemoryAccess write;
    List<MemoryAccess> reads = List.of();

    Cell(long end, @Nullable MemoryAccess write) {
      this.end = end;
      this.write = write;
    }

    void isReadBy(MemoryAccess access) {
      List<MemoryAccess> all = new ArrayList<>(reads.size() + 1);
      for (MemoryAccess old : reads) {
        boolean givesWay =
            old.moment == access.moment
                || (reads.size() >= MANY_READERS
                    && old.program() == access.program()
                    && old.line.equals(access.line));
        if (!givesWay) {
          all.add(old);
        }
      }
      all.add(access);
      reads = all;
    }
  }

  /** What an access meets. */
  interface Judge {
    /** An earlier access to the bytes {@code [from, to)}, of which at least one writes. */
    void meets(MemoryAccess earlier, long from, long to);

    /** Nobody has written the bytes {@code [from, to)} that are read. */
    void unwritten(long from, long to);
  }

  /** Notes a read of {@code [from, to)}. */
  void read(long from, long to, MemoryAccess access, Judge judge) {
    cutAt(from);
    cutAt(to);
    long at = from;
    List<Long> gaps = new ArrayList<>();
    for (Map.Entry<Long, Cell> e : range(from, to).entrySet()) {
      long start = e.getKey();
      Cell cell = e.getValue();
      if (at < start) {
        gaps.add(at);
        gaps.add(start);
      }
      at = cell.end;
      if (cell.write == null) {
        judge.unwritten(start, cell.end);
      } else {
        judge.meets(cell.write, start, cell.end);
      }
      cell.isReadBy(access);
    }
    if (at < to) {
      gaps.add(at);
      gaps.add(to);
    }
    for (int i = 0; i < gaps.size(); i += 2) {
      Cell cell = new Cell(gaps.get(i + 1), null);
      cell.isReadBy(access);
      cells.put(gaps.get(i), cell);
      judge.unwritten(gaps.get(i), gaps.get(i + 1));
    }
  }

  /** Notes a write of {@code [from, to)}. */
  void write(long from, long to, MemoryAccess access, Judge judge) {
    cutAt(from);
    cutAt(to);
    NavigableMap<Long, Cell> covered = range(from, to);
    covered.forEach((start, cell) -> {
      for (MemoryAccess read : cell.reads) {
        judge.meets(read, start, cell.end);
      }
      if (cell.write != null) {
        judge.meets(cell.write, start, cell.end);
      }
    });
    covered.clear();
    cells.put(from, new Cell(to, access));
  }

  /** The bytes {@code [from, to)} are given back: nobody has written them. */
  void forget(long from, long to) {
    cutAt(from);
    cutAt(to);
    range(from, to).clear();
  }

  private NavigableMap<Long, Cell> range(long from, long to) {
    return cells.subMap(from, true, to, false);
  }

  /** No cell reaches from below an address to above it. */
  private void cutAt(long address) {
    Map.Entry<Long, Cell> entry = cells.lowerEntry(address);
    if (entry == null || entry.getValue().end <= address) {
      return;
    }
    Cell whole = entry.getValue();
    Cell low = new Cell(address, whole.write);
    low.reads = whole.reads;
    Cell high = new Cell(whole.end, whole.write);
    high.reads = whole.reads;
    cells.put(entry.getKey(), low);
    cells.put(address, high);
  }
}
