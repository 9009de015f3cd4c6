package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code kernbench trace}: what is written is what is checked and run, with the options of both.
 */
final class TraceCommandTest {
  @TempDir private Path folder;

  private Session sample(String kind, String... more) {
    String[] args = new String[5 + more.length];
    System.arraycopy(
        new String[] {"trace", "sample", kind, "--out", folder.toString()}, 0, args, 0, 5);
    System.arraycopy(more, 0, args, 5, more.length);
    return Session.of(args);
  }

  @Test
  void sample_thenLint_countsWhatIsThere() {
    assertThat(sample("pipeline", "--ranks", "3").exitCode()).isZero();
    Session lint = Session.of("trace", "lint", folder.toString(), "--format", "json");

    // two micro-batches a stage, each once forwards and once backwards over two links
    assertThat(lint.exitCode()).isZero();
    assertThat(lint.out())
        .contains("\"nodes\": 84", "\"steps\": 60")
        .contains("{\"operation\": \"message\", \"ranks\": 2, \"bytes\": 1048576, \"calls\": 24}");
  }

  @Test
  void lint_whatCannotRun_endsWith2_andOneMessage() throws Exception {
    sample("data-parallel", "--ranks", "2");
    Files.writeString(folder.resolve("data_parallel.1.et"), "no trace");
    Session lint = Session.of("trace", "lint", folder.toString());

    assertThat(lint.exitCode()).isEqualTo(2);
    assertThat(lint.out()).isEmpty();
    assertThat(lint.err().lines()).hasSize(1);
    assertThat(lint.err()).contains("data_parallel.1.et: byte", "no message of a trace");
  }

  @Test
  void run_handsItsOptionsOn() {
    sample("experts", "--ranks", "2", "--layers", "1");
    Session run =
        Session.of(
            "trace",
            "run",
            folder.toString(),
            "--roofline",
            "--format",
            "json",
            "--param",
            "dtype=f32");

    assertThat(run.exitCode()).isZero();
    assertThat(run.out())
        .contains("\"compute\": \"roofline\"", "\"dtype\": \"f32\"", "\"mode\": \"time\"")
        .contains("\"operation\": \"all_to_all\"");
  }

  @Test
  void badInput_saysWhatIsExpected() {
    assertThat(sample("pipelines").err()).contains("expected one of", "did you mean pipeline");
    assertThat(sample("pipeline", "--ranks", "0").err())
        .contains("--ranks: got 0; expected 1 to 4096");
    assertThat(Session.of("trace").err()).contains("missing command; expected trace lint");
    Session none = Session.of("trace", "run", folder.resolve("none").toString());
    assertThat(none.exitCode()).isEqualTo(2);
    assertThat(none.err()).contains("no trace; expected files none.0.et");
  }
}
