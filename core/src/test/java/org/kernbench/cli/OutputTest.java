package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.benches.TestBenches;

/** What good command lines print, sealed by golden files; wall time and speed are masked. */
final class OutputTest {
  private static final String[] SMALL = {
    "--topology", "tiny", "--param", "n_elem=1000", "--param", "pattern=mixed"
  };

  @TempDir private Path directory;

  private static Session run(String bench, String... options) {
    return Session.of(
        Stream.concat(Stream.of("run", bench), Stream.of(options)).toArray(String[]::new));
  }

  private static void check(String golden, Session session) {
    assertThat(session.exitCode()).as(session.err()).isZero();
    assertThat(session.err()).isEmpty();
    Golden.check("output/" + golden, Golden.masked(session.out()));
  }

  @Test
  void json_ofAllReduce_hasTheSchema() {
    check("ccl-allreduce.json", run("ccl-allreduce", concat(SMALL, "--format", "json")));
  }

  @Test
  void tune_ofCubes_writesTheTable() throws IOException {
    Path table = directory.resolve("table.yaml");
    String[] words = {"tune", "--topology", "tiny", "--rank-level", "cube", "--out"};
    String[] calls = {"--op", "all_reduce,broadcast", "--sizes", "64 B,6 KiB", "--dtype", "f32"};
    Session session = Session.of(concat(concat(words, table.toString()), calls));
    assertThat(session.exitCode()).as(session.err()).isZero();
    Golden.check("output/tune.txt", session.out().replace(directory.toString(), "$DIR"));
    Golden.check("output/tune-table.txt", Files.readString(table));
    String[] less = {"tune", "--topology", "tiny", "--rank-level", "pe", "--ranks", "4", "--all"};
    check("tune-all.txt", Session.of(concat(less, "--sizes", "100 B")));
  }

  @Test
  void text_ofACheckedRun() {
    check("hello-send-checked.txt", run("hello-send", "--topology", "tiny", "--check"));
  }

  @Test
  void text_ofAllReduce() {
    check("ccl-allreduce.txt", run("ccl-allreduce", SMALL));
  }

  @Test
  void explain_ofAllReduce() {
    check("explain.txt", Session.of(concat(new String[] {"explain", "ccl-allreduce"}, SMALL)));
  }

  @Test
  void explain_ofAllReduce_verified() {
    String[] words = {"explain", "ccl-allreduce", "--verify-sensitivities", "--rows", "4"};
    check("explain-verified.txt", Session.of(concat(words, SMALL)));
  }

  @Test
  void explain_json_hasTheSchema() {
    String[] words = {"explain", "hello-send", "--topology", "tiny", "--format", "json"};
    check("explain.json", Session.of(words));
  }

  @Test
  void layoutGroups_ofAViewedGrid() {
    String[] words = {"layout", "groups", "tp=2,dp=2,pp=2", "--dims", "tp,pp", "--dims", "dp"};
    String[] view = {"--view", "expert:expt_tp=2,ep=2,pp=2:pp", "--dims", "expert:ep"};
    check("layout-groups.txt", Session.of(concat(words, view)));
    check("layout-groups.json", Session.of(concat(concat(words, view), "--format", "json")));
    check("layout-groups-all.txt", Session.of("layout", "groups", "tp=2,cp=3,dp=1,offset=4"));
  }

  @Test
  void layoutCheck_ofTwoLayouts() {
    String[] words = {"layout", "check", "tp=1,dp=2:tp=2,dp=1:sp", "tp=2,dp=1:tp=1,cp=2,dp=1"};
    check("layout-check.txt", Session.of(concat(words, "--steps", "2")));
    check("layout-check.json", Session.of(concat(words, "--no-time", "--format", "json")));
  }

  @Test
  void layoutCheck_ofAMistake_namesIt() {
    String[] words = {"layout", "check", "tp=1,dp=2:tp=1,cp=2,dp=1", "--no-time", "--inject"};
    Session session = Session.of(concat(words, "skip-cp-reduce"));

    assertThat(session.exitCode()).isEqualTo(1);
    Golden.check("output/layout-check-fault.txt", Golden.masked(session.out()));
    assertThat(Session.of(concat(words, "skip-cp-reduce", "--format", "json")).out())
        .contains("\"equal\": false", "\"cause\": \"cp_sum_missing\"", "\"rank\": 0");
  }

  @Test
  void layoutBridge_fanOutWithContext() {
    String[] words = {"layout", "bridge", "--src", "tp=4,dp=1", "--dest", "tp=1,cp=2,dp=2"};
    String[] size = {"--batch", "4", "--tokens", "64", "--hidden", "256"};
    check("layout-bridge.txt", Session.of(concat(words, size)));
    check("layout-bridge.json", Session.of(concat(concat(words, size), "--format", "json")));
    check(
        "layout-bridge-plan.txt",
        Session.of(
            "layout",
            "bridge",
            "--no-time",
            "--src",
            "tp=1,cp=2,dp=4,offset=2",
            "--dest",
            "tp=4,dp=2,offset=2",
            "--source-cp"));
  }

  @Test
  void layoutBridge_betweenRanksApart() {
    String[] words = {"layout", "bridge", "--src", "tp=2,dp=1", "--dest", "tp=2,dp=2,offset=2"};
    String[] size = {"--batch", "4", "--tokens", "64", "--hidden", "256"};
    check("layout-bridge-apart.txt", Session.of(concat(words, size)));
    check("layout-bridge-apart.json", Session.of(concat(concat(words, size), "--format", "json")));
  }

  @Test
  void diff_ofTwoMessages() {
    String a = directory.resolve("a").toString();
    String b = directory.resolve("b").toString();
    run("hello-send", "--topology", "tiny", "--out", a);
    run("hello-send", "--topology", "tiny", "--set", "cube.hbm.latency=60 ns", "--out", b);
    check("diff.txt", Session.of("diff", a, b));
    check("diff.json", Session.of("diff", a, b, "--format", "json"));
    String[] one = {"explain", "hello-send", "--topology", "tiny"};
    assertThat(Session.of("explain", a).out()).isEqualTo(Session.of(one).out());
  }

  @Test
  void csv_ofAllReduce() {
    check("ccl-allreduce.csv", run("ccl-allreduce", concat(SMALL, "--format", "csv")));
  }

  @ParameterizedTest
  @CsvSource({"text,probe.txt", "json,probe.json", "csv,probe.csv"})
  void probe_everyFormat(String format, String golden) {
    Session probe = Session.of("probe", "tiny", "--format", format);
    assertThat(probe.exitCode()).as(probe.err()).isZero();
    Golden.check("output/" + golden, probe.out());
  }

  @ParameterizedTest
  @ValueSource(strings = {"pe-dma", "pe2pe"})
  void csv_ofPathBenches(String bench) {
    check(bench + ".csv", run(bench, "--topology", "tiny", "--format", "csv"));
  }

  private Session sweep(String... options) {
    return Session.of(
        concat(
            new String[] {
              "sweep",
              "ccl-allreduce",
              "--topology",
              "tiny",
              "--vary",
              "n_elem=64,1024",
              "--vary",
              "algorithm=tree,mesh",
              "--param",
              "ranks=4",
              "--jobs",
              "1",
              "--out",
              directory.resolve("sweep").toString()
            },
            options));
  }

  @Test
  void sweep_textCsvAndJson() {
    Session text = sweep();
    assertThat(text.exitCode()).as(text.err()).isZero();
    Golden.check("output/sweep.txt", text.out().replace(directory.toString(), "$DIR"));
    check("sweep.csv", sweep("--resume", "--format", "csv"));
    check("sweep.json", sweep("--resume", "--format", "json"));
  }

  @Test
  void sweep_ofTheExample_isWhatItsFileSays() throws IOException {
    Path example = Path.of(System.getProperty("basedir", "."), "../examples/sweep.yaml");
    Session sweep =
        Session.of(
            "sweep",
            example.toString(),
            "--mode",
            "time",
            "--jobs",
            "1",
            "--format",
            "csv",
            "--out",
            directory.resolve("example").toString());
    assertThat(sweep.exitCode()).as(sweep.err()).isZero();
    assertThat(sweep.out().lines()).hasSize(1 + 2 * 3 * 2);
  }

  @Test
  void resultsStore_everyDocumentedQuery_runs() throws Exception {
    assertThat(sweep().exitCode()).isZero();
    String doc =
        Files.readString(Path.of(System.getProperty("basedir", "."), "../docs/results-store.md"));
    java.util.regex.Matcher sql =
        java.util.regex.Pattern.compile("(?s)```sql\n(.*?)```").matcher(doc);
    int queries = 0;
    String url = "jdbc:sqlite:" + directory.resolve("sweep/results.sqlite");
    try (var connection = java.sql.DriverManager.getConnection(url);
        var statement = connection.createStatement()) {
      while (sql.find()) {
        try (var rows = statement.executeQuery(sql.group(1))) {
          boolean any = rows.next();
          assertThat(any).as(sql.group(1)).isEqualTo(!sql.group(1).contains("<> 'ok'"));
        }
        queries++;
      }
    }
    assertThat(queries).isEqualTo(6);
  }

  /** The last axis is algorithm=tree,mesh, or a path with dots: its first value is the unit. */
  @ParameterizedTest
  @CsvSource({
    "'algorithm=tree,mesh', tree, mesh",
    "'set:system.links.sip_to_sip.latency=50 ns,70 ns', 50, 70"
  })
  void resultsStore_ratioOfTheLastAxis_isToTheSamePointWithItsFirstValue(
      String axis, String first, String second) throws Exception {
    String[] sizes = {"sweep", "ccl-allreduce", "--vary", "n_elem=64,1024", "--jobs", "1"};
    String[] out = {"--out", directory.resolve("ratios").toString()};
    Session sweep = Session.of(concat(concat(sizes, "--vary", axis), out));
    assertThat(sweep.exitCode()).as(sweep.err()).isZero();
    String doc =
        Files.readString(Path.of(System.getProperty("basedir", "."), "../docs/results-store.md"));
    String sql = doc.substring(doc.indexOf("WITH last"));
    String url = "jdbc:sqlite:" + directory.resolve("ratios/results.sqlite");
    try (var connection = java.sql.DriverManager.getConnection(url);
        var statement = connection.createStatement();
        var rows = statement.executeQuery(sql.substring(0, sql.indexOf("```")))) {
      double unit = 0;
      for (int i = 0; i < 4; i++) {
        assertThat(rows.next()).isTrue();
        double time = rows.getDouble("crit_ns");
        unit = i % 2 == 0 ? time : unit;
        assertThat(rows.getString("choice")).contains(i % 2 == 0 ? first : second);
        assertThat(rows.getDouble("ratio")).isEqualTo(time / unit);
      }
      assertThat(rows.next()).isFalse();
    }
  }

  @Test
  void json_ofHelloSend() {
    check("hello-send.json", run("hello-send", "--topology", "tiny", "--format", "json"));
  }

  @Test
  void json_inModeTime_hasNoValues() {
    check(
        "hello-send-time.json",
        run("hello-send", "--topology", "tiny", "--mode", "time", "--format", "json"));
  }

  @Test
  void json_inModeValues_hasNoTime() {
    check(
        "hello-send-values.json",
        run("hello-send", "--topology", "tiny", "--mode", "values", "--format", "json"));
  }

  @Test
  void text_withVerify_comparesTheModes() {
    check("hello-send-verify.txt", run("hello-send", "--topology", "tiny", "--verify"));
  }

  @Test
  void json_ofSweep_hasRows() {
    check(
        "ccl-latency-sweep.json",
        run(
            "ccl-latency-sweep",
            "--set",
            "sip.cube_mesh.w=2",
            "--set",
            "sip.cube_mesh.h=2",
            "--quiet",
            "--format",
            "json"));
  }

  @Test
  void csv_ofSweep_hasALinePerPoint() {
    check(
        "ccl-latency-sweep.csv",
        run(
            "ccl-latency-sweep",
            "--set",
            "sip.cube_mesh.w=2",
            "--set",
            "sip.cube_mesh.h=2",
            "--quiet",
            "--format",
            "csv"));
  }

  @Test
  void json_ofWrongValues_saysWhereFirst() {
    Session session = Session.of(TestBenches.registry(), "run", "wrong-values", "--format", "json");

    assertThat(session.exitCode()).isEqualTo(1);
    Golden.check(
        "output/wrong-values.json",
        Golden.masked(session.out())
            .replaceAll("TestBenches\\.java:\\d+", "TestBenches.java:LINE"));
  }

  @Test
  void json_ofDeadlock_saysSo() {
    Session session =
        Session.of(TestBenches.registry(), "run", "too-few-slots", "--format", "json");

    assertThat(session.exitCode()).isEqualTo(1);
    assertThat(session.out()).contains("\"status\": \"deadlock\"").contains("wait cycle");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "run",
        "list",
        "machine",
        "machine show",
        "machine validate",
        "machine diagram",
        "layout",
        "layout groups",
        "layout bridge",
        "layout check",
        "explain",
        "diff",
        "report",
        "ui",
        "sweep",
        "tune",
        "conformance",
        "new",
        "new bench",
        "completion",
        "man"
      })
  void help_isReadable(String command) {
    List<String> words = command.isEmpty() ? List.of() : List.of(command.split(" "));
    Session session =
        Session.of(Stream.concat(words.stream(), Stream.of("--help")).toArray(String[]::new));

    check("help" + (command.isEmpty() ? "" : "-" + command.replace(' ', '-')) + ".txt", session);
    assertThat(session.out().lines())
        .allSatisfy(line -> assertThat(line.length()).isLessThanOrEqualTo(100));
  }

  /** Said of each command in a list is a sentence, not the first line of a longer text. */
  @ParameterizedTest
  @ValueSource(strings = {"", "layout", "machine", "trace", "import"})
  void help_saysWholeSentencesOfCommands(String command) {
    String[] words = command.isEmpty() ? new String[] {"--help"} : new String[] {command, "--help"};
    String list = Session.of(words).out().split("\nCommands\n")[1].split("\n\n")[0];
    assertThat(list.split("\n(?=  \\w)")).isNotEmpty().allMatch(said -> said.strip().endsWith("."));
  }

  @Test
  void noArguments_showTheHelp() {
    assertThat(Session.of().out()).isEqualTo(Session.of("--help").out());
  }

  /** It is made from the same texts as the help. */
  @Test
  void man_isThePage() {
    check("man.txt", Session.of("man"));
  }

  @Test
  void list_namesEverything() {
    check("list.txt", Session.of("list"));
  }

  @Test
  void list_ofABench_saysWhatEachParameterTakes() {
    check("list-collective.txt", Session.of("list", "collective"));
    check("list-hello-send.json", Session.of("list", "hello-send", "--format", "json"));
  }

  @Test
  void version_isOneLine() {
    assertThat(Session.of("--version").out()).matches("kernbench \\S+\n");
  }

  @Test
  void machine_showValidateAndDiagram_work() {
    assertThat(Session.of("machine", "show", "tiny").out()).startsWith("machine tiny");
    assertThat(Session.of("machine", "validate", "tiny").out())
        .startsWith("tiny is valid: configuration ");
    assertThat(Session.of("machine", "diagram", "tiny", "--view", "cube").out()).contains("<svg");
  }

  @Test
  void out_holdsWholeFilesAndNothingElse() throws IOException {
    Path out = directory.resolve("a/b");
    Session first =
        run("hello-send", "--topology", "tiny", "--format", "json", "--out", out.toString());
    Session second =
        run("hello-send", "--topology", "tiny", "--format", "json", "--out", out.toString());

    assertThat(second.exitCode()).as(second.err()).isZero();
    try (Stream<Path> files = Files.list(out)) {
      assertThat(files.map(f -> f.getFileName().toString()))
          .containsExactlyInAnyOrder("result.json", "oplog.csv", "run.log", "report.json");
    }
    Path plain = Files.writeString(directory.resolve("plain"), "");
    assertThat(Files.getPosixFilePermissions(out.resolve("result.json")))
        .as("as the user's umask says")
        .isEqualTo(Files.getPosixFilePermissions(plain));
    assertThat(Golden.masked(Files.readString(out.resolve("result.json"))))
        .isEqualTo(Golden.masked(first.out()));
    Golden.check(
        "output/hello-send-oplog.csv",
        Files.readString(out.resolve("oplog.csv")).replaceAll(":\\d+\n", ":LINE\n"));
  }

  @Test
  void warnings_goToStandardErrorUnlessQuiet() {
    String[] slow = {"--set", "cube.noc.bandwidth=1 GB/s", "--format", "json"};
    Session loud = run("hello-send", slow);
    Session quiet = run("hello-send", concat(slow, "--quiet"));

    assertThat(loud.exitCode()).isZero();
    assertThat(loud.err()).startsWith("kernbench: warning: ").contains("cube.noc.bandwidth");
    assertThat(quiet.err()).isEmpty();
    assertThat(Golden.masked(quiet.out())).isEqualTo(Golden.masked(loud.out()));
  }

  @Test
  void lostOutput_isAFailureUnlessItsReaderHasLeft() {
    assertThat(lose("No space left on device"))
        .isEqualTo(
            "1 kernbench: cannot write standard output (No space left on device); what it shows is"
                + " not whole\n");
    assertThat(lose("Broken pipe")).isEqualTo("0 ");
  }

  /** Exit code and standard error of a command whose standard output fails. */
  private static String lose(String why) {
    OutputStream failing =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            throw new IOException(why);
          }
        };
    StringWriter err = new StringWriter();
    PrintWriter held = new PrintWriter(new BufferedWriter(err)); // until it is flushed
    Terminal terminal = Terminal.on(failing, held, false, false);
    return Main.execute(terminal, BenchRegistry.standard(), "list") + " " + err;
  }

  @Test
  void outOfMemory_inARank_isOneMessage() {
    Session session = Session.of(TestBenches.registry(), "run", "out-of-memory");

    assertThat(session.exitCode()).isEqualTo(1);
    assertThat(session.err())
        .matches("kernbench: out of memory: the heap is limited to \\d+ MiB; use --mode time.*\n");
  }

  @Test
  void bug_showsItsStackAndAsksForAReport() {
    Session session = Session.of(TestBenches.registry(), "run", "bug");

    assertThat(session.exitCode()).isEqualTo(1);
    assertThat(session.err())
        .startsWith("kernbench: internal error: this is a bug")
        .contains("Please report it")
        .contains("java.lang.IllegalStateException: the bench has a bug")
        .contains("\tat org.kernbench.eval.benches.TestBenches");
  }

  private static String[] concat(String[] head, String... tail) {
    return Stream.concat(Stream.of(head), Stream.of(tail)).toArray(String[]::new);
  }
}
