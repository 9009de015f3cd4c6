package org.kernbench.device.log;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.kernbench.tensor.DType;

/** The generator against the known answers of Random123 (kat_vectors, philox4x32 10). */
class PhiloxTest {
  private static int[] words(int a, int b, int c, int d, long key) {
    int[] out = new int[4];
    Philox.words(new int[] {a, b, c, d}, key, out);
    return out;
  }

  @Test
  void words_areTheKnownAnswers() {
    assertThat(words(0, 0, 0, 0, 0))
        .containsExactly(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
    assertThat(words(-1, -1, -1, -1, -1L))
        .containsExactly(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
    assertThat(words(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0x299f31d0_a4093822L))
        .containsExactly(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1);
  }

  private static float[] uniform(long key, DType type, long... offsets) {
    byte[] ofKey = new byte[8];
    DType.I64.putLong(ofKey, 0, key);
    byte[] in = new byte[offsets.length * type.sizeBytes()];
    for (int i = 0; i < offsets.length; i++) {
      type.putLong(in, i * type.sizeBytes(), offsets[i]);
    }
    byte[] out = new byte[4 * offsets.length];
    Philox.uniform(ofKey, 0, type, in, 0, out, 0, offsets.length);
    float[] numbers = new float[offsets.length];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = (float) DType.F32.getDouble(out, 4 * i);
    }
    return numbers;
  }

  /** The upper 24 bits of the word, over 2^24; four offsets to a counter. */
  @Test
  void uniform_takesTheWordsOfACounterInTurn() {
    assertThat(uniform(0, DType.I32, 0, 1, 2, 3))
        .containsExactly(
            0x6627e8 / 0x1p24f, 0xe169c5 / 0x1p24f, 0xbc57ac / 0x1p24f, 0x9b00db / 0x1p24f);
    int[] next = words(1, 0, 0, 0, 5);
    assertThat(uniform(5, DType.I64, 7, 4))
        .containsExactly((next[3] >>> 8) / 0x1p24f, (next[0] >>> 8) / 0x1p24f);
  }

  /** Counters above 32 bits, offsets without sign. */
  @Test
  void uniform_largeOffsets_haveNumbersOfTheirOwn() {
    int[] far = words(1, 3, 0, 0, 9);
    assertThat(uniform(9, DType.I64, (3L << 34) + 4 + 2)).containsExactly((far[2] >>> 8) / 0x1p24f);
    int[] last = words(0x3FFFFFFF, 0, 0, 0, 9);
    assertThat(uniform(9, DType.I32, -1)).containsExactly((last[3] >>> 8) / 0x1p24f);
    int[] highest = words(-1, 0x3FFFFFFF, 0, 0, 9);
    assertThat(uniform(9, DType.I64, -1)).containsExactly((highest[3] >>> 8) / 0x1p24f);
  }
}
