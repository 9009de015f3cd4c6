package org.kernbench.torch.placement;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * What tensors take of the machine's HBM ({@code torch.cuda.memory_stats}).
 *
 * @param mostBytes the most that they have held at once in the slice of one PE
 * @param sliceBytes what a slice has
 * @param byTensor what they hold now in all slices, with all copies, by name in order
 */
public record MemoryUse(long mostBytes, long sliceBytes, Map<String, Long> byTensor) {
  /** Copies the map. */
  public MemoryUse {
    byTensor = Collections.unmodifiableMap(new TreeMap<>(byTensor));
  }
}
