package org.kernbench.torch;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Pe;

/**
 * Hands out the HBM slice of each PE: first fit, lowest offset first, aligned to 64 bytes; freed
 * neighbours merge. Slices that were never used cost nothing.
 */
final class HbmAllocator {
  static final long ALIGNMENT = 64;
  private static final int OWNERS_TOLD = 4;

  private final long sliceBytes;
  private final Map<Pe, Slice> slices = new HashMap<>();

  HbmAllocator(long sliceBytes) {
    this.sliceBytes = sliceBytes;
  }

  private record Block(long bytes, String owner) {}

  /** One HBM slice: live blocks and the gaps between them, by offset. */
  private static final class Slice {
    final TreeMap<Long, Block> live = new TreeMap<>();
    final TreeMap<Long, Long> gaps = new TreeMap<>();

    Slice(long bytes) {
      gaps.put(0L, bytes);
    }

    long freeBytes() {
      return gaps.values().stream().mapToLong(Long::longValue).sum();
    }

    long largestGap() {
      return gaps.values().stream().mapToLong(Long::longValue).max().orElse(0);
    }
  }

  /**
   * Offset of {@code bytes} free bytes in the slice of a PE; 0 if no bytes are asked for.
   *
   * @throws OutOfHbmException naming what fills the slice
   */
  long allocate(Pe pe, long bytes, String owner) {
    if (bytes == 0) {
      return 0;
    }
    long size = Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT;
    Slice slice = slices.computeIfAbsent(pe, p -> new Slice(sliceBytes));
    for (Map.Entry<Long, Long> gap : slice.gaps.entrySet()) {
      long offset = gap.getKey();
      long room = gap.getValue();
      if (room >= size) {
        slice.gaps.remove(offset);
        if (room > size) {
          slice.gaps.put(offset + size, room - size);
        }
        slice.live.put(offset, new Block(size, owner));
        return offset;
      }
    }
    throw new OutOfHbmException(report(pe, slice, bytes, owner));
  }

  /** Gives back what {@link #allocate} returned; does nothing for an empty block. */
  void free(Pe pe, long offset, long bytes) {
    if (bytes == 0) {
      return;
    }
    Slice slice = slices.get(pe);
    Block block = slice == null ? null : slice.live.remove(offset);
    if (slice == null || block == null) {
      throw new IllegalStateException("nothing is allocated at offset " + offset + " of " + pe);
    }
    long start = offset;
    long size = block.bytes;
    Map.@Nullable Entry<Long, Long> before = slice.gaps.floorEntry(offset);
    if (before != null && before.getKey() + before.getValue() == offset) {
      start = before.getKey();
      size += before.getValue();
    }
    Long after = slice.gaps.remove(offset + block.bytes);
    slice.gaps.put(start, after == null ? size : size + after);
  }

  /** Bytes that no tensor holds in the slice of a PE. */
  long freeBytes(Pe pe) {
    Slice slice = slices.get(pe);
    return slice == null ? sliceBytes : slice.freeBytes();
  }

  private String report(Pe pe, Slice slice, long bytes, String owner) {
    Map<String, Long> byOwner = new LinkedHashMap<>();
    for (Block b : slice.live.values()) {
      byOwner.merge(b.owner, b.bytes, Long::sum);
    }
    List<Map.Entry<String, Long>> owners = new ArrayList<>(byOwner.entrySet());
    owners.sort(Map.Entry.<String, Long>comparingByValue().reversed());
    StringBuilder s = new StringBuilder();
    s.append(pe)
        .append(": out of HBM for tensor ")
        .append(owner)
        .append(": requested ")
        .append(size(bytes))
        .append(", free ")
        .append(size(slice.freeBytes()))
        .append(" of ")
        .append(size(sliceBytes));
    if (slice.gaps.size() > 1) {
      s.append(" in ")
          .append(slice.gaps.size())
          .append(" pieces, the largest ")
          .append(size(slice.largestGap()));
    }
    if (!owners.isEmpty()) {
      s.append("; largest: ");
      for (int i = 0; i < Math.min(OWNERS_TOLD, owners.size()); i++) {
        Map.Entry<String, Long> e = owners.get(i);
        s.append(i == 0 ? "" : ", ").append(e.getKey()).append(" ").append(size(e.getValue()));
      }
      if (owners.size() > OWNERS_TOLD) {
        s.append(" and ").append(owners.size() - OWNERS_TOLD).append(" more");
      }
    }
    return s.append("; close tensors that are done with, divide this one over more PEs (DpPolicy),")
        .append(" or give the machine more HBM")
        .toString();
  }

  /** A size as a person writes it: {@code 2 GiB}, {@code 1.5 MiB}, {@code 100 B}. */
  static String size(long bytes) {
    String[] units = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    double value = bytes;
    while (value >= 1024 && unit < units.length - 1) {
      value /= 1024;
      unit++;
    }
    String number = String.format(Locale.ROOT, "%.2f", value).replaceAll("\\.?0+$", "");
    return number + " " + units[unit];
  }
}
