package org.kernbench.sim;

import java.math.BigInteger;

/**
 * A transfer rate that turns bytes into picoseconds exactly, rounding each duration up.
 *
 * <p>{@code durationPs(bytes) = ceil(bytes * 10^12 / bytesPerSecond)}. The fraction {@code 10^12 /
 * bytesPerSecond} is reduced once, when the rate is made; for the rates and sizes of real machines
 * a duration is then one multiplication and one division of {@code long}s. Products that do not fit
 * a {@code long} take a slow, exact path; a duration that does not fit (more than 106 days) is an
 * error.
 */
public final class Rate {
  private static final long PS_PER_SECOND = 1_000_000_000_000L;
  private static final long PS_PER_NS = 1000;

  private final long bytesPerSecond;

  /** Reduced fraction: {@code durationPs = ceil(bytes * numerator / denominator)}. */
  private final long numerator;

  private final long denominator;

  /** What each duration is rounded down to a multiple of; 0 if it is rounded up to a picosecond. */
  private final long stepPs;

  /** Added to a duration before it is rounded down. */
  private final long oddPs;

  private Rate(long bytesPerSecond, long stepPs, long oddPs) {
    this.bytesPerSecond = bytesPerSecond;
    this.stepPs = stepPs;
    this.oddPs = oddPs;
    long divisor = gcd(PS_PER_SECOND, bytesPerSecond);
    this.numerator = PS_PER_SECOND / divisor;
    this.denominator = bytesPerSecond / divisor;
  }

  /**
   * A rate of {@code bytesPerSecond} bytes per second.
   *
   * @throws IllegalArgumentException if the rate is not positive
   */
  public static Rate ofBytesPerSecond(long bytesPerSecond) {
    if (bytesPerSecond <= 0) {
      throw new IllegalArgumentException(
          "rate: got " + bytesPerSecond + " bytes per second; expected a positive rate");
    }
    return new Rate(bytesPerSecond, 0, 0);
  }

  /**
   * A rate as tools have it that count time in whole nanoseconds: {@code durationPs(bytes) =
   * floor((odd + bytes * 10^12 / bytesPerSecond) / 1000) * 1000}.
   *
   * @param oddPs what a latency has beyond whole nanoseconds, 0 to 999
   * @throws IllegalArgumentException if the rate is not positive
   */
  public static Rate inWholeNs(long bytesPerSecond, long oddPs) {
    return new Rate(ofBytesPerSecond(bytesPerSecond).bytesPerSecond, PS_PER_NS, oddPs);
  }

  /** Whether durations are in whole nanoseconds, and so may be less than the bytes take. */
  public boolean isInWholeNs() {
    return stepPs > 0;
  }

  private long steppedDurationPs(long bytes) {
    BigInteger perStep = BigInteger.valueOf(bytesPerSecond).multiply(BigInteger.valueOf(stepPs));
    BigInteger steps =
        BigInteger.valueOf(bytes)
            .multiply(BigInteger.valueOf(PS_PER_SECOND))
            .add(BigInteger.valueOf(bytesPerSecond).multiply(BigInteger.valueOf(oddPs)))
            .divide(perStep);
    return Math.multiplyExact(steps.longValueExact(), stepPs);
  }

  /** Bytes per second. */
  public long bytesPerSecond() {
    return bytesPerSecond;
  }

  /**
   * Picoseconds that {@code bytes} bytes take at this rate, rounded up; 0 for 0 bytes. In
   * {@linkplain #inWholeNs whole nanoseconds} rounded down.
   *
   * @throws IllegalArgumentException if {@code bytes} is negative
   * @throws ArithmeticException if the duration does not fit a {@code long} of picoseconds
   */
  public long durationPs(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("bytes: got " + bytes + "; expected 0 or more");
    }
    if (stepPs > 0) {
      return steppedDurationPs(bytes);
    }
    long product = bytes * numerator;
    if (product < 0 || Math.multiplyHigh(bytes, numerator) != 0) {
      return exactDurationPs(bytes);
    }
    long quotient = product / denominator;
    return quotient * denominator == product ? quotient : quotient + 1;
  }

  private long exactDurationPs(long bytes) {
    BigInteger[] parts =
        BigInteger.valueOf(bytes)
            .multiply(BigInteger.valueOf(numerator))
            .divideAndRemainder(BigInteger.valueOf(denominator));
    BigInteger duration = parts[1].signum() == 0 ? parts[0] : parts[0].add(BigInteger.ONE);
    if (duration.bitLength() > 63) {
      throw new ArithmeticException(
          bytes + " bytes at " + this + " take longer than 2^63 ps (106 days)");
    }
    return duration.longValue();
  }

  private static long gcd(long a, long b) {
    while (b != 0) {
      long rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Rate that
        && that.bytesPerSecond == bytesPerSecond
        && that.stepPs == stepPs
        && that.oddPs == oddPs;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(bytesPerSecond);
  }

  @Override
  public String toString() {
    return bytesPerSecond + " B/s";
  }
}
