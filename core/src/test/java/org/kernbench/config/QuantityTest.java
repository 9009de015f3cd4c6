package org.kernbench.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Isolated // sets the locale of the process
class QuantityTest {
  @ParameterizedTest
  @CsvSource({
    "SIZE, 2 MiB, 2097152",
    "SIZE, 2MB, 2000000",
    "SIZE, 0.5 KiB, 512",
    "BANDWIDTH, 512 GB/s, 512000000000",
    "BANDWIDTH, 1 GiB/s, 1073741824",
    "BANDWIDTH, 217.6 GB/s, 217600000000",
    "TIME, 14 ns, 14000",
    "TIME, 30.5 ns, 30500",
    "TIME, 0.001 ns, 1",
    "TIME, 1.5 us, 1500000",
    "TIME, 1000 s, 1000000000000000",
    "FREQUENCY, 2 GHz, 2000000000",
    "SIZE, 1 B, 1",
    "SIZE, 1 GiB, 1073741824",
    "SIZE, 1 TiB, 1099511627776",
    "SIZE, 1 kB, 1000",
    "SIZE, 1 KB, 1000",
    "SIZE, 1 GB, 1000000000",
    "SIZE, 1 TB, 1000000000000",
    "BANDWIDTH, 1 B/s, 1",
    "BANDWIDTH, 1 kB/s, 1000",
    "BANDWIDTH, 1 MB/s, 1000000",
    "BANDWIDTH, 1 TB/s, 1000000000000",
    "BANDWIDTH, 1 KiB/s, 1024",
    "BANDWIDTH, 1 MiB/s, 1048576",
    "BANDWIDTH, 1 TiB/s, 1099511627776",
    "TIME, 1 ms, 1000000000",
    "TIME, 1 s, 1000000000000",
    "FREQUENCY, 1 Hz, 1",
    "FREQUENCY, 1 kHz, 1000",
    "FREQUENCY, 1 MHz, 1000000",
  })
  void parse_numberWithUnit_isExact(Quantity kind, String text, long expected) {
    assertThat(kind.parse(text)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({
    "TIME, 14, without a unit; expected a time with its unit",
    "TIME, fast, 'got \"fast\"; expected a time'",
    "TIME, 14 nS, did you mean ns?",
    "TIME, 0.0001 ns, not a whole number of picoseconds",
    "TIME, 1.00000000000001 ns, not a whole number of picoseconds",
    "TIME, 1001 s, 'beyond the largest time we can hold, 1000 s'",
    "TIME, 1000.000000000001 s, beyond the largest time",
    "SIZE, 9223373 TB, beyond the largest size",
    "BANDWIDTH, 400 Gb/s, 'bits are not accepted, divide by 8'",
    "BANDWIDTH, 400 Gbps, 'bits are not accepted, divide by 8'",
    "BANDWIDTH, 400 gb/s, did you mean GB/s?",
    "SIZE, 2 GHz, 'unknown unit \"GHz\"'",
    "SIZE, '', 'got \"\"; expected a size'",
    "SIZE, 1e3 B, unknown unit",
    "SIZE, - B, 'got \"- B\"'",
  })
  void parse_wrongText_saysWhatWasExpected(Quantity kind, String text, String message) {
    assertThatThrownBy(() -> kind.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }

  /** The short way without BigDecimal agrees with BigDecimal on values, refusals and signs. */
  @Test
  void parse_randomDecimals_agreesWithDecimalArithmetic() {
    SplittableRandom random = new SplittableRandom(7);
    for (int i = 0; i < 20_000; i++) {
      long digits = random.nextLong(1_000_000_000_000L) - 500_000_000_000L;
      digits /= (long) Math.pow(10, random.nextInt(12));
      BigDecimal number = BigDecimal.valueOf(digits, random.nextInt(6));
      String text = number.toPlainString() + " ns";
      BigDecimal exact = number.multiply(BigDecimal.valueOf(1_000));
      if (exact.stripTrailingZeros().scale() <= 0) {
        assertThat(Quantity.TIME.parse(text)).as(text).isEqualTo(exact.longValueExact());
      } else {
        assertThatThrownBy(() -> Quantity.TIME.parse(text)).hasMessageContaining("whole number");
      }
    }
  }

  @Test
  void format_anyValue_parsesBackToIt() {
    for (Quantity kind : Quantity.values()) {
      for (long value : new long[] {0, 1, 999, 1000, 1024, 30_500, 1L << 40, 512_000_000_000L}) {
        assertThat(kind.parse(kind.format(value))).as("%s %d", kind, value).isEqualTo(value);
      }
    }
  }

  /** Of two ways to write a unit the first. */
  @Test
  void format_unitsOfOneFactor_isTheFirst() {
    assertThat(Quantity.SIZE.format(3000)).isEqualTo("3 kB");
    assertThat(Quantity.SIZE.parse("3 KB")).isEqualTo(3000);
  }

  @Test
  void formatRounded_severalMagnitudes_picksTheReadableUnit() {
    Locale before = Locale.getDefault();
    try {
      Locale.setDefault(Locale.GERMANY);
      assertThat(Quantity.BANDWIDTH.formatRounded(2.048e12, 2)).isEqualTo("2.05 TB/s");
      assertThat(Quantity.BANDWIDTH.formatRounded(8e11, 2)).isEqualTo("800 GB/s");
      assertThat(Quantity.SIZE.formatRounded(98_304.0, 1)).isEqualTo("96 KiB");
      assertThat(Quantity.TIME.formatRounded(0.0, 1)).isEqualTo("0 ps");
    } finally {
      Locale.setDefault(before);
    }
  }
}
