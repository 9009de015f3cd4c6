package org.kernbench.torch.placement;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.kernbench.machine.Pe;

/**
 * Hands out the HBM slice of each PE, aligned to 64 bytes. Slices that were never used cost
 * nothing.
 */
public final class HbmAllocator {
  static final long ALIGNMENT = 64;

  private final long sliceBytes;
  private final Map<Pe, RangeAllocator> slices = new HashMap<>();

  public HbmAllocator(long sliceBytes) {
    this.sliceBytes = sliceBytes;
  }

  /**
   * Offset of {@code bytes} free bytes in the slice of a PE; 0 if no bytes are asked for.
   *
   * @throws OutOfHbmException naming what fills the slice
   */
  public long allocate(Pe pe, long bytes, String owner) {
    if (bytes == 0) {
      return 0;
    }
    RangeAllocator slice =
        slices.computeIfAbsent(pe, p -> new RangeAllocator(0, sliceBytes, ALIGNMENT));
    return slice
        .allocate(bytes, owner)
        .orElseThrow(() ->
            new OutOfHbmException(
                """
                %s: out of HBM for tensor %s: requested %s, %s; close tensors that are done \
                with, divide this one over more PEs (DpPolicy), or give the machine more HBM\
                """
                    .formatted(pe, owner, Sizes.of(bytes), slice.describe())));
  }

  /** Gives back what {@link #allocate} returned; does nothing for an empty block. */
  public void free(Pe pe, long offset, long bytes) {
    if (bytes == 0) {
      return;
    }
    RangeAllocator slice = slices.get(pe);
    if (slice == null) {
      throw new IllegalStateException("nothing is allocated in the slice of " + pe);
    }
    slice.free(offset);
  }

  /** The most bytes that tensors have ever held in one slice. */
  public long mostUsed() {
    return slices.values().stream().mapToLong(RangeAllocator::mostUsed).max().orElse(0);
  }

  /** Bytes that tensors hold in all slices, by their names in order. */
  public Map<String, Long> byTensor() {
    Map<String, Long> all = new TreeMap<>();
    slices.values().forEach(slice -> slice.addTo(all));
    return all;
  }

  /** Bytes that no tensor holds in the slice of a PE. */
  long freeBytes(Pe pe) {
    RangeAllocator slice = slices.get(pe);
    return slice == null ? sliceBytes : slice.freeBytes();
  }
}
