package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Look-ups against what they stand for: the loops, and the rounding of the whole float. */
final class CodeTableTest {
  /** Of a walk through all floats: a prime, so that every exponent, sign and low bit is met. */
  private static final long STRIDE = 12_289;

  /** Every code of every type that has tables, twice: as entries are made and as they are found. */
  @ParameterizedTest
  @EnumSource(UnaryOp.class)
  void table_everyCode_givesTheBytesOfTheLoop(UnaryOp op) {
    for (DType t : DType.values()) {
      if (!op.supports(t) || !CodeTable.pays(op, t)) {
        continue;
      }
      int n = 1 << (8 * t.sizeBytes());
      byte[] all = new byte[n * t.sizeBytes()];
      for (int code = 0; code < n; code++) {
        all[code * t.sizeBytes()] = (byte) code;
        if (t.sizeBytes() == 2) {
          all[code * 2 + 1] = (byte) (code >> 8);
        }
      }
      byte[] slow = new byte[all.length];
      ScalarNumerics.unary(op, t, all, 0, slow, 0, n);
      for (int turn = 0; turn < 2; turn++) {
        byte[] quick = new byte[all.length];
        Numerics.unary(op, t, all, 0, quick, 0, n);
        assertThat(quick).as("%s %s", op, t).isEqualTo(slow);
      }
    }
  }

  /** Floats of every upper half, on ties and beside them, and a walk through all. */
  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"F8E4M3", "F8E5M2"})
  void encodeBytes_floatsOfEveryKind_isTheRoundingOfTheWhole(DType t) {
    int[] lower = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    int walk = (int) ((1L << 32) / STRIDE);
    float[] x = new float[(lower.length << 16) + walk];
    for (int i = 0; i < x.length; i++) {
      int upper = i / lower.length;
      int bits = upper < 1 << 16 ? upper << 16 | lower[i % lower.length] : (int) (i * STRIDE);
      x[i] = Float.intBitsToFloat(bits);
    }
    byte[] codes = new byte[x.length];
    t.mini().encodeBytes(x, codes, 0, x.length);
    for (int i = 0; i < x.length; i++) {
      if ((codes[i] & 0xff) != t.mini().encode((double) x[i])) {
        assertThat(codes[i] & 0xff).as("%s", x[i]).isEqualTo(t.mini().encode((double) x[i]));
      }
    }
  }
}
