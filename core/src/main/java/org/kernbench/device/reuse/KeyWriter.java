package org.kernbench.device.reuse;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.memory.Lookups;
import org.kernbench.device.memory.PageMap;

/** Says what comes of a launch depends on. */
final class KeyWriter {
  private long[] words = new long[64];
  private int size;

  private KeyWriter() {}

  /**
   * Of a launch that is about to start; null if that is not known.
   *
   * @param ranges of the stretch so far; those of the launch are added
   */
  static @Nullable Key keyOf(MemoLaunch launch, PageMap map, Lookups.Ranges ranges) {
    Dependence program = launch.dependsOn().orElse(null);
    if (program == null) {
      return null;
    }
    KeyWriter words = new KeyWriter();
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

  private void add(long word) {
    if (size == words.length) {
      words = Arrays.copyOf(words, size * 2);
    }
    words[size++] = word;
  }

  private long[] all() {
    return Arrays.copyOf(words, size);
  }
}
