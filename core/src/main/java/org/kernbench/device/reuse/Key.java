package org.kernbench.device.reuse;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What comes of a launch depends on this; {@link KeyWriter} says what it is. */
final class Key {
  private final List<Object> what;
  private final Optional<?> queues;
  private final long[] words;
  private final int hash;

  Key(List<Object> what, Optional<?> queues, long[] words) {
    this.what = what;
    this.queues = queues;
    this.words = words;
    this.hash = 31 * what.hashCode() + Arrays.hashCode(words);
  }

  /** Whether it is of launches with these queues. */
  boolean isOf(Object set) {
    return queues.isPresent() && queues.get().equals(set);
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
}
