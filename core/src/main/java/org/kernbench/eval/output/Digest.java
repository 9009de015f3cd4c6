package org.kernbench.eval.output;

import java.util.Locale;

/** A 64-bit hash of values or of other hashes, in the order in which they are added. */
public final class Digest {
  private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;

  private long hash = 0x76616C756573L;
  private long count;

  void add(long value) {
    long h = (hash ^ value) * MULTIPLIER;
    hash = h ^ (h >>> 29);
    count++;
  }

  public void add(double[] values) {
    for (double v : values) {
      add(Double.doubleToRawLongBits(v));
    }
  }

  public void add(String text) {
    for (int i = 0; i < text.length(); i++) {
      add(text.charAt(i));
    }
    add(-1L - text.length());
  }

  /** 16 hexadecimal digits. */
  public String text() {
    long h = (hash ^ count) * MULTIPLIER;
    return String.format(Locale.ROOT, "%016x", h ^ (h >>> 29));
  }
}
