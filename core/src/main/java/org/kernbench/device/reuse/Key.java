package org.kernbench.device.reuse;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.memory.Lookups;
import org.kernbench.device.memory.PageMap;

/** What comes of a launch depends on this. */
final class Key {
  private final List<Object> what;
  private final Optional<?> queues;
  private final long[] words;
  private final int hash;

  private Key(List<Object> what, Optional<?> queues, long[] words) {
    this.what = what;
    this.queues = queues;
    this.words = words;
    this.hash = 31 * what.hashCode() + Arrays.hashCode(words);
  }

  /**
   * Of a launch that is about to start; null if that is not known.
   *
   * @param ranges of the stretch so far; those of the launch are added
   */
  static @Nullable Key of(MemoLaunch launch, PageMap map, Lookups.Ranges ranges) {
    Dependence program = launch.dependsOn().orElse(null);
    if (program == null) {
      return null;
    }
    Words words = new Words();
    words.add(launch.stream());
    for (MemoPe p : launch.pes()) {
      words.add(p.index());
      words.add(p.tcmCapacity());
      words.add(p.activeStreams() > 1 ? 1 : 0);
    }
    for (Dependence.Memory memory : program.memories()) {
      long address = memory.address();
      PageMap.Range r = map.find(address);
      if (r == null) {
        return null;
      }
      int number = ranges.number(r);
      if (number < 0) {
        number = ranges.add(new Lookups.Anchor(r, address));
        words.add(-1 - r.copies());
        for (int copy = 0; copy < r.copies(); copy++) {
          words.add(r.holders[copy]);
          words.add(r.node(copy));
        }
      }
      words.add(number);
      words.add(address - ranges.anchor(number).address());
      words.add(memory.bytes() <= r.end - address ? -1 : r.end - address);
    }
    return new Key(program.what(), launch.queues(), words.all());
  }

  @Override
  public boolean equals(@Nullable Object o) {
    return o instanceof Key k
        && hash == k.hash
        && Arrays.equals(words, k.words)
        && queues.equals(k.queues)
        && what.equals(k.what);
  }

  @Override
  public int hashCode() {
    return hash;
  }

  private static final class Words {
    private long[] words = new long[64];
    private int size;

    void add(long word) {
      if (size == words.length) {
        words = Arrays.copyOf(words, size * 2);
      }
      words[size++] = word;
    }

    long[] all() {
      return Arrays.copyOf(words, size);
    }
  }
}
