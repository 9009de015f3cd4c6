package org.kernbench.tensor;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.ShortBuffer;

/**
 * Finds and replaces NaN among f16 codes. The search looks at two codes per int, because loops over
 * ints are vectorised and loops that widen shorts are not ({@link FloatBlocks}).
 */
final class HalfNan {
  private final ShortBuffer shorts;
  private final IntBuffer ints;
  private final int[] pairs;

  /** For blocks of up to {@code block} codes. */
  HalfNan(int block) {
    int size = (block + 1) / 2;
    ByteBuffer scratch = ByteBuffer.allocate(4 * size).order(ByteOrder.LITTLE_ENDIAN);
    this.shorts = scratch.asShortBuffer();
    this.ints = scratch.asIntBuffer();
    this.pairs = new int[size];
  }

  /** Makes every NaN among the first {@code n} codes the canonical one. */
  void canonicalize(short[] codes, int n) {
    shorts.put(0, codes, 0, n);
    ints.get(0, pairs, 0, (n + 1) / 2); // after an odd n: an old code, at worst a false alarm
    if (anyNan(pairs, (n + 1) / 2)) {
      replace(codes, n);
    }
  }

  /** As {@link #canonicalize}, without looking first whether there is one. */
  static void replace(short[] codes, int n) {
    for (int i = 0; i < n; i++) {
      codes[i] = (codes[i] & 0x7fff) > 0x7c00 ? (short) 0x7e00 : codes[i];
    }
  }

  private static boolean anyNan(int[] pairs, int n) {
    int any = 0;
    for (int i = 0; i < n; i++) {
      any |= (0x7c00 - (pairs[i] & 0x7fff)) | (0x7c000000 - (pairs[i] & 0x7fff0000));
    }
    return any < 0;
  }
}
