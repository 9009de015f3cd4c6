package org.kernbench.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the second process says of its module is left out of what it says, once. */
final class RemarkTest {
  @ParameterizedTest
  @CsvSource(
      ignoreLeadingAndTrailingWhitespace = false,
      nullValues = "-",
      value = {
        "W: x|,",
        "W: x|a|,a|",
        "a|W: x|b|,a|b|",
        "W: x|W: x|,W: x|",
        "W: xy|,W: xy|",
        "aW: x|,aW: x|",
        "W:,W:",
        "W: x,W: x",
        "|W: x|b,|b",
        "1 of 2,1 of 2",
        "W: x~|b,b"
      })
  void copyWithout_remarkAnywhere_dropsThatLineOnce(String from, String to) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();

    VectorProcess.copyWithout("W: x", new ByteArrayInputStream(bytes(from)), out);

    assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo(new String(bytes(to)));
  }

  private static byte[] bytes(String text) {
    String lines = text == null ? "" : text.replace('|', '\n').replace('~', '\r');
    return lines.getBytes(StandardCharsets.UTF_8);
  }
}
