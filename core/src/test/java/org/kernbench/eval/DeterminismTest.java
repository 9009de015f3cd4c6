package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.eval.benches.BenchRegistry;

/** Same inputs, same bytes: however often, on however many carriers, in whatever process. */
final class DeterminismTest {
  private static final RunOptions SMALL =
      RunOptions.DEFAULT
          .withOverrides(List.of("sip.cube_mesh.w=2", "sip.cube_mesh.h=2"))
          .withParams(List.of("n_elem=500", "pattern=mixed"));

  private static RunResult run() {
    return Runner.of("test", Progress.SILENT)
        .run(BenchRegistry.standard().find("ccl-allreduce"), SMALL);
  }

  @Test
  void allReduce_hundredTimes_hasOneHash() {
    Set<String> hashes = new HashSet<>();
    Set<Object> times = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      RunResult result = run();
      assertThat(result.isOk()).isTrue();
      hashes.add(result.sim().opLogHash());
      times.add(result.metrics().get("crit_ns"));
    }
    assertThat(hashes).hasSize(1);
    assertThat(times).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 8})
  void allReduce_inAnotherProcess_hasTheSameHash(int carriers)
      throws IOException, InterruptedException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    String classPath =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    Process process =
        new ProcessBuilder(
                java,
                "-XX:+UseSerialGC",
                "-Djdk.virtualThreadScheduler.parallelism=" + carriers,
                "-cp",
                classPath,
                "org.kernbench.cli.Main",
                "run",
                "ccl-allreduce",
                "--set",
                "sip.cube_mesh.w=2",
                "--set",
                "sip.cube_mesh.h=2",
                "--param",
                "n_elem=500",
                "--param",
                "pattern=mixed",
                "--format",
                "json",
                "--quiet")
            .redirectErrorStream(true)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();

    assertThat(process.exitValue()).as(output).isZero();
    assertThat(output).contains("\"op_log_hash\": \"" + run().sim().opLogHash() + "\"");
  }
}
