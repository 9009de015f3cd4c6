package org.kernbench.torch.collective;

/**
 * Consecutive elements of the whole vector of a collective; there may be none.
 *
 * @param start first element
 * @param count how many
 */
public record Part(long start, long count) {
  /** Checks the range. */
  public Part {
    if (start < 0 || count < 0) {
      throw new IllegalArgumentException("part of " + count + " elements from " + start + " on");
    }
  }

  /** One past the last element. */
  public long end() {
    return start + count;
  }
}
