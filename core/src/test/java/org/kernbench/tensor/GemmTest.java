package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Both back ends of the f32 product against three plain loops, bit for bit. */
class GemmTest {
  /** The back ends. */
  enum BackEnd {
    PLAIN {
      @Override
      void multiply(float[] a, float[] b, float[] c, int m, int n, int k) {
        Gemm.plain(a, b, c, m, n, k);
      }
    },
    VECTOR {
      @Override
      void multiply(float[] a, float[] b, float[] c, int m, int n, int k) {
        assumeTrue(isVectorExpected(), "started without the Vector API");
        VectorGemm.multiply(a, b, c, m, n, k);
      }
    };

    abstract void multiply(float[] a, float[] b, float[] c, int m, int n, int k);
  }

  /** The build starts the tests with the module and says so; without it the vector half is idle. */
  private static boolean isVectorExpected() {
    return Boolean.getBoolean("kernbench.tests.vector");
  }

  @Test
  void backEnd_moduleThereOrNot_isTheOneThatRuns() {
    assertThat(Gemm.backEnd()).matches(isVectorExpected() ? "vector-\\d+" : "plain");
  }

  /**
   * Around each border of both back ends: tiles, bands, slices of k, where packing begins, where
   * the plain loops transpose.
   */
  @ParameterizedTest
  @EnumSource
  void multiply_bordersOfTiles_matchesThreeLoops(BackEnd backEnd) {
    int[][] shapes = {
      {1, 1, 1},
      {6, 32, 5},
      {5, 31, 7},
      {7, 33, 9},
      {12, 16, 256},
      {13, 17, 257},
      {127, 64, 20},
      {128, 65, 20},
      {121, 40, 300},
      {250, 8, 30},
      {9, 1023, 11},
      {8, 1024, 11},
      {123, 1025, 9},
      {4, 1030, 9},
      {131, 1030, 260},
      {131, 1025, 513},
      {128, 33, 512},
      {129, 70, 1030},
      {3, 600, 513},
      {300, 3, 40},
      {1, 70, 1},
      {0, 4, 4},
      {4, 0, 4},
      {4, 4, 0}
    };
    SplittableRandom random = new SplittableRandom(21);
    for (int[] s : shapes) {
      check(backEnd, s[0], s[1], s[2], random, false);
    }
  }

  @ParameterizedTest
  @EnumSource
  void multiply_randomShapesAndSpecialValues_matchesThreeLoops(BackEnd backEnd) {
    SplittableRandom random = new SplittableRandom(22);
    for (int i = 0; i < 150; i++) {
      check(
          backEnd,
          1 + random.nextInt(i % 10 == 0 ? 300 : 40),
          1 + random.nextInt(i % 9 == 0 ? 300 : 80),
          1 + random.nextInt(i % 7 == 0 ? 600 : 50),
          random,
          i % 2 == 0);
    }
  }

  private static void check(
      BackEnd backEnd, int m, int n, int k, SplittableRandom random, boolean special) {
    float[] a = values(m * k, random, special);
    float[] b = values(k * n, random, special);
    float[] got = values(m * n, random, special);
    float[] want = got.clone();
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        for (int p = 0; p < k; p++) {
          want[i * n + j] = Math.fma(a[i * k + p], b[p * n + j], want[i * n + j]);
        }
      }
    }
    backEnd.multiply(a, b, got, m, n, k);
    assertThat(bits(got)).as("%d x %d x %d", m, n, k).isEqualTo(bits(want));
  }

  /** Bits with any NaN as one: which NaN a product gives is settled when it is stored. */
  private static int[] bits(float[] values) {
    int[] bits = new int[values.length];
    for (int i = 0; i < bits.length; i++) {
      bits[i] = Float.floatToIntBits(values[i]);
    }
    return bits;
  }

  /** If special, then rarely so: a NaN or an infinity takes its whole row or column of C. */
  private static float[] values(int n, SplittableRandom random, boolean special) {
    float[] rare = {
      Float.NaN,
      Float.POSITIVE_INFINITY,
      Float.NEGATIVE_INFINITY,
      -0f,
      0f,
      Float.MIN_VALUE,
      -Float.MIN_VALUE,
      Float.MIN_NORMAL,
      Float.MAX_VALUE,
      0x1p-80f,
      0x1p80f
    };
    float[] values = new float[n];
    for (int i = 0; i < n; i++) {
      int kind = special ? random.nextInt(200) : 200;
      values[i] = kind < rare.length ? rare[kind] : (float) random.nextDouble(-2, 2);
      if (special && kind > 190) {
        values[i] = Math.copySign(kind < 195 ? 0f : Float.MIN_VALUE * kind, values[i]);
      }
    }
    return values;
  }
}
