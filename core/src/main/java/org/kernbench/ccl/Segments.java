package org.kernbench.ccl;

/**
 * A vector cut into parts of almost equal size: the first {@code total mod parts} have one element
 * more. Parts may be empty; nothing is sent for those.
 *
 * @param start first element of the whole
 * @param total elements of the whole, at least 0
 * @param parts at least 1
 */
public record Segments(int start, int total, int parts) {
  /** Checks the ranges. */
  public Segments {
    if (start < 0 || total < 0 || parts < 1) {
      throw new IllegalArgumentException(
          "segments of " + total + " elements from " + start + " on in " + parts + " parts");
    }
  }

  /** Parts of at most {@code most} elements each, as few as possible. */
  public static Segments ofAtMost(int start, int total, int most) {
    return new Segments(start, total, Math.max(1, Math.ceilDiv(total, most)));
  }

  /** First element of a part. */
  public int start(int part) {
    return start + part * (total / parts) + Math.min(part, total % parts);
  }

  /** Elements of a part. */
  public int count(int part) {
    return total / parts + (part < total % parts ? 1 : 0);
  }

  /** A part, itself cut into parts. */
  public Segments of(int part, int pieces) {
    return new Segments(start(part), count(part), pieces);
  }
}
