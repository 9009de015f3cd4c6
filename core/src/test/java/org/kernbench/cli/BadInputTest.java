package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.benches.TestBenches;

/**
 * Every wrong file, key, value, name and program that we could think of: exit code and the whole
 * text on standard error, in {@code golden/bad-input}. Nothing is written to standard output by a
 * usage error, and no stack trace is shown for anybody's error but ours.
 */
final class BadInputTest {
  @TempDir private Path directory;

  /** A command line with the files it needs; {@code $DIR} stands for their directory. */
  private static final class Case {
    final String name;
    final int exitCode;
    final List<String> args;
    final Map<String, String> files = new LinkedHashMap<>();
    BenchRegistry benches = BenchRegistry.standard();

    Case(String name, int exitCode, String... args) {
      this.name = name;
      this.exitCode = exitCode;
      this.args = List.of(args);
    }

    Case file(String path, String text) {
      files.put(path, text);
      return this;
    }

    Case benches(BenchRegistry registry) {
      benches = registry;
      return this;
    }
  }

  @TestFactory
  Stream<DynamicTest> badInput_isExplained() {
    return cases().stream().map(c -> DynamicTest.dynamicTest(c.name, () -> check(c)));
  }

  @Test
  void badInputs_areManyAndDistinct() {
    assertThat(cases())
        .extracting(c -> c.name)
        .doesNotHaveDuplicates()
        .hasSizeGreaterThanOrEqualTo(45);
  }

  @Test
  void sweepWhosePointsAllAreRefused_saysWhyAndIsAUsageError() {
    assertSweepFails(
        2,
        "2 of 2 points failed, first set:ipcq.slts=4",
        "ipcq.slts: unknown key; did you mean slots?",
        "set:ipcq.slts=4,8");
  }

  @Test
  void sweepOfWhichOnePointIsRefused_saysWhichAndFails() {
    assertSweepFails(
        1,
        "1 of 2 points failed, first topology=tyni",
        "no preset and no file \"tyni\"",
        "topology=tiny,tyni");
  }

  private void assertSweepFails(int exitCode, String where, String why, String vary) {
    Session session =
        Session.of(
            "sweep",
            "hello-send",
            "--out",
            directory.resolve("out" + exitCode).toString(),
            "--jobs",
            "1",
            "--quiet",
            "--vary",
            vary);
    assertThat(session.err()).contains(where).contains(why).hasLineCount(1);
    assertThat(session.exitCode()).isEqualTo(exitCode);
  }

  private void check(Case c) throws IOException {
    Path dir = Files.createDirectory(directory.resolve(c.name));
    for (Map.Entry<String, String> file : c.files.entrySet()) {
      Path path = dir.resolve(file.getKey());
      Files.createDirectories(path.getParent());
      Files.write(path, bytes(file.getValue()));
    }
    String[] args =
        c.args.stream().map(a -> a.replace("$DIR", dir.toString())).toArray(String[]::new);
    Session session = Session.of(c.benches, args);
    String err =
        session
            .err()
            .replace(dir.toString(), "$DIR")
            .replaceAll("TestBenches\\.java:\\d+", "TestBenches.java:LINE");

    StringBuilder golden = new StringBuilder("$ kernbench " + shown(c.args) + "\n");
    c.files.forEach(
        (name, text) -> golden.append("--- ").append(name).append('\n').append(shownFile(text)));
    golden.append("exit ").append(session.exitCode()).append('\n').append(err);
    Golden.check("bad-input/" + c.name + ".txt", golden.toString());
    assertThat(session.exitCode()).as(err).isEqualTo(c.exitCode);
    assertThat(err).startsWith("kernbench: ").doesNotContain("\tat ").doesNotContain("Exception");
    if (c.exitCode == 2) {
      assertThat(session.out()).isEmpty();
    }
  }

  private static byte[] bytes(String text) {
    return text.startsWith("\u00ff")
        ? text.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1)
        : text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }

  private static String shownFile(String text) {
    String whole = text.startsWith("\u00ff") ? "(not UTF-8)\n" : text;
    return whole.isEmpty() || whole.endsWith("\n") ? whole : whole + "\n";
  }

  private static String shown(List<String> args) {
    return String.join(" ", args.stream().map(a -> a.contains(" ") ? "'" + a + "'" : a).toList());
  }

  private static final String TINY = "extends: tiny\n";

  private static List<Case> cases() {
    List<Case> all = new ArrayList<>();
    all.addAll(commandLine());
    all.addAll(parameters());
    all.addAll(machineFiles());
    all.addAll(overrides());
    all.addAll(collectives());
    all.addAll(programs());
    all.addAll(outputs());
    all.addAll(userCode());
    all.addAll(sweeps());
    all.addAll(layouts());
    all.addAll(tuning());
    return all;
  }

  private static List<Case> tuning() {
    return List.of(
        new Case("conformance-nothing", 2, "conformance"),
        new Case("conformance-algorithm-misspelt", 2, "conformance", "rings"),
        new Case("conformance-class-unknown", 2, "conformance", "own.Nothing"),
        new Case("conformance-class-of-other-kind", 2, "conformance", "java.lang.String"),
        new Case("tune-size-negative", 2, "tune", "--sizes=-3 KiB"),
        new Case("tune-type-unknown", 2, "tune", "--dtype", "f17"),
        new Case("tune-one-device", 2, "tune", "--set", "system.sips.count=1"),
        new Case("tune-class-unknown", 2, "tune", "--ccl-set", "algorithms.own.class=own.Nothing"));
  }

  private static List<Case> commandLine() {
    return List.of(
        new Case("command-misspelt", 2, "rnu"),
        new Case("command-unknown", 2, "simulate"),
        new Case("command-empty", 2, ""),
        new Case("command-help", 2, "help"),
        new Case("completion-of-another-shell", 2, "completion", "fish"),
        new Case("validate-table-missing", 2, "validate", "$DIR/nothing.csv"),
        new Case("command-option-before", 2, "--bench", "hello-send"),
        new Case("option-misspelt", 2, "run", "--topolgy", "tiny", "hello-send"),
        new Case("option-unknown", 2, "run", "hello-send", "--frobnicate"),
        new Case("option-without-value", 2, "run", "--bench"),
        new Case("option-twice", 2, "run", "hello-send", "--mode", "full", "--mode", "time"),
        new Case("bench-missing", 2, "run"),
        new Case("bench-blank", 2, "run", "--bench="),
        new Case("option-blank", 2, "run", "hello-send", "--out="),
        new Case("bench-misspelt", 2, "run", "--bench", "ccl-alreduce"),
        new Case("bench-unknown", 2, "run", "--bench", "linpack"),
        new Case("bench-twice", 2, "run", "hello-send", "--bench", "ccl-allreduce"),
        new Case("mode-misspelt", 2, "run", "hello-send", "--mode", "tiem"),
        new Case(
            "mode-conflicts-with-verify", 2, "run", "hello-send", "--mode", "time", "--verify"),
        new Case("format-unknown", 2, "run", "hello-send", "--format", "xml"),
        new Case("argument-unexpected", 2, "list", "hello-send", "benches"),
        new Case("list-of-an-unknown-bench", 2, "list", "helo-send"),
        new Case("ui-of-no-folder", 2, "ui", "$DIR/nowhere"),
        new Case("ui-of-a-file", 2, "ui", "$DIR/x.txt").file("x.txt", "text\n"),
        new Case("ui-port-too-high", 2, "ui", "--port", "70000"),
        new Case("argument-too-many", 2, "run", "hello-send", "ccl-allreduce"),
        new Case("device-unreadable", 2, "run", "softmax", "--device", "sip3.cube0"),
        new Case("device-beyond-the-machine", 2, "run", "softmax", "--device", "sip:6"),
        new Case("device-of-a-collective", 2, "run", "ccl-allreduce", "--device", "sip:1"),
        new Case(
            "device-where-all-take-part",
            2,
            "run",
            "gemm-sharded",
            "--param",
            "over=packages",
            "--device",
            "sip:1"),
        new Case("machine-without-command", 2, "machine"),
        new Case("machine-command-misspelt", 2, "machine", "shwo"),
        new Case("machine-view-unknown", 2, "machine", "diagram", "tiny", "--view", "board"));
  }

  private static Case sweep(String name, String... args) {
    List<String> all = new ArrayList<>(List.of("sweep", "hello-send", "--topology", "tiny"));
    all.addAll(List.of("--out", "$DIR/out"));
    all.addAll(List.of(args));
    return new Case(name, 2, all.toArray(String[]::new));
  }

  private static List<Case> sweeps() {
    return List.of(
        new Case("sweep-nothing", 2, "sweep"),
        sweep("sweep-without-axes"),
        sweep("sweep-axis-misspelt", "--vary", "n_elm=1,2"),
        sweep("sweep-axis-unknown", "--vary", "colour=red,blue"),
        sweep("sweep-axis-without-values", "--vary", "n_elem="),
        sweep("sweep-axis-without-equals", "--vary", "n_elem"),
        sweep("sweep-axis-twice", "--vary", "n_elem=1,2", "--vary", "n-elem=3"),
        sweep("sweep-value-twice", "--vary", "n_elem=1,2,1"),
        sweep("sweep-value-empty", "--vary", "n_elem=1,,2"),
        sweep("sweep-value-out-of-range", "--vary", "n_elem=1,0,many"),
        sweep("sweep-value-and-param", "--vary", "n_elem=1,2", "--param", "n_elem=3"),
        sweep("sweep-jobs-bad", "--vary", "n_elem=1,2", "--jobs", "-1"),
        sweep("sweep-jobs-zero", "--vary", "n_elem=1,2", "--jobs", "0"),
        new Case(
                "sweep-out-is-a-file",
                2,
                "sweep",
                "hello-send",
                "--vary",
                "n_elem=1",
                "--out",
                "$DIR/x.txt")
            .file("x.txt", "text\n"),
        new Case(
                "sweep-store-is-something-else",
                1,
                "sweep",
                "hello-send",
                "--vary",
                "n_elem=1,2",
                "--out",
                "$DIR/out")
            .file("out/results.sqlite", "not a database, but long enough to look for a header\n"),
        new Case("sweep-file-missing", 2, "sweep", "$DIR/s.yaml"),
        new Case("sweep-file-wrong", 2, "sweep", "$DIR/s.yaml")
            .file(
                "s.yaml",
                "bnech: hello-send\n"
                    + "mode: fast\n"
                    + "jobs: many\n"
                    + "vary:\n"
                    + "  n_elem: {a: 1}\n"
                    + "  dtype: []\n"),
        new Case("sweep-file-axis-empty", 2, "sweep", "$DIR/s.yaml")
            .file("s.yaml", "bench: hello-send\nvary: {dtype: []}\n"),
        new Case("sweep-file-without-vary", 2, "sweep", "$DIR/s.yaml")
            .file("s.yaml", "bench: hello-send\n"));
  }

  private static Case bridge(String name, String src, String dest, String... more) {
    return bridge(2, name, src, dest, more);
  }

  private static Case bridge(int exitCode, String name, String src, String dest, String... more) {
    List<String> all = new ArrayList<>(List.of("layout", "bridge", "--src", src, "--dest", dest));
    all.addAll(List.of(more));
    return new Case(name, exitCode, all.toArray(String[]::new));
  }

  private static List<Case> layouts() {
    return List.of(
        new Case("layout-check-missing", 2, "layout", "check"),
        new Case("layout-check-unreadable", 2, "layout", "check", "tp=2,dp=2:tp=2:dp=2:sp"),
        new Case("layout-check-not-sp", 2, "layout", "check", "tp=2,dp=1:tp=2,dp=1:sq"),
        new Case("layout-check-sizes", 2, "layout", "check", "tp=2,dp=1:tp=2,dp=2"),
        new Case(
            "layout-check-fault", 2, "layout", "check", "tp=2,dp=1:tp=2,dp=1", "--inject", "skip"),
        new Case(
            "layout-check-model", 2, "layout", "check", "tp=2,dp=1:tp=2,dp=1", "--model", "gpt-5"),
        new Case(
            "layout-check-masks", 2, "layout", "check", "tp=2,dp=1:tp=2,dp=1", "--masks", "none"),
        new Case(
            "layout-check-samples", 2, "layout", "check", "tp=1,dp=2:tp=2,dp=1", "--samples", "3"),
        new Case(
            "layout-check-tokens",
            2,
            "layout",
            "check",
            "tp=1,dp=2:tp=1,cp=2,dp=1",
            "--tokens",
            "18"),
        new Case("training-heads", 2, "run", "transformer-block", "--param", "tp=64"),
        new Case("training-ids", 2, "run", "train-step", "--param", "vocabulary=97"),
        new Case("training-tokens", 2, "run", "tp-mlp", "--param", "tp=4", "--param", "tokens=46"),
        new Case(
            "training-chunks",
            2,
            "run",
            "train-step",
            "--param",
            "cp=4",
            "--param",
            "tp=3",
            "--param",
            "tokens=36"),
        new Case("training-positions", 2, "run", "train-step", "--param", "tokens=1024"),
        new Case("training-samples", 2, "run", "train-step", "--param", "dp=3"),
        new Case("inject-unknown", 2, "run", "train-step", "--inject", "skip-row"),
        new Case("inject-bench", 2, "run", "ccl-allreduce", "--inject", "skip-row-sum"),
        new Case("inject-no-tokens", 2, "run", "transformer-block", "--inject", "tokens-over-dp"),
        new Case("inject-no-room", 2, "run", "train-step", "--inject", "skip-context-sum"),
        new Case("inject-param", 2, "run", "tp-mlp", "--param", "inject=skip-rows"),
        new Case(
            "layout-check-steps", 2, "layout", "check", "tp=2,dp=1:tp=2,dp=1", "--steps", "-1"),
        new Case(
            "layout-check-stages-of-two",
            2,
            "layout",
            "check",
            "tp=2,dp=1:tp=2,dp=1",
            "--zero",
            "1"),
        new Case("layout-check-experts", 2, "layout", "check", "tp=2,pp=2,ep=2"),
        new Case("layout-check-dimension", 2, "layout", "check", "tp=2,xp=2"),
        new Case(
            "layout-check-dtype", 2, "layout", "check", "tp=2,dp=1:tp=2,dp=1", "--dtype", "f33"),
        new Case(
            "layout-check-no-sample",
            2,
            "layout",
            "check",
            "tp=2,dp=1:tp=2,dp=1",
            "--samples",
            "0"),
        new Case(
            "layout-check-short", 2, "layout", "check", "tp=2,dp=1:tp=2,dp=1", "--tokens", "5"),
        new Case("mimo-layout", 2, "run", "mimo-train-step", "--param", "language=tp=2,pp=2,dp=2"),
        new Case("layout-check-heads", 2, "layout", "check", "tp=5,dp=1:tp=5,dp=1"),
        new Case("layout-check-too-many-ranks", 2, "layout", "check", "tp=1,dp=97:tp=1,dp=97"),
        new Case("layout-without-command", 2, "layout"),
        new Case("layout-command-misspelt", 2, "layout", "brigde"),
        new Case("layout-groups-missing", 2, "layout", "groups"),
        new Case("layout-groups-unreadable", 2, "layout", "groups", "tp=2;dp=2"),
        new Case("layout-groups-size-zero", 2, "layout", "groups", "tp=2,dp=0"),
        new Case("layout-groups-dimension-twice", 2, "layout", "groups", "tp=2,tp=2"),
        new Case(
            "layout-groups-dims-unknown", 2, "layout", "groups", "tp=2,dp=2", "--dims", "tp,cp"),
        new Case(
            "layout-groups-view-unknown", 2, "layout", "groups", "tp=2,dp=2", "--dims", "x:tp"),
        new Case(
            "layout-groups-view-unreadable", 2, "layout", "groups", "tp=2,dp=2", "--view", "x"),
        new Case(
            "layout-groups-view-too-large",
            2,
            "layout",
            "groups",
            "tp=2,dp=2",
            "--view",
            "expert:etp=2,ep=4"),
        new Case("layout-groups-offset-first", 2, "layout", "groups", "offset=4,tp=2"),
        new Case("layout-format-csv", 2, "layout", "groups", "tp=2", "--format", "csv"),
        new Case("layout-bridge-one-side", 2, "layout", "bridge", "--src", "tp=2,dp=2"),
        bridge("layout-bridge-no-dp", "tp=4", "tp=2,dp=2"),
        bridge("layout-bridge-sizes", "tp=2,dp=2", "tp=2,dp=4"),
        bridge("layout-bridge-source-cp", "tp=1,cp=2,dp=2", "tp=2,dp=2"),
        bridge("layout-bridge-cp-after-dp", "tp=4,dp=1", "tp=1,dp=2,cp=2"),
        bridge("layout-bridge-dp-not-nested", "dp=4,tp=1", "dp=2,tp=2"),
        bridge("layout-bridge-dp-not-dividing", "tp=2,dp=3", "tp=3,dp=2"),
        bridge("layout-bridge-apart-source-cp", "tp=1,cp=2,dp=1", "tp=1,dp=2,offset=2"),
        bridge("layout-bridge-partly-apart", "tp=2,dp=2", "tp=2,dp=2,offset=2"),
        bridge("layout-bridge-batch", "tp=1,dp=4", "tp=4,dp=1", "--batch", "6"),
        bridge("layout-bridge-tokens", "tp=1,dp=4", "tp=4,dp=1", "--tokens", "0"),
        bridge(1, "layout-bridge-out-of-memory", "tp=2,dp=1", "tp=1,dp=2", "--tokens", "9000000"),
        bridge(
            "layout-bridge-no-such-memory",
            "tp=2,dp=1",
            "tp=1,dp=2",
            "--tokens",
            "2000000000",
            "--hidden",
            "2000000000"),
        bridge("layout-bridge-dtype", "tp=1,dp=4", "tp=4,dp=1", "--dtype", "bf15"),
        bridge("layout-bridge-rank-level", "tp=1,dp=4", "tp=4,dp=1", "--rank-level", "die"),
        bridge("layout-bridge-too-many-ranks", "tp=1,dp=97", "tp=97,dp=1"),
        bridge("layout-bridge-machine", "tp=1,dp=4", "tp=4,dp=1", "--topology", "sip-2025"));
  }

  private static final String BENCH =
      """
      import java.util.List;
      import org.kernbench.eval.*;

      public final class Mine implements Bench {
        public Mine() { START }
        public String name() { return "NAME"; }
        public String description() { return "mine"; }
        public List<Param<?>> params() { return List.of(); }
        public Outcome run(BenchContext context) { RUN }
      }
      """;

  private static String mine(String start, String name, String run) {
    return BENCH.replace("START", start).replace("NAME", name).replace("RUN", run);
  }

  private static List<Case> userCode() {
    return List.of(
        new Case(
            "trace-without-operations",
            2,
            "run",
            "hello-send",
            "--topology",
            "tiny",
            "--mode",
            "values",
            "--trace",
            "$DIR/t"),
        new Case("report-nothing", 2, "report"),
        new Case("report-of-a-file", 2, "report", "$DIR/f").file("f", "x"),
        new Case("report-missing", 2, "report", "$DIR/none"),
        new Case("report-of-something-else", 2, "report", "$DIR").file("x.txt", "text\n"),
        new Case("report-not-writable", 1, "report", "$DIR", "--out", "$DIR/x/r.html")
            .file("results.json", "{}\n"),
        new Case("fast-without-rows", 2, "run", "milestone-1h-ccl", "--fast", "--out", "$DIR"),
        new Case("fast-without-figures", 2, "run", "hello-send", "--fast"),
        new Case(
            "trace-not-writable",
            2,
            "run",
            "hello-send",
            "--topology",
            "tiny",
            "--trace",
            "$DIR/x/t"),
        new Case("source-missing", 2, "run", "$DIR/Mine.java"),
        new Case("source-does-not-compile", 2, "run", "$DIR/Mine.java")
            .file("Mine.java", mine("", "mine", "retrun Outcome.on(context.machin());")),
        new Case("source-with-two-errors", 2, "run", "$DIR/Mine.java")
            .file(
                "Mine.java", mine("int x = 1.5;", "mine", "return Outcome.on(context.machin());")),
        new Case("source-without-a-bench", 2, "run", "$DIR/Mine.java")
            .file("Mine.java", "public final class Mine {}\n"),
        new Case("source-with-two-benches", 2, "run", "$DIR/Two.java")
            .file(
                "Two.java",
                mine("", "one", "return null;").replace("public final", "final")
                    + mine("", "two", "return null;")
                        .replaceAll("import .*\n", "")
                        .replace("public final class Mine", "final class Other")
                        .replace("Mine()", "Other()")),
        new Case("source-fails-to-start", 2, "run", "$DIR/Mine.java")
            .file(
                "Mine.java",
                mine("if (true) throw new IllegalStateException(\"no\");", "mine", "return null;")),
        new Case("source-named-like-a-bench", 2, "run", "x", "--class-path", "$DIR/Mine.java")
            .file("Mine.java", mine("", "hello-send", "return null;")),
        new Case("class-path-missing", 2, "run", "hello-send", "--class-path", "$DIR/none.jar"),
        new Case("class-path-neither", 2, "run", "hello-send", "--class-path", "$DIR/x.txt")
            .file("x.txt", "text\n"),
        new Case("class-path-service-wrong", 2, "run", "hello-send", "--class-path", "$DIR/own")
            .file("own/META-INF/services/org.kernbench.eval.Bench", "own.NoSuchBench\n"),
        new Case("new-kind-unknown", 2, "new", "kernal", "mine"),
        new Case("new-without-name", 2, "new", "bench"),
        new Case("new-name-bad", 2, "new", "bench", "../mine"),
        new Case("new-exists", 2, "new", "machine", "mine", "--dir", "$DIR")
            .file("mine.yaml", "extends: tiny\n"),
        new Case("new-directory-is-a-file", 2, "new", "bench", "mine", "--dir", "$DIR/x.txt")
            .file("x.txt", "text\n"));
  }

  private static List<Case> parameters() {
    return List.of(
        new Case("param-without-equals", 2, "run", "hello-send", "--param", "n_elem"),
        new Case("param-misspelt", 2, "run", "hello-send", "--param", "n_elm=8"),
        new Case(
            "param-twice", 2, "run", "hello-send", "--param", "n_elem=8", "--param", "n-elem=16"),
        new Case("param-size-not-whole", 2, "run", "ring-scale", "--param", "bytes=5 B"),
        new Case("param-unknown", 2, "run", "hello-send", "--param", "colour=red"),
        new Case("param-not-a-number", 2, "run", "hello-send", "--param", "n_elem=many"),
        new Case("param-out-of-range", 2, "run", "hello-send", "--param", "n_elem=0"),
        new Case("param-fraction", 2, "run", "hello-send", "--param", "n_elem=1.5"),
        new Case("param-dtype-misspelt", 2, "run", "hello-send", "--param", "dtype=b16"),
        new Case("param-size-without-unit", 2, "run", "ring-scale", "--param", "bytes=4096"),
        new Case("param-size-unknown-unit", 2, "run", "ring-scale", "--param", "bytes=4 Kib"),
        new Case("param-size-out-of-range", 2, "run", "ring-scale", "--param", "bytes=4 TiB"),
        new Case(
            "param-several-wrong",
            2,
            "run",
            "hello-send",
            "--param",
            "n_elem=-1",
            "--param",
            "dtype=x",
            "--param",
            "a=b"),
        new Case("param-place-malformed", 2, "run", "hello-send", "--param", "to=cube3"),
        new Case(
            "param-place-missing",
            2,
            "run",
            "hello-send",
            "--topology",
            "tiny",
            "--param",
            "to=sip0.cube9.pe0"),
        new Case("param-places-equal", 2, "run", "hello-send", "--param", "to=0.0.0"));
  }

  private static List<Case> machineFiles() {
    String file = "$DIR/m.yaml";
    return List.of(
        new Case("topology-preset-misspelt", 2, "run", "hello-send", "--topology", "sip-2062"),
        new Case("topology-file-missing", 2, "run", "hello-send", "--topology", "$DIR/none.yaml"),
        new Case("topology-is-directory", 2, "run", "hello-send", "--topology", "$DIR"),
        new Case("topology-is-device", 2, "machine", "show", "/dev/null"),
        new Case("topology-twice", 2, "machine", "show", "tiny", "--topology", "ring"),
        new Case("topology-not-text", 2, "run", "hello-send", "--topology", file)
            .file("m.yaml", "\u00ff\u00fe: 1\n"),
        new Case("topology-unreadable", 2, "run", "hello-send", "--topology", "/proc/self/mem"),
        new Case("yaml-syntax", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "system: {sips: {count: 2}\n"),
        new Case("yaml-tab", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "system:\n\tsips: {count: 2}\n"),
        new Case("yaml-duplicate-key", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "ipcq: {slots: 4}\nipcq: {slots: 8}\n"),
        new Case("yaml-list-at-top", 2, "machine", "validate", file).file("m.yaml", "- a\n- b\n"),
        new Case("yaml-empty", 2, "machine", "validate", file).file("m.yaml", ""),
        new Case("yaml-object-tag", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "ipcq: !!javax.script.ScriptEngineManager [x]\n"),
        new Case("key-misspelt", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "ipcq: {slotz: 4}\n"),
        new Case("key-short-unlike-any", 2, "machine", "show", "tiny", "--set", "a=b"),
        new Case("key-unknown", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "colour: red\n"),
        new Case("unit-missing", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "cube: {noc: {bandwidth: 256}}\n"),
        new Case("unit-of-other-kind", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "cube: {noc: {latency: 2 GHz}}\n"),
        new Case("unit-in-bits", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "cube: {noc: {bandwidth: 256 Gbps}}\n"),
        new Case("value-negative", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "cube: {noc: {bandwidth: -25 GB/s}}\n"),
        new Case("value-zero-latency", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "cube: {noc: {latency: 0 ns}}\n"),
        new Case("value-zero-slots", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "ipcq: {slots: 0}\n"),
        new Case("value-chunk-not-power-of-two", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "fabric: {chunk: 1000 B}\n"),
        new Case("value-word-misspelt", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "pe: {cpu: {issue: overlaped}}\n"),
        new Case("value-section-expected", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "system: 6\n"),
        new Case("value-grid-does-not-fit", 2, "machine", "validate", file)
            .file("m.yaml", "extends: sip-2026\nsystem: {sips: {w: 4, h: 2}}\n"),
        new Case("value-slots-beyond-tcm", 2, "machine", "validate", file)
            .file("m.yaml", TINY + "ipcq: {slots: 64, slot_size: 64 KiB}\n"),
        new Case("several-errors-in-one-file", 2, "machine", "validate", file)
            .file(
                "m.yaml",
                TINY
                    + "ipcq:\n"
                    + "  slots: many\n"
                    + "  slot_size: 16\n"
                    + "  credit: 16 B\n"
                    + "cube:\n"
                    + "  noc: {latency: fast}\n"),
        new Case("extends-missing", 2, "machine", "validate", file)
            .file("m.yaml", "extends: other.yaml\n"),
        new Case("extends-several", 2, "machine", "validate", file)
            .file("m.yaml", "extends: [tiny, ring]\n"),
        new Case("extends-circle", 2, "machine", "validate", "$DIR/a.yaml")
            .file("a.yaml", "extends: b.yaml\n")
            .file("b.yaml", "extends: a.yaml\n"));
  }

  private static List<Case> overrides() {
    return List.of(
        new Case("set-without-equals", 2, "run", "hello-send", "--set", "ipcq.slots"),
        new Case("set-key-misspelt", 2, "run", "hello-send", "--set", "ipcq.slot=4"),
        new Case(
            "set-value-wrong",
            2,
            "run",
            "hello-send",
            "--set",
            "ipcq.slots=4",
            "--set",
            "cube.noc.bandwidth=fast"));
  }

  private static List<Case> collectives() {
    String file = "$DIR/ccl.yaml";
    String defaults = "defaults: {algorithm: ring}\n";
    return List.of(
        new Case("algorithm-misspelt", 2, "run", "ccl-allreduce", "--param", "algorithm=rign"),
        new Case("algorithm-unknown", 2, "run", "ccl-allreduce", "--param", "algorithm=butterfly"),
        new Case("buffer-kind-unknown", 2, "run", "ccl-allreduce", "--param", "buffer_kind=l2"),
        new Case("slots-out-of-range", 2, "run", "ccl-allreduce", "--param", "slots=0"),
        new Case("slot-size-without-unit", 2, "run", "ccl-allreduce", "--param", "slot_size=4096"),
        new Case("slots-beyond-tcm", 2, "run", "ccl-allreduce", "--param", "slots=4096"),
        new Case(
            "dtype-overflows",
            2,
            "run",
            "ccl-allreduce",
            "--param",
            "dtype=i8",
            "--param",
            "pattern=rank"),
        new Case("ccl-file-missing", 2, "run", "ccl-allreduce", "--ccl", "$DIR/none.yaml"),
        new Case("ccl-is-directory", 2, "run", "ccl-allreduce", "--ccl", "$DIR"),
        new Case("ccl-syntax", 2, "run", "ccl-allreduce", "--ccl", file)
            .file("ccl.yaml", "defaults: {algorithm: ring\n"),
        new Case("ccl-empty", 2, "run", "ccl-allreduce", "--ccl", file).file("ccl.yaml", ""),
        new Case("ccl-key-misspelt", 2, "run", "ccl-allreduce", "--ccl", file)
            .file("ccl.yaml", "defaults: {algorithm: ring, slot: 4}\n"),
        new Case("ccl-algorithm-misspelt", 2, "run", "ccl-allreduce", "--ccl", file)
            .file("ccl.yaml", "defaults: {algorithm: ringg}\n"),
        new Case("ccl-several-errors", 2, "run", "ccl-allreduce", "--ccl", file)
            .file(
                "ccl.yaml",
                "defaults:\n"
                    + "  algorithm: ring\n"
                    + "  slot_size: 4096\n"
                    + "algorithms:\n"
                    + "  ring:\n"
                    + "    rank_level: chip\n"
                    + "    sub_chunks: 0\n"),
        new Case("ccl-class-unknown", 2, "run", "ccl-allreduce", "--ccl", file)
            .file(
                "ccl.yaml",
                "defaults: {algorithm: mine}\nalgorithms: {mine: {class: org.example.Mine}}\n"),
        new Case("ccl-class-without-package", 2, "run", "ccl-allreduce", "--ccl", file)
            .file("ccl.yaml", "defaults: {algorithm: mine}\nalgorithms: {mine: {class: rnig}}\n"),
        new Case("ccl-class-of-other-kind", 2, "run", "ccl-allreduce", "--ccl", file)
            .file(
                "ccl.yaml",
                "defaults: {algorithm: mine}\nalgorithms: {mine: {class: java.lang.Object}}\n"),
        new Case("ccl-world-too-large", 2, "run", "ccl-allreduce", "--ccl", file)
            .file("ccl.yaml", defaults + "algorithms: {ring: {rank_level: sip, world_size: 7}}\n"),
        new Case("ccl-topology-unknown", 2, "run", "ccl-allreduce", "--ccl", file)
            .file(
                "ccl.yaml",
                "defaults: {algorithm: root_center}\n"
                    + "algorithms: {root_center: {topology: torus}}\n"),
        new Case(
            "ccl-mesh-of-three",
            2,
            "run",
            "ccl-allreduce",
            "--param",
            "algorithm=mesh",
            "--ccl-set",
            "algorithms.mesh.world_size=3"),
        new Case(
            "ccl-set-without-equals", 2, "run", "ccl-allreduce", "--ccl-set", "defaults.algorithm"),
        new Case(
            "ccl-set-key-misspelt",
            2,
            "run",
            "ccl-allreduce",
            "--ccl-set",
            "defaults.algorithmm=ring"),
        new Case(
            "slots-beyond-sram",
            2,
            "run",
            "ccl-allreduce",
            "--param",
            "buffer_kind=sram",
            "--param",
            "slots=4096",
            "--param",
            "slot_size=1 MiB"),
        new Case(
            "slots-beyond-hbm",
            2,
            "run",
            "ccl-allreduce",
            "--param",
            "buffer_kind=hbm",
            "--param",
            "slots=4096",
            "--param",
            "slot_size=1 GiB"),
        new Case("explain-nothing", 2, "explain"),
        new Case("explain-empty-folder", 2, "explain", "$DIR"),
        new Case("explain-foreign-file", 2, "explain", "$DIR").file("run.log", "hello, world"),
        new Case("explain-short-file", 2, "explain", "$DIR").file("run.log", "KBRUNLOG"),
        new Case("diff-one-run", 2, "diff", "$DIR"),
        new Case("diff-nothing", 2, "diff"),
        new Case("diff-rows-negative", 2, "diff", "$DIR", "$DIR", "--rows", "-1"),
        new Case("explain-rows-negative", 2, "explain", "hello-send", "--rows", "-1"),
        new Case("explain-rows-not-a-number", 2, "explain", "hello-send", "--rows", "few"),
        new Case("tune-ranks-none", 2, "tune", "--ranks", "0"),
        new Case("tune-op-unknown", 2, "tune", "--op", "all_reduce,all_sum"),
        new Case("tune-out-is-directory", 2, "tune", "--out", "$DIR"),
        new Case("tune-out-not-writable", 2, "tune", "--out", "$DIR/none/table.yaml"),
        new Case("diff-no-folder", 2, "diff", "$DIR/a", "$DIR/b"),
        new Case("explain-as-csv", 2, "explain", "hello-send", "--format", "csv"),
        new Case("explain-unknown", 2, "explain", "hallo-send"),
        new Case("explain-run-and-param", 2, "explain", "$DIR", "--param", "n_elem=4"),
        new Case("explain-run-and-machine", 2, "explain", "$DIR", "--set", "ipcq.slots=4"),
        new Case("machine-diagram-pdf", 2, "machine", "diagram", "tiny", "--out", "$DIR/x.pdf"),
        new Case("vary-far-from-all-names", 2, "sweep", "ccl-allreduce", "--vary", "foo=1,2"),
        new Case("vary-value-is-a-range", 2, "sweep", "ccl-allreduce", "--vary", "n_elem=1..5"),
        new Case("explain-values", 2, "explain", "hello-send", "--mode", "values"),
        new Case("point-unknown", 2, "explain", "collective", "--point", "n_elem=65"),
        new Case("point-of-a-bench-without", 2, "run", "hello-send", "--point", "2"),
        new Case(
            "set-undoes-the-sweep",
            2,
            "run",
            "ccl-latency-sweep",
            "--set",
            "system.sips.topology=ring_1d"),
        new Case(
            "sweep-of-networks-on-a-network",
            2,
            "run",
            "ccl-latency-sweep",
            "--topology",
            "torus-4x4x4"),
        new Case(
            "milestone-on-a-network", 2, "run", "milestone-1h-ccl", "--topology", "torus-4x4x4"),
        new Case(
            "set-undoes-a-parameter",
            2,
            "run",
            "ring-scale",
            "--param",
            "ranks=4",
            "--set",
            "system.sips.count=8"),
        new Case(
            "ccl-one-rank",
            2,
            "run",
            "ccl-allreduce",
            "--topology",
            "tiny",
            "--param",
            "algorithm=ring"),
        new Case("ccl-algorithm-no-section", 2, "run", "ccl-allreduce", "--ccl", file)
            .file("ccl.yaml", defaults + "algorithms: {mine: 3}\n"),
        new Case("ring-ranks-conflict", 2, "run", "ring-scale", "--param", "ranks=1"));
  }

  private static List<Case> programs() {
    List<Case> all = new ArrayList<>();
    for (String bench :
        List.of(
            "no-work",
            "wrong-values",
            "bound-violated",
            "ranks-differ",
            "too-few-slots",
            "both-receive",
            "message-missing",
            "message-sizes-differ",
            "tcm-too-small",
            "tcm-full",
            "hbm-full",
            "no-queue",
            "released-twice",
            "shapes-differ",
            "no-process-group",
            "ranks-disagree",
            "ranks-disagree-on-dtype",
            "rank-missing")) {
      all.add(program(bench));
    }
    all.add(program("looks-at-data", "--mode", "time"));
    all.add(program("out-of-range"));
    for (String found : List.of("race", "never-written", "message-left", "message-missing")) {
      all.add(checked(found, 1));
    }
    all.add(checked("own-recording", 2));
    all.add(new Case("check-mode-values", 2, "run", "hello-send", "--check", "--mode", "values"));
    return all;
  }

  private static Case program(String bench, String... options) {
    List<String> args = new ArrayList<>(List.of("run", bench));
    args.addAll(List.of(options));
    return new Case("program-" + bench, 1, args.toArray(String[]::new))
        .benches(TestBenches.registry());
  }

  private static Case checked(String bench, int exitCode) {
    return new Case("checked-" + bench, exitCode, "run", bench, "--check")
        .benches(TestBenches.registry());
  }

  private static List<Case> outputs() {
    return List.of(
        new Case("out-is-file", 2, "run", "hello-send", "--out", "$DIR/f").file("f", "x"),
        new Case("out-under-file", 2, "run", "hello-send", "--out", "$DIR/f/run").file("f", "x"),
        new Case("out-not-writable", 2, "run", "hello-send", "--out", "/proc/kernbench"),
        new Case(
                "out-blocked",
                1,
                "run",
                "hello-send",
                "--topology",
                "tiny",
                "--quiet",
                "--out",
                "$DIR/run")
            .file("run/result.json/f", "a directory where a file should be"),
        new Case("diagram-is-directory", 2, "machine", "diagram", "tiny", "--out", "$DIR"),
        new Case("trace-is-directory", 2, "run", "hello-send", "--trace", "$DIR"),
        new Case(
            "diagram-not-writable", 2, "machine", "diagram", "tiny", "--out", "$DIR/none/d.svg"));
  }
}
