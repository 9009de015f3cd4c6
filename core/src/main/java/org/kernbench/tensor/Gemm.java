package org.kernbench.tensor;

/**
 * {@code C = A B + acc} in f32, one fused multiply-add per step, k ascending, for every element of
 * C. That order and the fusing are the contract; the loops only choose which elements go together.
 * {@link VectorGemm} does it where the Vector API is there, the plain loops below elsewhere.
 *
 * <p>Four rows of A by four steps of k at a time over a stretch of columns: sixteen multiply-adds
 * per four loads of B and four updates of C, in a loop over columns that C2 turns into vector code.
 * Rows are separate arrays indexed from 0 because C2 vectorises only where it need not ask whether
 * two offsets overlap. With fewer columns than rows the transposed product is computed instead (the
 * same operations, as multiplication commutes), so that the long side is the vectorised one.
 */
final class Gemm {
  /**
   * Whether the Vector API is there: a module that a process has from its start or not at all. It
   * costs a start 0.1 s and its first use 0.3 s, so whoever starts the process decides (ADR 0044).
   */
  private static final boolean VECTOR =
      ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent();

  /** Products with fewer columns than this, and than rows, are computed transposed. */
  private static final int NARROW = 16;

  private static final int COLUMNS = 512;

  private Gemm() {}

  /**
   * {@code c[m][n] += a[m, k] b[k][n]}, the rows of {@code b} and {@code c} given as blocks.
   *
   * @param a row-major {@code [m, k]}
   */
  private static void multiply(float[] a, float[][] b, float[][] c, int m, int n, int k) {
    int i = 0;
    for (; i + 4 <= m; i += 4) {
      int p = 0;
      for (; p + 4 <= k; p += 4) {
        fourByFour(a, i * k + p, k, b, p, c, i, n);
      }
      for (; p < k; p++) {
        for (int r = 0; r < 4; r++) {
          axpy(a[(i + r) * k + p], b[p], c[i + r], n);
        }
      }
    }
    for (; i < m; i++) {
      int p = 0;
      for (; p + 4 <= k; p += 4) {
        oneByFour(a, i * k + p, b, p, c[i], n);
      }
      for (; p < k; p++) {
        axpy(a[i * k + p], b[p], c[i], n);
      }
    }
  }

  private static void axpy(float s, float[] b, float[] c, int n) {
    for (int j = 0; j < n; j++) {
      c[j] = Math.fma(s, b[j], c[j]);
    }
  }

  private static void oneByFour(float[] a, int at, float[][] b, int p, float[] c, int n) {
    final float[] b0 = b[p];
    final float[] b1 = b[p + 1];
    final float[] b2 = b[p + 2];
    final float[] b3 = b[p + 3];
    final float a0 = a[at];
    final float a1 = a[at + 1];
    final float a2 = a[at + 2];
    final float a3 = a[at + 3];
    for (int j = 0; j < n; j++) {
      c[j] =
          Math.fma(a3, b3[j], Math.fma(a2, b2[j], Math.fma(a1, b1[j], Math.fma(a0, b0[j], c[j]))));
    }
  }

  private static void fourByFour(
      float[] a, int at, int k, float[][] b, int p, float[][] c, int i, int n) {
    final float[] b0 = b[p];
    final float[] b1 = b[p + 1];
    final float[] b2 = b[p + 2];
    final float[] b3 = b[p + 3];
    final float[] c0 = c[i];
    final float[] c1 = c[i + 1];
    final float[] c2 = c[i + 2];
    final float[] c3 = c[i + 3];
    final float a00 = a[at];
    final float a01 = a[at + 1];
    final float a02 = a[at + 2];
    final float a03 = a[at + 3];
    final float a10 = a[at + k];
    final float a11 = a[at + k + 1];
    final float a12 = a[at + k + 2];
    final float a13 = a[at + k + 3];
    final float a20 = a[at + 2 * k];
    final float a21 = a[at + 2 * k + 1];
    final float a22 = a[at + 2 * k + 2];
    final float a23 = a[at + 2 * k + 3];
    final float a30 = a[at + 3 * k];
    final float a31 = a[at + 3 * k + 1];
    final float a32 = a[at + 3 * k + 2];
    final float a33 = a[at + 3 * k + 3];
    for (int j = 0; j < n; j++) {
      float x0 = b0[j];
      float x1 = b1[j];
      float x2 = b2[j];
      float x3 = b3[j];
      c0[j] = Math.fma(a03, x3, Math.fma(a02, x2, Math.fma(a01, x1, Math.fma(a00, x0, c0[j]))));
      c1[j] = Math.fma(a13, x3, Math.fma(a12, x2, Math.fma(a11, x1, Math.fma(a10, x0, c1[j]))));
      c2[j] = Math.fma(a23, x3, Math.fma(a22, x2, Math.fma(a21, x1, Math.fma(a20, x0, c2[j]))));
      c3[j] = Math.fma(a33, x3, Math.fma(a32, x2, Math.fma(a31, x1, Math.fma(a30, x0, c3[j]))));
    }
  }

  /** Whether {@link VectorGemm} and {@link VectorBlocks} may be used. */
  static boolean hasVectors() {
    return VECTOR;
  }

  /** The loops that {@link #multiply(float[], float[], float[], int, int, int)} uses. */
  static String backEnd() {
    return VECTOR ? "vector-" + VectorGemm.vectorBits() : "plain";
  }

  /** {@code c[m, n] += a[m, k] b[k, n]}, all dense and row-major. */
  static void multiply(float[] a, float[] b, float[] c, int m, int n, int k) {
    if (VECTOR) {
      VectorGemm.multiply(a, b, c, m, n, k);
    } else {
      plain(a, b, c, m, n, k);
    }
  }

  /** As {@link #multiply(float[], float[], float[], int, int, int)}, always by plain loops. */
  static void plain(float[] a, float[] b, float[] c, int m, int n, int k) {
    if (n < NARROW && n < m) {
      float[] transposed = transpose(c, m, n);
      dense(transpose(b, k, n), transpose(a, m, k), transposed, n, m, k);
      System.arraycopy(transpose(transposed, n, m), 0, c, 0, m * n);
    } else {
      dense(a, b, c, m, n, k);
    }
  }

  private static void dense(float[] a, float[] b, float[] c, int m, int n, int k) {
    int width = Math.min(n, COLUMNS);
    float[][] bRows = new float[k][width];
    float[][] cRows = new float[m][width];
    for (int start = 0; start < n; start += width) {
      int columns = Math.min(width, n - start);
      for (int p = 0; p < k; p++) {
        System.arraycopy(b, p * n + start, bRows[p], 0, columns);
      }
      for (int i = 0; i < m; i++) {
        System.arraycopy(c, i * n + start, cRows[i], 0, columns);
      }
      multiply(a, bRows, cRows, m, columns, k);
      for (int i = 0; i < m; i++) {
        System.arraycopy(cRows[i], 0, c, i * n + start, columns);
      }
    }
  }

  private static float[] transpose(float[] x, int rows, int columns) {
    float[] y = new float[rows * columns];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < columns; j++) {
        y[j * rows + i] = x[i * columns + j];
      }
    }
    return y;
  }

  /** As the f32 product, in wrapping 32-bit integers: order does not matter. */
  static void multiply(int[] a, int[] b, int[] c, int m, int n, int k) {
    for (int i = 0; i < m; i++) {
      for (int p = 0; p < k; p++) {
        int s = a[i * k + p];
        for (int j = 0; j < n; j++) {
          c[i * n + j] += s * b[p * n + j];
        }
      }
    }
  }
}
