package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * {@code kernbench trace}: what is written is what is checked and run, with the options of both.
 */
final class TraceCommandTest {
  private static final Pattern TIME = Pattern.compile("\"observed_ns\": [0-9.]+");

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

  /** Of each rank what it does: as many layers as asked for, forwards and backwards, and sums. */
  @Test
  void lint_saysWhatEachRankDoes() {
    assertThat(sample("data-parallel", "--ranks", "2", "--layers", "3").exitCode()).isZero();

    String json = Session.of("trace", "lint", folder.toString(), "--format", "json").out();

    for (int rank = 0; rank < 2; rank++) {
      assertThat(json).containsPattern("\"rank\": " + rank + ",\\s+\"nodes\": \\d+");
    }
    assertThat(json).doesNotContain("\"rank\": 2");
  }

  @Test
  void sample_ofAsManyLayersAsAllowed_isWritten_andOneMoreIsRefused() {
    assertThat(sample("data-parallel", "--ranks", "1", "--layers", "1000").exitCode()).isZero();
    assertThat(sample("data-parallel", "--ranks", "1", "--layers", "1").exitCode()).isZero();
    for (String layers : new String[] {"0", "1001"}) {
      Session refused = sample("data-parallel", "--ranks", "1", "--layers", layers);
      assertThat(refused.exitCode()).isEqualTo(2);
      assertThat(refused.err())
          .isEqualTo("kernbench: --layers: got " + layers + "; expected 1 to 1000\n");
    }
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

  /** Each mistake is one message with its place, and nothing is run. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "missing_collective | deadlock: rank 3 comes to 15 of the 16 collectives",
        "other_size | both collective 15 of their group; expected ranks to agree",
        "cycle | nodes that wait for each other: node 0",
        "cut_off | tensor_parallel.3.et: byte "
      })
  void sample_withAMistake_isRefused(String mistake, String message) {
    assertThat(sample("tensor-parallel", "--mistake", mistake).exitCode()).isZero();
    for (String command : List.of("lint", "run")) {
      Session refused = Session.of("trace", command, folder.toString());
      assertThat(refused.exitCode()).isEqualTo(2);
      assertThat(refused.out()).isEmpty();
      assertThat(refused.err().lines()).hasSize(1);
      assertThat(refused.err()).contains(message);
    }
  }

  /** What is written is what {@code run --export-chakra} writes, and takes as long for the host. */
  @Test
  void export_thenRun_takesTheSameTime() {
    String[] same = {"--param", "algorithm=ring", "--param", "rank_level=sip", "--format", "json"};
    List<String> args = new ArrayList<>(List.of("trace", "export", "ccl-allreduce", "--out"));
    args.add(folder.toString());
    args.addAll(List.of(same));
    Session export = Session.of(args.toArray(String[]::new));
    assertThat(export.exitCode()).isZero();
    List<String> again = new ArrayList<>(List.of("trace", "run", folder.toString()));
    again.addAll(List.of(same));
    Session run = Session.of(again.toArray(String[]::new));

    assertThat(run.exitCode()).isZero();
    Matcher time = TIME.matcher(export.out());
    assertThat(time.find()).isTrue();
    assertThat(run.out()).contains(time.group());
  }

  @Test
  void filesOneByOne_areThoseOfTheirName() {
    assertThat(sample("pipeline", "--ranks", "2").exitCode()).isZero();
    String first = folder.resolve("pipeline.0.et").toString();
    String second = folder.resolve("pipeline.1.et").toString();
    Session all = Session.of("trace", "lint", first, second);
    assertThat(all.exitCode()).isZero();
    assertThat(all.out())
        .isEqualTo(Session.of("trace", "lint", folder.resolve("pipeline").toString()).out());
    String byName = folder.resolve("pipeline").toString();
    assertThat(Session.of("trace", "run", first, second, "--format", "csv").out())
        .contains(",ok,")
        .isEqualTo(Session.of("trace", "run", byName, "--format", "csv").out());
    String[] run = {"trace", "run", first, "--topology", second};
    assertThat(Session.of(run).err()).as("an option's value").contains("pipeline.1.et");
    Session others = Session.of("trace", "lint", first, folder.resolve("b.1.et").toString());
    assertThat(others.exitCode()).isEqualTo(2);
    assertThat(others.err()).contains("expected those of one run, name.0.et, name.1.et, ..");
  }

  @Test
  void nothingThatTakesTime_isToldSo() throws Exception {
    for (int rank = 0; rank < 2; rank++) {
      Files.writeString(folder.resolve("t." + rank + ".json"), "{\"version\": \"1.0.0\"}");
    }
    Session run = Session.of("trace", "run", folder.resolve("t").toString());
    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).contains("nothing in the traces takes time (0 steps)", "--roofline");
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
