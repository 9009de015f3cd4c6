package org.kernbench.sim;

/**
 * A rate of cycles that turns cycles into picoseconds exactly, rounding each duration up: {@code
 * durationPs(cycles) = ceil(cycles * 10^12 / hz)}, as {@link Rate} does it with bytes.
 */
public final class ClockRate {
  /** A cycle a second counts like a byte a second. */
  private final Rate rate;

  private ClockRate(Rate rate) {
    this.rate = rate;
  }

  /**
   * A clock of {@code hz} cycles per second.
   *
   * @throws IllegalArgumentException if it is not positive
   */
  public static ClockRate ofHz(long hz) {
    if (hz <= 0) {
      throw new IllegalArgumentException(
          "clock: got " + hz + " cycles per second; expected a positive rate");
    }
    return new ClockRate(Rate.ofBytesPerSecond(hz));
  }

  /** Cycles per second. */
  public long hz() {
    return rate.bytesPerSecond();
  }

  /**
   * Picoseconds that {@code cycles} cycles take, rounded up; 0 for 0 cycles.
   *
   * @throws IllegalArgumentException if {@code cycles} is negative
   * @throws ArithmeticException if the duration does not fit a {@code long} of picoseconds
   */
  public long durationPs(long cycles) {
    if (cycles < 0) {
      throw new IllegalArgumentException("cycles: got " + cycles + "; expected 0 or more");
    }
    return rate.durationPs(cycles);
  }

  /** Cycles that pass in some picoseconds, fractions included. */
  public double cyclesIn(long durationPs) {
    return durationPs * (double) hz() / 1e12;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ClockRate that && that.rate.equals(rate);
  }

  @Override
  public int hashCode() {
    return rate.hashCode();
  }

  @Override
  public String toString() {
    return hz() + " Hz";
  }
}
