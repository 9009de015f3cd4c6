package org.kernbench.tensor;

import java.util.SplittableRandom;

/** Seeded test operands: random codes with a good share of special values. */
final class Operands {
  /** Sizes around the block boundaries of the fast kernels. */
  static final int[] SIZES = {0, 1, 2, 15, 16, 17, 1000, 1023, 1024, 1025, 2048, 2049, 5000};

  private Operands() {}

  /** {@code n} elements: one in eight special, half moderate numbers, the rest any bits. */
  static byte[] mixed(DType t, int n, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    byte[] bytes = new byte[n * t.sizeBytes()];
    random.nextBytes(bytes);
    double[] special = {
      0,
      -0.0,
      1,
      -1,
      Double.NaN,
      Double.POSITIVE_INFINITY,
      Double.NEGATIVE_INFINITY,
      t.maxFinite(),
      -t.maxFinite(),
      t.minPositive(),
      -t.minPositive(),
      t.minNormal()
    };
    for (int i = 0; i < n; i++) {
      int at = i * t.sizeBytes();
      int kind = random.nextInt(8);
      if (kind == 0) {
        t.putDouble(bytes, at, special[random.nextInt(special.length)]);
      } else if (kind < 5) {
        t.putDouble(bytes, at, random.nextDouble(-20, 20));
      }
      if (t == DType.BOOL) {
        bytes[at] = (byte) (kind & 1);
      }
    }
    return bytes;
  }

  /** {@code n} elements between -{@code bound} and {@code bound}. */
  static byte[] uniform(DType t, int n, double bound, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    byte[] bytes = new byte[n * t.sizeBytes()];
    for (int i = 0; i < n; i++) {
      t.putDouble(bytes, i * t.sizeBytes(), random.nextDouble(-bound, bound));
    }
    return bytes;
  }

  static byte[] of(DType t, double... values) {
    byte[] bytes = new byte[values.length * t.sizeBytes()];
    for (int i = 0; i < values.length; i++) {
      t.putDouble(bytes, i * t.sizeBytes(), values[i]);
    }
    return bytes;
  }

  static double[] values(DType t, byte[] bytes) {
    double[] values = new double[bytes.length / t.sizeBytes()];
    for (int i = 0; i < values.length; i++) {
      values[i] = t.getDouble(bytes, i * t.sizeBytes());
    }
    return values;
  }
}
