package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Conversions by vectors and by loops, each against the scalar rules of {@link DType}. */
final class FloatBlocksTest {
  private static final int PAD = 3;

  @ParameterizedTest
  @EnumSource(names = {"F16", "BF16", "F8E4M3", "F8E5M2"})
  void load_everyCode_isItsValue(DType t) {
    int size = t.sizeBytes();
    int codes = 1 << 8 * size;
    byte[] bytes = new byte[PAD + codes * size];
    for (int code = 0; code < codes; code++) {
      bytes[PAD + code * size] = (byte) code;
      if (size == 2) {
        bytes[PAD + code * size + 1] = (byte) (code >> 8);
      }
    }
    float[] block = new float[FloatBlocks.BLOCK];
    for (boolean byVectors : new boolean[] {false, true}) {
      FloatBlocks blocks = new FloatBlocks(t, bytes, PAD, codes, byVectors);
      for (int start = 0; start < codes; start += block.length) {
        int n = Math.min(block.length, codes - start);
        blocks.load(start, block, n);
        for (int i = 0; i < n; i++) {
          float value = (float) t.getDouble(bytes, PAD + (start + i) * size);
          assertThat(Float.floatToIntBits(block[i]))
              .as("%s code %x, vectors %s", t, start + i, byVectors)
              .isEqualTo(Float.floatToIntBits(value));
        }
      }
    }
  }

  /** Every sign, exponent and the upper bits of the mantissa, with lower bits around each tie. */
  @ParameterizedTest
  @EnumSource(names = {"F32", "F16", "BF16", "F8E4M3", "F8E5M2"})
  void store_everyKindOfFloat_isRoundedOnce(DType t) {
    int[] low = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x1000, 0xfff, 0x1001, 0x3000};
    float[] values = new float[FloatBlocks.BLOCK];
    int size = t.sizeBytes();
    byte[] stored = new byte[PAD + values.length * size];
    byte[] expected = new byte[stored.length];
    for (int rest : low) {
      for (int upper = 0; upper < 1 << 16; upper += values.length) {
        for (int i = 0; i < values.length; i++) {
          values[i] = Float.intBitsToFloat((upper + i) << 16 | rest);
          t.putDouble(expected, PAD + i * size, values[i]);
        }
        for (boolean byVectors : new boolean[] {false, true}) {
          Arrays.fill(stored, (byte) 0);
          new FloatBlocks(t, stored, PAD, values.length, byVectors).store(0, values, values.length);
          assertThat(stored)
              .as("%s from %x, vectors %s", t, upper << 16 | rest, byVectors)
              .isEqualTo(expected);
        }
      }
    }
  }

  /** What does not fill a vector is done too, and nothing beyond it is touched. */
  @ParameterizedTest
  @EnumSource(names = {"F32", "F16", "BF16", "F8E4M3", "F8E5M2"})
  void partOfABlock_anyStartAndLength_leavesTheRest(DType t) {
    int n = 70;
    int size = t.sizeBytes();
    byte[] bytes = Operands.mixed(t, n, 5);
    SplittableRandom random = new SplittableRandom(7);
    for (boolean byVectors : new boolean[] {false, true}) {
      for (int start = 0; start < n; start++) {
        int length = random.nextInt(n - start + 1);
        float[] block = new float[n];
        FloatBlocks source = new FloatBlocks(t, bytes, 0, n, byVectors);
        source.load(start, block, length);
        byte[] copy = new byte[bytes.length];
        Arrays.fill(copy, (byte) 0x55);
        byte[] expected = copy.clone();
        new FloatBlocks(t, copy, 0, n, byVectors).store(start, block, length);
        for (int i = start; i < start + length; i++) {
          t.putDouble(expected, i * size, t.getDouble(bytes, i * size));
        }
        assertThat(copy)
            .as("%s %d+%d, vectors %s", t, start, length, byVectors)
            .isEqualTo(expected);
      }
    }
  }

  /**
   * Planar blocks hold the elements of usual ones: of bf16 without vectors the even ones, then the
   * odd ones, of everything else in their order; and they are stored where they came from.
   */
  @ParameterizedTest
  @EnumSource(names = {"F32", "F16", "BF16", "F8E4M3", "F8E5M2"})
  void planar_anyEvenStart_hasTheSameElements(DType t) {
    int n = 70;
    int size = t.sizeBytes();
    byte[] bytes = Operands.mixed(t, n, 9);
    for (boolean byVectors : new boolean[] {false, true}) {
      for (int start = 0; start < n; start += 2) {
        for (int length : new int[] {n - start, (n - start) / 3}) {
          float[] plain = new float[n];
          float[] planar = new float[n];
          FloatBlocks source = new FloatBlocks(t, bytes, 0, n, byVectors);
          source.load(start, plain, length);
          source.loadPlanar(start, planar, length);
          boolean apart = t == DType.BF16 && !byVectors && length % 2 == 0;
          float[] expected = plain.clone();
          for (int i = 0; i < length && apart; i++) {
            expected[i % 2 * (length / 2) + i / 2] = plain[i];
          }
          String what = "%s %d+%d, vectors %s".formatted(t, start, length, byVectors);
          assertThat(planar).as(what).isEqualTo(expected);

          byte[] copy = new byte[bytes.length];
          byte[] stored = copy.clone();
          new FloatBlocks(t, copy, 0, n, byVectors).storePlanar(start, planar, length);
          for (int i = start; i < start + length; i++) {
            t.putDouble(stored, i * size, t.getDouble(bytes, i * size));
          }
          assertThat(copy).as(what).isEqualTo(stored);
        }
      }
    }
  }
}
