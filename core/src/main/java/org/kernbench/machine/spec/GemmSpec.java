package org.kernbench.machine.spec;

/**
 * The matrix engine of a PE: an output-stationary array of multiply-accumulate cells.
 *
 * @param rows rows of the array
 * @param columns columns of the array
 * @param clockHz clock in Hz
 * @param mode how tiles follow each other
 * @param tileM rows of the default tile of a composite product; 0 to search for the best
 * @param tileK its depth; 0 as above
 * @param tileN its columns; 0 as above
 * @param buffers tiles of each operand that a composite product holds in TCM; 0 to search
 */
public record GemmSpec(
    int rows,
    int columns,
    long clockHz,
    GemmMode mode,
    int tileM,
    int tileK,
    int tileN,
    int buffers) {
  GemmSpec atClock(long hz) {
    return new GemmSpec(rows, columns, hz, mode, tileM, tileK, tileN, buffers);
  }

  /** Whether composite products have a default tile. */
  public boolean hasDefaultTile() {
    return tileM > 0 && tileK > 0 && tileN > 0;
  }

  /** Peak floating point operations per second: a multiplication and an addition per cell. */
  public double peakFlops() {
    return 2.0 * rows * columns * clockHz;
  }
}
