package org.kernbench.torch;

import org.jspecify.annotations.Nullable;

/**
 * What one rank brings to a collective.
 *
 * @param in what it gives, if anything
 * @param out where its result goes, if it gets one; may be {@code in}
 * @param sends rows for each member, in an all-to-all; else empty
 * @param receives rows from each member, in an all-to-all; else empty
 * @param place line of the call
 */
record Contribution(
    @Nullable Tensor in, @Nullable Tensor out, long[] sends, long[] receives, String place) {
  static final long[] NONE = {};

  Tensor input() {
    return given(in);
  }

  Tensor output() {
    return given(out);
  }

  /** One of them, to see how they lie. */
  Tensor any() {
    return in != null ? in : output();
  }

  boolean isInPlace() {
    return in == out;
  }

  private static Tensor given(@Nullable Tensor tensor) {
    if (tensor == null) {
      throw new IllegalStateException("the rank brought no such tensor");
    }
    return tensor;
  }
}
