package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.kernbench.eval.benches.BenchRegistry;

/** What the launcher trains with runs; it would fall back to less without a word. */
final class TrainingTest {
  @Test
  void commandLinesOfTheLauncher_allSucceed() throws IOException {
    String launcher = Files.readString(Path.of("..", "kernbench"));
    List<String> lines =
        Pattern.compile("(?m)^(?:main_job|small_ring)='(.+)'$")
            .matcher(launcher)
            .results()
            .map((MatchResult m) -> m.group(1))
            .toList();
    assertThat(lines).hasSize(2);
    assertThat(launcher).contains(Training.class.getName());
    for (String line : lines) {
      StringWriter errors = new StringWriter();
      Terminal terminal =
          Terminal.on(OutputStream.nullOutputStream(), new PrintWriter(errors), false, false);
      int exitCode = Main.execute(terminal, BenchRegistry.standard(), line.split(" "));
      assertThat(exitCode).as("%s: %s", line, errors).isZero();
    }
  }
}
