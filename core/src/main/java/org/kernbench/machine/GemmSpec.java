package org.kernbench.machine;

/**
 * The matrix engine of a PE: an output-stationary array of multiply-accumulate cells.
 *
 * @param rows rows of the array
 * @param columns columns of the array
 * @param clockHz clock in Hz
 * @param mode how tiles follow each other
 */
public record GemmSpec(int rows, int columns, long clockHz, GemmMode mode) {
  /** Peak floating point operations per second: a multiplication and an addition per cell. */
  public double peakFlops() {
    return 2.0 * rows * columns * clockHz;
  }
}
