package org.kernbench.tensor;

import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * {@code C += A B} in f32 with the Vector API, bit for bit as {@link Gemm}: one fused multiply-add
 * per step, k ascending, for every element of C. With {@link VectorBlocks} the only class that
 * names the incubator module, so nothing may touch it where the module is missing ({@link
 * Gemm#backEnd}).
 *
 * <p>A tile of C, 6 rows by 2 vectors, stays in registers while k runs: 12 independent chains hide
 * the latency of the multiply-add, and 8 loads per 12 of them keep the load ports below their
 * limit; tiles of 8 x 2, 12 x 2 and 4 x 4 were no faster (docs/validation/numerics.md), and 6 x 2
 * is the largest that fits the 16 registers of processors without AVX-512. Lanes are columns, so no
 * lane ever adds what belongs to another and the order of k is that of the scalar twin.
 *
 * <p>Around it are the loops of Goto and van de Geijn (Anatomy of high-performance matrix
 * multiplication, 2008): k in slices, so that sums stay in registers for long; A in bands and
 * panels of B that stay in the second cache. Between slices C holds the sums, exactly, as f32.
 * Packing pays only where a panel is used often enough, so small operands are read in place. At the
 * ragged edges a tile is moved inwards until it fits and works on a copy, of which only the new
 * elements are kept.
 */
final class VectorGemm {
  private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
  private static final int LANES = SPECIES.length();
  private static final int ROWS = 6;
  private static final int COLUMNS = 2 * LANES;

  /**
   * Steps of k per slice. A panel of B is 64 KiB with vectors of 512 bits and comes from the second
   * cache in order; half the steps, whose panel stays in the first, read and write C twice as often
   * and were slower.
   */
  private static final int DEPTH = 512;

  /** Rows of A per band, a multiple of {@link #ROWS}: 240 KiB. */
  private static final int BAND = 120;

  /** From so many rows on, a panel of B is used often enough to be packed. */
  private static final int PACK_B_ROWS = 128;

  /** From so many columns on, rows of A are so far apart (and used so often) that packing pays. */
  private static final int PACK_A_COLUMNS = 1024;

  private final float[] a;
  private final float[] b;
  private final float[] c;
  private final int m;
  private final int n;
  private final int k;

  /** Rows of {@link #a} and columns of {@link #b}: those of the product, but at least a tile's. */
  private final int height;

  private final int width;
  private final float[] bandOfA;
  private final float[] panelsOfB;
  private final float[] edge = new float[ROWS * COLUMNS];

  private VectorGemm(float[] a, float[] b, float[] c, int m, int n, int k) {
    this.m = m;
    this.n = n;
    this.k = k;
    this.a = m < ROWS ? Arrays.copyOf(a, ROWS * k) : a;
    this.b = n < COLUMNS ? widened(b, n, k) : b;
    this.c = c;
    this.height = Math.max(m, ROWS);
    this.width = Math.max(n, COLUMNS);
    int depth = Math.min(k, DEPTH);
    this.bandOfA = new float[n < PACK_A_COLUMNS ? 0 : Math.min(height, BAND) * depth];
    this.panelsOfB = new float[m < PACK_B_ROWS ? 0 : padded(n, COLUMNS) * depth];
  }

  /** Bits of a vector of the back end. */
  static int vectorBits() {
    return SPECIES.vectorBitSize();
  }

  /** {@code c[m, n] += a[m, k] b[k, n]}, all dense and row-major. */
  static void multiply(float[] a, float[] b, float[] c, int m, int n, int k) {
    if (m > 0 && n > 0 && k > 0) {
      new VectorGemm(a, b, c, m, n, k).run();
    }
  }

  private static float[] widened(float[] b, int n, int k) {
    float[] wide = new float[k * COLUMNS];
    for (int p = 0; p < k; p++) {
      System.arraycopy(b, p * n, wide, p * COLUMNS, n);
    }
    return wide;
  }

  private static int padded(int extent, int tile) {
    return Math.ceilDiv(extent, tile) * tile;
  }

  private void run() {
    for (int p = 0; p < k; p += DEPTH) {
      int steps = Math.min(DEPTH, k - p);
      if (panelsOfB.length > 0) {
        packB(p, steps);
      }
      for (int i = 0; i < m; i += BAND) {
        int end = Math.min(m, i + BAND);
        if (bandOfA.length > 0) {
          packA(i, end, p, steps);
        }
        for (int j = 0; j < n; j += COLUMNS) {
          column(i, end, j, p, steps);
        }
      }
    }
  }

  /** The tiles of rows {@code from} to {@code end} in the columns from {@code j} on. */
  private void column(int from, int end, int j, int p, int steps) {
    boolean packedA = bandOfA.length > 0;
    boolean packedB = panelsOfB.length > 0;
    int left = Math.min(j, width - COLUMNS);
    final float[] x = packedA ? bandOfA : a;
    final int xRow = packedA ? steps : k;
    final int xFirst = packedA ? -Math.min(from, height - ROWS) * steps : p;
    final float[] y = packedB ? panelsOfB : b;
    final int yAt = packedB ? j * steps : p * width + left;
    final int yStep = packedB ? COLUMNS : width;
    for (int i = from; i < end; i += ROWS) {
      int top = Math.min(i, height - ROWS);
      int xAt = xFirst + top * xRow;
      if (i + ROWS <= m && j + COLUMNS <= n) {
        anyTile(steps, x, xAt, xRow, y, yAt, yStep, c, i * n + j, n);
      } else {
        int at = (i - top) * COLUMNS + j - left;
        int rows = Math.min(ROWS, m - i);
        int columns = Math.min(COLUMNS, n - j);
        copy(c, i * n + j, n, edge, at, COLUMNS, rows, columns);
        anyTile(steps, x, xAt, xRow, y, yAt, yStep, edge, 0, COLUMNS);
        copy(edge, at, COLUMNS, c, i * n + j, n, rows, columns);
      }
    }
  }

  private static void anyTile(
      int steps,
      float[] a,
      int aAt,
      int aRow,
      float[] b,
      int bAt,
      int bStep,
      float[] c,
      int cAt,
      int cRow) {
    if (bStep == COLUMNS) {
      packedTile(steps, a, aAt, aRow, b, bAt, c, cAt, cRow);
    } else {
      tile(steps, a, aAt, aRow, b, bAt, bStep, c, cAt, cRow);
    }
  }

  private static void copy(
      float[] from, int at, int stride, float[] to, int toAt, int toStride, int rows, int columns) {
    for (int r = 0; r < rows; r++) {
      System.arraycopy(from, at + r * stride, to, toAt + r * toStride, columns);
    }
  }

  /** Panel after panel of {@link #COLUMNS} columns, in each of them step after step. */
  private void packB(int p, int steps) {
    for (int j = 0; j < n; j += COLUMNS) {
      int left = Math.min(j, width - COLUMNS);
      for (int s = 0; s < steps; s++) {
        System.arraycopy(b, (p + s) * width + left, panelsOfB, j * steps + s * COLUMNS, COLUMNS);
      }
    }
  }

  /** The band's rows, so many steps of each. */
  private void packA(int from, int end, int p, int steps) {
    int top = Math.min(from, height - ROWS);
    copy(a, top * k + p, k, bandOfA, 0, steps, Math.max(end, top + ROWS) - top, steps);
  }

  /**
   * {@code c[r, j] = fma(a[r, s], b[s, j], c[r, j])} for s ascending.
   *
   * <p>Steps are neighbours in {@code a}, so that C2 can see that all its indices are in range and
   * takes the checks out of the loop.
   *
   * @param aRow distance of rows in {@code a}
   * @param bStep distance of steps in {@code b}
   */
  private static void tile(
      int steps,
      float[] a,
      int aAt,
      int aRow,
      float[] b,
      int bAt,
      int bStep,
      float[] c,
      int cAt,
      int cRow) {
    FloatVector c00 = FloatVector.fromArray(SPECIES, c, cAt);
    FloatVector c01 = FloatVector.fromArray(SPECIES, c, cAt + LANES);
    FloatVector c10 = FloatVector.fromArray(SPECIES, c, cAt + cRow);
    FloatVector c11 = FloatVector.fromArray(SPECIES, c, cAt + cRow + LANES);
    FloatVector c20 = FloatVector.fromArray(SPECIES, c, cAt + 2 * cRow);
    FloatVector c21 = FloatVector.fromArray(SPECIES, c, cAt + 2 * cRow + LANES);
    FloatVector c30 = FloatVector.fromArray(SPECIES, c, cAt + 3 * cRow);
    FloatVector c31 = FloatVector.fromArray(SPECIES, c, cAt + 3 * cRow + LANES);
    FloatVector c40 = FloatVector.fromArray(SPECIES, c, cAt + 4 * cRow);
    FloatVector c41 = FloatVector.fromArray(SPECIES, c, cAt + 4 * cRow + LANES);
    FloatVector c50 = FloatVector.fromArray(SPECIES, c, cAt + 5 * cRow);
    FloatVector c51 = FloatVector.fromArray(SPECIES, c, cAt + 5 * cRow + LANES);
    final int a1 = aAt + aRow;
    final int a2 = a1 + aRow;
    final int a3 = a2 + aRow;
    final int a4 = a3 + aRow;
    final int a5 = a4 + aRow;
    int y = bAt;
    for (int step = 0; step < steps; step++) {
      FloatVector b0 = FloatVector.fromArray(SPECIES, b, y);
      FloatVector b1 = FloatVector.fromArray(SPECIES, b, y + LANES);
      FloatVector s = FloatVector.broadcast(SPECIES, a[aAt + step]);
      c00 = s.fma(b0, c00);
      c01 = s.fma(b1, c01);
      s = FloatVector.broadcast(SPECIES, a[a1 + step]);
      c10 = s.fma(b0, c10);
      c11 = s.fma(b1, c11);
      s = FloatVector.broadcast(SPECIES, a[a2 + step]);
      c20 = s.fma(b0, c20);
      c21 = s.fma(b1, c21);
      s = FloatVector.broadcast(SPECIES, a[a3 + step]);
      c30 = s.fma(b0, c30);
      c31 = s.fma(b1, c31);
      s = FloatVector.broadcast(SPECIES, a[a4 + step]);
      c40 = s.fma(b0, c40);
      c41 = s.fma(b1, c41);
      s = FloatVector.broadcast(SPECIES, a[a5 + step]);
      c50 = s.fma(b0, c50);
      c51 = s.fma(b1, c51);
      y += bStep;
    }
    c00.intoArray(c, cAt);
    c01.intoArray(c, cAt + LANES);
    c10.intoArray(c, cAt + cRow);
    c11.intoArray(c, cAt + cRow + LANES);
    c20.intoArray(c, cAt + 2 * cRow);
    c21.intoArray(c, cAt + 2 * cRow + LANES);
    c30.intoArray(c, cAt + 3 * cRow);
    c31.intoArray(c, cAt + 3 * cRow + LANES);
    c40.intoArray(c, cAt + 4 * cRow);
    c41.intoArray(c, cAt + 4 * cRow + LANES);
    c50.intoArray(c, cAt + 5 * cRow);
    c51.intoArray(c, cAt + 5 * cRow + LANES);
  }

  /**
   * As {@link #tile} with {@code bStep} = {@link #COLUMNS}: where C2 knows that distance, the
   * checks of the indices of {@code b} leave the loop, too, which is a tenth of its time.
   */
  private static void packedTile(
      int steps, float[] a, int aAt, int aRow, float[] b, int bAt, float[] c, int cAt, int cRow) {
    FloatVector c00 = FloatVector.fromArray(SPECIES, c, cAt);
    FloatVector c01 = FloatVector.fromArray(SPECIES, c, cAt + LANES);
    FloatVector c10 = FloatVector.fromArray(SPECIES, c, cAt + cRow);
    FloatVector c11 = FloatVector.fromArray(SPECIES, c, cAt + cRow + LANES);
    FloatVector c20 = FloatVector.fromArray(SPECIES, c, cAt + 2 * cRow);
    FloatVector c21 = FloatVector.fromArray(SPECIES, c, cAt + 2 * cRow + LANES);
    FloatVector c30 = FloatVector.fromArray(SPECIES, c, cAt + 3 * cRow);
    FloatVector c31 = FloatVector.fromArray(SPECIES, c, cAt + 3 * cRow + LANES);
    FloatVector c40 = FloatVector.fromArray(SPECIES, c, cAt + 4 * cRow);
    FloatVector c41 = FloatVector.fromArray(SPECIES, c, cAt + 4 * cRow + LANES);
    FloatVector c50 = FloatVector.fromArray(SPECIES, c, cAt + 5 * cRow);
    FloatVector c51 = FloatVector.fromArray(SPECIES, c, cAt + 5 * cRow + LANES);
    final int a1 = aAt + aRow;
    final int a2 = a1 + aRow;
    final int a3 = a2 + aRow;
    final int a4 = a3 + aRow;
    final int a5 = a4 + aRow;
    for (int step = 0; step < steps; step++) {
      final int y = bAt + step * COLUMNS;
      FloatVector b0 = FloatVector.fromArray(SPECIES, b, y);
      FloatVector b1 = FloatVector.fromArray(SPECIES, b, y + LANES);
      FloatVector s = FloatVector.broadcast(SPECIES, a[aAt + step]);
      c00 = s.fma(b0, c00);
      c01 = s.fma(b1, c01);
      s = FloatVector.broadcast(SPECIES, a[a1 + step]);
      c10 = s.fma(b0, c10);
      c11 = s.fma(b1, c11);
      s = FloatVector.broadcast(SPECIES, a[a2 + step]);
      c20 = s.fma(b0, c20);
      c21 = s.fma(b1, c21);
      s = FloatVector.broadcast(SPECIES, a[a3 + step]);
      c30 = s.fma(b0, c30);
      c31 = s.fma(b1, c31);
      s = FloatVector.broadcast(SPECIES, a[a4 + step]);
      c40 = s.fma(b0, c40);
      c41 = s.fma(b1, c41);
      s = FloatVector.broadcast(SPECIES, a[a5 + step]);
      c50 = s.fma(b0, c50);
      c51 = s.fma(b1, c51);
    }
    c00.intoArray(c, cAt);
    c01.intoArray(c, cAt + LANES);
    c10.intoArray(c, cAt + cRow);
    c11.intoArray(c, cAt + cRow + LANES);
    c20.intoArray(c, cAt + 2 * cRow);
    c21.intoArray(c, cAt + 2 * cRow + LANES);
    c30.intoArray(c, cAt + 3 * cRow);
    c31.intoArray(c, cAt + 3 * cRow + LANES);
    c40.intoArray(c, cAt + 4 * cRow);
    c41.intoArray(c, cAt + 4 * cRow + LANES);
    c50.intoArray(c, cAt + 5 * cRow);
    c51.intoArray(c, cAt + 5 * cRow + LANES);
  }
}
