package org.kernbench.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The second process: silent about its module, otherwise like the first. */
class VectorProcessTest {
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
