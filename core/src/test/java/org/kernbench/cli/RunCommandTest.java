package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Illustrated;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.figures.Chart;
import org.kernbench.eval.figures.Figure;

/** What {@code kernbench run} writes and refuses, with a bench that has figures. */
final class RunCommandTest {
  private static final List<String> FIGURES = List.of("summary.csv", "one.png", "one.svg");

  @TempDir private Path directory;

  /** Two points, and a figure of them; the rows say how often it has run. */
  private static final class Drawn implements Illustrated {
    private final AtomicInteger runs = new AtomicInteger();

    @Override
    public String name() {
      return "drawn";
    }

    @Override
    public String description() {
      return "has a figure";
    }

    @Override
    public List<Param<?>> params() {
      return List.of();
    }

    @Override
    public Outcome run(BenchContext context) {
      int run = runs.incrementAndGet();
      Outcome outcome = Outcome.on(context.machine("tiny", List.of())).simulated(1, "");
      for (int bytes = 8; bytes <= 16; bytes *= 2) {
        String point = "bytes=" + bytes;
        if (context.runs(point)) {
          context.took(point, bytes);
          Map<String, Object> row = new LinkedHashMap<>();
          row.put("bytes", bytes);
          row.put("run", run);
          outcome.row(row);
        }
      }
      return outcome;
    }

    @Override
    public List<Figure> figures(List<Map<String, String>> rows) {
      return List.of(Chart.of("One", rows).lines("one", "bytes", "run", ""));
    }
  }

  private final Drawn bench = new Drawn();

  private Session run(String... options) {
    String[] words = {"run", "drawn", "--out", directory.resolve("out").toString()};
    return Session.of(
        BenchRegistry.of(List.of(bench)),
        Stream.concat(Stream.of(words), Stream.of(options)).toArray(String[]::new));
  }

  private String written() {
    StringBuilder text = new StringBuilder();
    for (String name : FIGURES) {
      text.append("wrote       ").append(directory.resolve("out").resolve(name)).append('\n');
    }
    return text.toString();
  }

  private List<String> files() throws IOException {
    try (Stream<Path> all = Files.list(directory.resolve("out"))) {
      return all.map(f -> f.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void benchWithFigures_drawsThem_andSaysWhere() throws IOException {
    Session text = run();

    assertThat(text.exitCode()).as(text.err()).isZero();
    assertThat(text.out()).startsWith("bench ").endsWith("\n\n" + written());
    assertThat(files()).containsAll(FIGURES).contains("result.json");
    assertThat(Files.readString(directory.resolve("out/summary.csv")))
        .matches("(?s)bench,machine,machine_hash,mode,.*,bytes,run\n.*,8,1\n.*,16,1\n");
  }

  /** Other formats are for programs: they hold the result and nothing else. */
  @ParameterizedTest
  @CsvSource({"json, {", "csv, 'bench,'"})
  void otherFormats_sayNothingOfFiles(String format, String begin) throws IOException {
    Session session = run("--format", format);

    assertThat(session.out()).startsWith(begin).doesNotContain("wrote");
    assertThat(session.err()).isEmpty();
    assertThat(files()).containsAll(FIGURES);
  }

  @Test
  void fast_drawsAgain_withoutARun() throws IOException {
    run();
    byte[] before = Files.readAllBytes(directory.resolve("out/one.svg"));
    Files.delete(directory.resolve("out/one.svg"));

    Session fast = run("--fast");

    assertThat(fast.exitCode()).as(fast.err()).isZero();
    assertThat(fast.out()).isEqualTo("\n" + written());
    assertThat(bench.runs.get()).isEqualTo(1);
    assertThat(Files.readAllBytes(directory.resolve("out/one.svg"))).isEqualTo(before);
  }

  /** One point is no figure: the folder holds the run alone. */
  @Test
  void point_hasNoFigure() throws IOException {
    Session point = run("--point", "2");

    assertThat(point.exitCode()).as(point.err()).isZero();
    assertThat(point.out()).doesNotContain("wrote");
    assertThat(files()).doesNotContainAnyElementsOf(FIGURES).contains("result.json");
  }

  private Session hello(String... options) {
    return Session.of(
        Stream.concat(Stream.of("run", "hello-send", "--topology", "tiny"), Stream.of(options))
            .toArray(String[]::new));
  }

  /** What was written beside the result is said on standard error, unless nobody asks. */
  @Test
  void traces_areSaidUnlessQuiet() {
    String[] both = {
      "--trace", directory.resolve("t.json").toString(),
      "--export-chakra", directory.resolve("et").toString()
    };
    List<String> run = List.of("run", "ccl-allreduce", "--topology", "tiny", "--param", "n_elem=8");
    Session loud = Session.of(Stream.concat(run.stream(), Stream.of(both)).toArray(String[]::new));
    Session quiet =
        Session.of(
            Stream.of(run.stream(), Stream.of(both), Stream.of("-q"))
                .flatMap(s -> s)
                .toArray(String[]::new));

    assertThat(loud.exitCode()).as(loud.err()).isZero();
    List<String> said = loud.err().lines().toList();
    assertThat(said).hasSize(2);
    assertThat(said.get(0))
        .startsWith("kernbench: trace: " + directory.resolve("t.json") + ", ")
        .endsWith(" counter values; open it at ui.perfetto.dev");
    assertThat(said.get(1)).startsWith("kernbench: chakra: " + directory.resolve("et") + ", ");
    assertThat(quiet.err()).isEmpty();
    assertThat(directory.resolve("t.json")).exists();
    assertThat(directory.resolve("et")).isNotEmptyDirectory();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--mode values --check | --check: mode values has no order in time to check; use --mode full, or time for order and messages only",
        "--mode values --trace t.json | --trace: mode values keeps no operations to trace; use --mode full or time",
        "--mode values --export-chakra et | --export-chakra: mode values keeps no operations to trace; use --mode full or time",
        "--fast | --fast: bench hello-send has no figures; leave it out",
        "--inject skip-row-sum | --inject: bench hello-send makes no mistakes; expected one that trains, e.g. transformer-block, train-step or mimo-train-step",
        "--bench gelu | two benches given, hello-send and --bench gelu; run takes one",
        "--mode time --verify | --verify compares all modes with mode full, so --mode cannot be given with it; leave out one of the two",
      })
  void options_thatDoNotFit_areRefused(String options, String message) {
    Session session = hello(options.split(" "));

    assertThat(session.exitCode()).isEqualTo(2);
    assertThat(session.err()).isEqualTo("kernbench: " + message + "\n");
    assertThat(session.out()).isEmpty();
  }

  @Test
  void bench_namedTwiceAlike_isOne_andNoneIsRefused() {
    assertThat(hello("--bench", "hello-send", "--mode", "time").exitCode()).isZero();
    Session none = Session.of("run");
    assertThat(none.exitCode()).isEqualTo(2);
    assertThat(none.err())
        .isEqualTo("kernbench: no bench given; expected --bench NAME, see kernbench list\n");
  }
}
