package org.kernbench.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The second process: silent about its module, otherwise like the first. */
class VectorProcessTest {
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

  @Test
  void run_manyOperations_usesVectorsInSilenceAndPassesTheExitCodeOn() throws Exception {
    Ended good = kernbench("run", "gemm-single-pe", "--format", "json");

    assertThat(good.err).isEmpty();
    assertThat(good.out).contains("\"status\": \"ok\"").contains("\"numerics\": \"vector-");
    assertThat(good.code).isZero();
  }

  @Test
  void run_fewOperations_staysInItsProcess() throws Exception {
    Ended good = kernbench("run", "hello-send", "--format", "json");

    assertThat(good.err).isEmpty();
    assertThat(good.out).contains("\"status\": \"ok\"").contains("\"numerics\": \"plain\"");
  }

  private record Ended(int code, String out, String err) {}

  private static Ended kernbench(String... args) throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC",
            "-Dkernbench.vectorFromGflop=0",
            "-cp",
            System.getProperty("java.class.path"),
            "org.kernbench.cli.Main");
    builder.command().addAll(List.of(args));
    Process process = builder.start();
    String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Ended(process.waitFor(), out, err);
  }
}
