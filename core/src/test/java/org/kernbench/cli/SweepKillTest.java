package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.eval.sweep.ResultStore;

/**
 * A sweep that is killed at random moments (SIGKILL: nothing of it can clean up) and resumed ends
 * with the bytes of the one that was left alone.
 */
final class SweepKillTest {
  @TempDir private Path directory;

  @Test
  void sweep_killedTwiceThenResumed_equalsTheUninterruptedOne() throws Exception {
    killAndCompare(30, 2, 1, 17);
  }

  @Test
  @Tag("slow")
  void sweep_of200PointsKilled20Times_equalsTheUninterruptedOne() throws Exception {
    killAndCompare(200, 20, 2, 1);
  }

  private void killAndCompare(int points, int kills, int jobs, long seed) throws Exception {
    String sizes =
        IntStream.rangeClosed(1, points)
            .mapToObj(Integer::toString)
            .collect(Collectors.joining(","));
    Path whole = directory.resolve("whole");
    Path killed = directory.resolve("killed");
    assertThat(Session.of(command(sizes, whole, 1).toArray(String[]::new)).exitCode()).isZero();

    Random random = new Random(seed);
    int died = 0;
    for (int k = 1; k <= kills; k++) {
      Process process = start(command(sizes, killed, jobs));
      awaitRows(process, killed, points * (k - 1) / (kills + 1));
      Thread.sleep(random.nextInt(150));
      died += process.isAlive() ? 1 : 0;
      process.destroyForcibly().waitFor();
    }
    assertThat(died).as("killed while it ran").isGreaterThanOrEqualTo(kills / 2);
    Process last = start(command(sizes, killed, jobs));
    assertThat(last.waitFor(120, TimeUnit.SECONDS)).isTrue();
    assertThat(last.exitValue()).isZero();

    for (String file : List.of("results.csv", "results.json")) {
      assertThat(killed.resolve(file)).hasSameBinaryContentAs(whole.resolve(file));
    }
    try (ResultStore store = ResultStore.open(killed.resolve("results.sqlite"))) {
      assertThat(store.check()).isEqualTo("ok");
      assertThat(store.keys()).hasSize(points);
    }
  }

  private static List<String> command(String sizes, Path out, int jobs) {
    return List.of(
        "sweep",
        "hello-send",
        "--topology",
        "tiny",
        "--vary",
        "n_elem=" + sizes,
        "--out",
        out.toString(),
        "--jobs",
        Integer.toString(jobs),
        "--resume");
  }

  private static Process start(List<String> arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.add(Main.class.getName());
    command.addAll(arguments);
    return new ProcessBuilder(command)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .redirectError(ProcessBuilder.Redirect.DISCARD)
        .start();
  }

  /** Until the store has some rows, so that kills are spread over the sweep, not over its start. */
  private static void awaitRows(Process process, Path out, int rows) throws Exception {
    Path file = out.resolve("results.sqlite");
    while (process.isAlive()) {
      if (rows == 0 || (Files.exists(file) && rowsOf(file) >= rows)) {
        return;
      }
      Thread.sleep(20);
    }
  }

  private static int rowsOf(Path file) {
    try (ResultStore store = ResultStore.open(file)) {
      return store.keys().size();
    }
  }
}
