package org.kernbench.tl;

/**
 * How much of a product one step of a {@link CompositeGemm} works on: {@code [m, k] x [k, n]}.
 *
 * @param m rows of A and of the output
 * @param k columns of A, rows of B
 * @param n columns of B and of the output
 */
public record TileShape(int m, int k, int n) {
  /** Checks the ranges. */
  public TileShape {
    if (m < 1 || k < 1 || n < 1) {
      throw new IllegalArgumentException(
          "tile " + m + " x " + k + " x " + n + ": expected at least 1 along each axis (m, k, n)");
    }
  }

  /** For example {@code 32x64x32}, in the order m, k, n. */
  @Override
  public String toString() {
    return m + "x" + k + "x" + n;
  }
}
