package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.sweep.SweepRunner;

/** Exit codes, messages and files of {@code kernbench sweep}, all in this process. */
final class SweepCommandTest {
  private static final Param<Integer> N = Param.integer("n", 1, 1, 9, "what becomes of the point");

  @TempDir private Path directory;

  /** Its points end well but for 3 and 4, refused, 5, lost with its worker, and 7, without work. */
  private static final class Fragile implements Bench {
    private static final Bench GOOD = BenchRegistry.standard().find("pe-dma");

    @Override
    public String name() {
      return "fragile";
    }

    @Override
    public String description() {
      return "ends as its parameter says";
    }

    @Override
    public List<Param<?>> params() {
      return Stream.concat(Stream.of(N), GOOD.params().stream()).toList();
    }

    @Override
    public Outcome run(BenchContext context) {
      return switch (context.param(N)) {
        case 3, 4 -> throw new UsageException("n: no such run");
        case 5 -> throw new SweepRunner.WorkerLostException("its process was killed");
        case 7 -> Outcome.on(context.machine());
        default -> GOOD.run(context);
      };
    }
  }

  private Session sweep(String... options) {
    String[] words = {"sweep", "--jobs", "1", "--out", directory.resolve("out").toString()};
    return Session.of(
        BenchRegistry.of(List.of(new Fragile())),
        Stream.concat(Stream.of(words), Stream.of(options)).toArray(String[]::new));
  }

  private Session points(String values, String... options) {
    String[] words = {"fragile", "--topology", "tiny", "--vary", "n=" + values};
    return sweep(Stream.concat(Stream.of(words), Stream.of(options)).toArray(String[]::new));
  }

  /** 2 only if every point was refused: then the call is wrong, not the runs. */
  @ParameterizedTest
  @CsvSource({
    "'1,2', 0, 2",
    "'1,7', 1, 2",
    "'7', 1, 1",
    "'1,3', 1, 2",
    "'3,7', 1, 2",
    "'3,4', 2, 2",
    "'1,5', 1, 1",
    "'5', 1, 0",
    "'3,5', 1, 1"
  })
  void exitCode_saysWhatBecameOfThePoints(String values, int exitCode, int rows)
      throws IOException {
    Session session = points(values, "--format", "csv");

    assertThat(session.exitCode()).as(session.err()).isEqualTo(exitCode);
    assertThat(session.out().lines()).hasSize(rows == 0 ? 0 : 1 + rows);
    assertThat(Files.readString(directory.resolve("out/results.csv"))).isEqualTo(session.out());
  }

  @Test
  void pointsThatWereLostOrFailed_areNamed_alsoIfQuiet() {
    Session session = points("1,5,7,3", "--quiet");

    assertThat(session.err().lines())
        .containsExactly(
            "kernbench: point n=5: its process was killed",
            "kernbench: 2 of 4 points failed, first n=7 (bench fragile submitted no work; a bench"
                + " launches at least one kernel or collective); column problems of the results has"
                + " the others");
    assertThat(session.exitCode()).isEqualTo(1);
    assertThat(points("1,2", "--resume").err()).isEmpty();
  }

  @Test
  void formats_areTheFilesThatItWrites() throws IOException {
    Session text = points("1,2");
    String json = points("1,2", "--resume", "--format", "json").out();

    assertThat(text.out())
        .startsWith("sweep       fragile   (kernbench development, 2 points)\n")
        .endsWith("\nstore       " + directory.resolve("out/results.sqlite") + "\n");
    assertThat(json).isEqualTo(Files.readString(directory.resolve("out/results.json")));
    assertThat(points("1,2", "--resume").out()).contains("2 points, 2 of them before)");
  }

  /** What the command line says goes before what the file says. */
  @Test
  void file_saysWhereResultsGo_unlessTheCommandLineDoes() throws IOException {
    Path there = directory.resolve("there");
    Path file =
        Files.writeString(
            directory.resolve("sweep.yaml"),
            """
            bench: fragile
            topology: tiny
            vary: {n: [1, 2]}
            jobs: 1
            out: %s
            """
                .formatted(there));
    BenchRegistry benches = BenchRegistry.of(List.of(new Fragile()));

    assertThat(Session.of(benches, "sweep", file.toString()).exitCode()).isZero();
    assertThat(there.resolve("results.csv")).exists();
    assertThat(directory.resolve("out")).doesNotExist();

    assertThat(sweep(file.toString()).exitCode()).isZero();
    assertThat(directory.resolve("out/results.csv")).exists();
  }

  @Test
  void warnings_areSaidUnlessQuiet() {
    String[] words = {"sweep", "ccl-allreduce", "--topology", "tiny", "--mode", "time"};
    String[] grid = {"--vary", "algorithm=root_center,ring", "--param", "n_elem=64", "--jobs", "1"};
    String[] two = {"--set", "system.sips.count=2", "--resume", "--out", directory.toString()};
    String[] all = Stream.of(words, grid, two).flatMap(Stream::of).toArray(String[]::new);

    Session loud = Session.of(all);
    Session quiet =
        Session.of(Stream.concat(Stream.of(all), Stream.of("-q")).toArray(String[]::new));

    assertThat(loud.err().lines())
        .hasSize(2)
        .allMatch(line -> line.startsWith("kernbench: warning: algorithm also changes rank"));
    assertThat(quiet.err()).isEmpty();
    assertThat(quiet.exitCode()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "'', 'no bench given; expected --bench NAME, or a YAML file'",
    "'fragile --bench other', 'two benches given, fragile and --bench other; sweep takes one'"
  })
  void wrongCall_isRefusedWithTheReason(String words, String reason) {
    Session session = sweep(words.isEmpty() ? new String[0] : words.split(" "));

    assertThat(session.exitCode()).isEqualTo(2);
    assertThat(session.err()).isEqualTo("kernbench: " + reason + "\n");
    assertThat(directory.resolve("out")).doesNotExist();
  }

  @Test
  void bench_namedTwiceAlike_isOne() {
    Session session = points("1", "--bench", "fragile");

    assertThat(session.exitCode()).as(session.err()).isZero();
  }
}
