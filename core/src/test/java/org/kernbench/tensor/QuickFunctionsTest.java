package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.math.MathContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The quick evaluations against the slow ones. How near both are to the true values is the business
 * of {@link RealFunctionsTest}.
 */
final class QuickFunctionsTest {
  /** A prime: every exponent, sign and low bit is met. */
  private static final long STRIDE = 12_289;

  @ParameterizedTest
  @EnumSource(UnaryOp.class)
  void apply_floatsOfEveryKind_givesTheBitsOfTheSlowEvaluation(UnaryOp op) {
    if (!QuickFunctions.has(op)) {
      return;
    }
    for (long bits = 0; bits < 1L << 32; bits += STRIDE) {
      float x = Float.intBitsToFloat((int) bits);
      float slow = (float) RealFunctions.apply(op, (double) x);
      float quick = QuickFunctions.apply(op, x);
      if (Float.floatToIntBits(quick) != Float.floatToIntBits(slow)) {
        assertThat(quick).as("%s(%s)", op, x).isEqualTo(slow);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(UnaryOp.class)
  void apply_blocks_givesTheBitsOfOneByOne(UnaryOp op) {
    if (!QuickFunctions.has(op)) {
      return;
    }
    byte[] bytes = Operands.mixed(DType.F32, 5000, op.ordinal());
    float[] x = new float[5000];
    float[] one = new float[5000];
    for (int i = 0; i < x.length; i++) {
      x[i] = (float) DType.F32.getDouble(bytes, 4 * i);
      one[i] = QuickFunctions.apply(op, x[i]);
    }
    QuickFunctions.apply(op, x, x.length);
    assertThat(x).isEqualTo(one);
  }

  /** Against the square of the exponential of half the argument in 40 digits. */
  @Test
  void exp_wholeRange_isWithinFiveTenthsOfAPetaPart() {
    MathContext digits = new MathContext(40);
    for (int i = -699; i < 700; i++) {
      double x = i + i / 1024.0;
      BigDecimal reduced = new BigDecimal(x).divide(new BigDecimal(4096), digits);
      BigDecimal term = BigDecimal.ONE;
      BigDecimal sum = BigDecimal.ONE;
      for (int k = 1; k < 40; k++) {
        term = term.multiply(reduced, digits).divide(new BigDecimal(k), digits);
        sum = sum.add(term, digits);
      }
      BigDecimal exact = sum.pow(4096, digits);
      BigDecimal error = new BigDecimal(QuickFunctions.exp(x)).subtract(exact);
      assertThat(error.divide(exact, digits).abs().doubleValue())
          .as("exp(%s)", x)
          .isLessThan(5e-16);
    }
  }
}
