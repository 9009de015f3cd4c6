package org.kernbench.device.log;

import org.kernbench.tensor.DType;

/**
 * Random numbers by counter: Philox 4x32 in ten rounds (Salmon, Moraes, Dror and Shaw 2011). A
 * number depends on key and counter alone, so that it does not matter who draws it, when, or beside
 * which others.
 *
 * <p>A counter gives four words of 32 bits. Number {@code o} of a key is word {@code o mod 4} of
 * counter {@code o / 4}, {@code o} without sign, as in cuRAND; so four lanes side by side share the
 * ten rounds.
 */
final class Philox {
  private static final int ROUNDS = 10;
  private static final long FIRST = 0xD2511F53L;
  private static final long SECOND = 0xCD9E8D57L;
  private static final int FIRST_WEYL = 0x9E3779B9;
  private static final int SECOND_WEYL = 0xBB67AE85;
  private static final long WORD = 0xFFFFFFFFL;

  private Philox() {}

  /** The four words of a counter. */
  static void words(int[] counter, long key, int[] out) {
    int a = counter[0];
    int b = counter[1];
    int c = counter[2];
    int d = counter[3];
    int low = (int) key;
    int high = (int) (key >>> 32);
    for (int round = 0; round < ROUNDS; round++) {
      long first = FIRST * (a & WORD);
      long second = SECOND * (c & WORD);
      a = (int) (second >>> 32) ^ b ^ low;
      b = (int) second;
      c = (int) (first >>> 32) ^ d ^ high;
      d = (int) first;
      low += FIRST_WEYL;
      high += SECOND_WEYL;
    }
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
  }

  /**
   * Uniform numbers in [0, 1): the upper 24 bits of each word, as f32.
   *
   * @param key one i64
   * @param type of the offsets, i32 or i64
   */
  static void uniform(
      byte[] key, int keyAt, DType type, byte[] offsets, int at, byte[] out, int to, int n) {
    long of = DType.I64.getLong(key, keyAt);
    int[] counter = new int[4];
    int[] words = new int[4];
    long made = -1; // no counter: they have 62 bits
    for (int i = 0; i < n; i++) {
      long offset = type.getLong(offsets, at + i * type.sizeBytes());
      long number = type == DType.I32 ? offset & WORD : offset;
      if (number >>> 2 != made) {
        made = number >>> 2;
        counter[0] = (int) made;
        counter[1] = (int) (made >>> 32);
        words(counter, of, words);
      }
      int word = words[(int) (number & 3)];
      DType.F32.putDouble(out, to + i * Float.BYTES, (word >>> 8) * 0x1p-24);
    }
  }
}
