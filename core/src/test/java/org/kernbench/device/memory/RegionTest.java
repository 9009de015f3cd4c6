package org.kernbench.device.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.VirtualAddress;

/** Runs of bytes at the limits of what they may be. */
final class RegionTest {
  private static final VirtualAddress AT = new VirtualAddress(VirtualAddress.BASE);

  @ParameterizedTest
  @CsvSource({"0, 0, 0", "0, 8, 0", "3, 0, 0", "1, 8, 0", "2, 8, 8", "2, 8, 9"})
  void region_thatCanBe_hasItsBytes(int rows, int rowBytes, long stride) {
    assertThat(new Region(AT, rows, rowBytes, stride).bytes()).isEqualTo(rows * rowBytes);
  }

  @ParameterizedTest
  @CsvSource({"-1, 8, 8", "2, -1, 8", "2, 8, 7", "-1, -1, 0"})
  void region_thatCannotBe_isRefused(int rows, int rowBytes, long stride) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Region(AT, rows, rowBytes, stride))
        .withMessage(
            """
            region of %s rows of %s bytes, stride %s: expected sizes of at least 0 and a stride of \
            at least one row\
            """
                .formatted(rows, rowBytes, stride));
  }

  @Test
  void region_ofMoreBytesThanAnIntHolds_isRefused() {
    assertThat(new Region(AT, 1, Integer.MAX_VALUE, 0).bytes()).isEqualTo(Integer.MAX_VALUE);
    org.assertj.core.api.Assertions.assertThatThrownBy(() -> new Region(AT, 2, 1 << 30, 1L << 30))
        .isInstanceOf(ArithmeticException.class);
  }
}
