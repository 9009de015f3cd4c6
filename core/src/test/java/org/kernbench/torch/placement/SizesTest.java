package org.kernbench.torch.placement;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Sizes in messages. */
final class SizesTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0 B",
    "100, 100 B",
    "1023, 1023 B",
    "1024, 1 KiB",
    "1536, 1.5 KiB",
    "1049600, 1 MiB",
    "2147483648, 2 GiB",
    "1099511627776, 1 TiB",
    "1125899906842624, 1 PiB",
    "9007199254740992, 8 PiB",
    "1152921504606846976, 1024 PiB"
  })
  void of_eachUnit_isTheLargestThatFits(long bytes, String text) {
    assertThat(Sizes.of(bytes)).isEqualTo(text);
  }
}
