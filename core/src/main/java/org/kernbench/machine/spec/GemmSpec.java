package org.kernbench.machine.spec;

import java.util.Optional;
import org.kernbench.config.ConfigMap;

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
 * @param efficiencyBillionths share of the clock that is sustained, in billionths
 * @param f8Rate products of two 8-bit floating-point numbers that a cell does in the time of one of
 *     another type
 * @param f32Billionths products of 32-bit floating-point numbers in the time of one of 16 bits, in
 *     billionths
 * @param f64Billionths likewise of 64 bits
 * @param waves the multiprocessors of mode {@code waves}; there in that mode
 */
public record GemmSpec(
    int rows,
    int columns,
    long clockHz,
    GemmMode mode,
    int tileM,
    int tileK,
    int tileN,
    int buffers,
    long efficiencyBillionths,
    int f8Rate,
    long f32Billionths,
    long f64Billionths,
    Optional<WavesSpec> waves) {
  private static final long BILLION = 1_000_000_000;

  /** Reads {@code pe.gemm}. */
  public static GemmSpec read(ConfigMap map) {
    GemmSpec spec =
        new GemmSpec(
            map.integer("rows", 1, 65_536),
            map.integer("columns", 1, 65_536),
            map.frequency("clock"),
            map.choice("mode", GemmMode.values()),
            map.integerOr("tile_m", "auto", 1, 65_536),
            map.integerOr("tile_k", "auto", 1, 65_536),
            map.integerOr("tile_n", "auto", 1, 65_536),
            map.integerOr("buffers", "auto", 1, 64),
            map.has("efficiency") ? map.billionths("efficiency") : BILLION,
            map.has("f8_rate") ? map.integer("f8_rate", 1, 16) : 1,
            map.has("f32_rate") ? map.billionths("f32_rate") : BILLION,
            map.has("f64_rate") ? map.billionths("f64_rate") : BILLION,
            WavesSpec.read(map));
    map.done();
    return spec;
  }

  GemmSpec atClock(long hz) {
    return new GemmSpec(
        rows,
        columns,
        hz,
        mode,
        tileM,
        tileK,
        tileN,
        buffers,
        efficiencyBillionths,
        f8Rate,
        f32Billionths,
        f64Billionths,
        waves);
  }

  /** The clock that is sustained under load, in Hz; at least 1. */
  public long sustainedHz() {
    return Math.max(1, Math.round(clockHz * (efficiencyBillionths / 1e9)));
  }

  /**
   * Products of floating-point numbers in the time of one of those that {@link #peakFlops} counts.
   *
   * @param bits of an operand, 8 to 64
   */
  public double rate(int bits) {
    return switch (bits) {
      case 8 -> f8Rate;
      case 32 -> f32Billionths / 1e9;
      case 64 -> f64Billionths / 1e9;
      default -> 1;
    };
  }

  /** Whether composite products have a default tile. */
  public boolean hasDefaultTile() {
    return tileM > 0 && tileK > 0 && tileN > 0;
  }

  /**
   * Peak floating point operations per second at the full clock: a multiplication and an addition
   * per cell of the array, or per multiply-add of the multiprocessors.
   */
  public double peakFlops() {
    return 2.0 * macsPerCycle() * clockHz;
  }

  /** Multiply-adds that all cells, or all multiprocessors, do in one cycle. */
  public long macsPerCycle() {
    return mode == GemmMode.WAVES
        ? (long) waves.orElseThrow().units() * waves.orElseThrow().macs()
        : (long) rows * columns;
  }
}
