package org.kernbench.torch.placement;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Hands out parts of one linear space: first fit, lowest first; freed neighbours merge, and what is
 * freed serves again.
 */
public final class RangeAllocator {
  private static final int OWNERS_TOLD = 4;

  private final long bytes;
  private final long alignment;

  /** Live blocks, and the gaps between them by first position. */
  private final LiveBlocks live = new LiveBlocks();

  private final TreeMap<Long, Long> gaps = new TreeMap<>();

  /**
   * An empty space.
   *
   * @param start first position; a multiple of the alignment
   * @param bytes how many there are
   * @param alignment of the first position of every block, a power of two; sizes are rounded up to
   *     a multiple
   */
  public RangeAllocator(long start, long bytes, long alignment) {
    this.bytes = bytes;
    this.alignment = alignment;
    gaps.put(start, bytes);
  }

  /** Positions in use, and the most that ever were. */
  private long used;

  private long mostUsed;

  /**
   * First position of a new block; empty if no gap is large enough.
   *
   * @param size at least 1
   */
  public OptionalLong allocate(long size, String owner) {
    long rounded = Math.ceilDiv(size, alignment) * alignment;
    for (Map.Entry<Long, Long> gap : gaps.entrySet()) {
      long at = gap.getKey();
      long room = gap.getValue();
      if (room >= rounded) {
        gaps.remove(at);
        if (room > rounded) {
          gaps.put(at + rounded, room - rounded);
        }
        live.add(at, rounded, owner);
        used += rounded;
        mostUsed = Math.max(mostUsed, used);
        return OptionalLong.of(at);
      }
    }
    return OptionalLong.empty();
  }

  /**
   * Takes back the block that begins at a position.
   *
   * @throws IllegalStateException if none does
   */
  public void free(long at) {
    long bytesThere = live.remove(at);
    if (bytesThere < 0) {
      throw new IllegalStateException("nothing is allocated at " + at);
    }
    used -= bytesThere;
    long start = at;
    long size = bytesThere;
    Map.@Nullable Entry<Long, Long> before = gaps.lowerEntry(at);
    if (before != null && before.getKey() + before.getValue() == at) {
      start = before.getKey();
      size += before.getValue();
    }
    Long after = gaps.remove(at + bytesThere);
    gaps.put(start, after == null ? size : size + after);
  }

  /** The most positions that blocks have held at once. */
  long mostUsed() {
    return mostUsed;
  }

  /** Adds what each owner holds, by position. */
  void addTo(Map<String, Long> byOwner) {
    live.inOrder((owner, size) -> byOwner.merge(owner, size, Long::sum));
  }

  /** How many positions no block holds. */
  long freeBytes() {
    return gaps.values().stream().mapToLong(Long::longValue).sum();
  }

  /**
   * What is free and what fills the rest, for example {@code free 1 GiB of 4 GiB; largest: kvCache
   * 2 GiB, weights 1 GiB}.
   */
  public String describe() {
    StringBuilder s = new StringBuilder();
    s.append("free ").append(Sizes.of(freeBytes())).append(" of ").append(Sizes.of(bytes));
    if (gaps.size() > 1) {
      long largest = gaps.values().stream().mapToLong(Long::longValue).max().orElse(0);
      s.append(" in ")
          .append(gaps.size())
          .append(" pieces, the largest ")
          .append(Sizes.of(largest));
    }
    Map<String, Long> byOwner = new LinkedHashMap<>();
    addTo(byOwner);
    List<Map.Entry<String, Long>> owners = new ArrayList<>(byOwner.entrySet());
    owners.sort(Map.Entry.<String, Long>comparingByValue().reversed());
    for (int i = 0; i < Math.min(OWNERS_TOLD, owners.size()); i++) {
      Map.Entry<String, Long> e = owners.get(i);
      s.append(i == 0 ? "; largest: " : ", ").append(e.getKey()).append(" ");
      s.append(Sizes.of(e.getValue()));
    }
    if (owners.size() > OWNERS_TOLD) {
      s.append(" and ").append(owners.size() - OWNERS_TOLD).append(" more");
    }
    return s.toString();
  }
}
