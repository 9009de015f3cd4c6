package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files that {@code kernbench new} writes run as they are, and user classes are found. */
final class UserCodeTest {
  private final ClassLoader before = Thread.currentThread().getContextClassLoader();

  @TempDir private Path directory;

  @AfterEach
  void forgetUserClasses() {
    Thread.currentThread().setContextClassLoader(before);
  }

  @Test
  void newBench_asWritten_runsWithRightValuesAboveItsBound() {
    write("bench", "my-bench", "MyBench.java");

    Session run = Session.of("run", path("MyBench.java"), "--topology", "tiny", "--verify");

    assertThat(run.exitCode()).as(run.err()).isZero();
    assertThat(run.out())
        .contains("bench       my-bench")
        .contains("correct: 65,536")
        .contains("HBM bandwidth")
        .contains("MyBench.java:")
        .contains("full and time: same op log");
  }

  @Test
  void newBench_parameterAndClassPath_work() {
    write("bench", "other", "Other.java");

    Session run =
        Session.of(
            "run",
            "--bench",
            "other",
            "--class-path",
            path("Other.java"),
            "--topology",
            "tiny",
            "--param",
            "rows=16");

    assertThat(run.exitCode()).as(run.err()).isZero();
    assertThat(run.out()).contains("correct: 1,024");
  }

  @Test
  void newMachine_asWritten_isValidAndRuns() {
    write("machine", "my-machine", "my-machine.yaml");

    Session validate = Session.of("machine", "validate", path("my-machine.yaml"));
    Session run =
        Session.of("run", "ccl-allreduce", "--topology", path("my-machine.yaml"), "--quiet");

    assertThat(validate.out()).contains("my-machine is valid").contains("0 warnings");
    assertThat(run.exitCode()).as(run.err()).isZero();
    assertThat(run.out()).contains("ranks=64").contains("all exact");
  }

  @Test
  void newCollective_asWritten_reducesRightly() {
    write("collective", "my-star", "MyStar.java");

    Session run =
        Session.of(
            "run",
            "ccl-allreduce",
            "--class-path",
            path("MyStar.java"),
            "--ccl-set",
            "defaults.algorithm=my_star",
            "--ccl-set",
            "algorithms.my_star.class=own.MyStar");

    assertThat(run.exitCode()).as(run.err()).isZero();
    assertThat(run.out())
        .contains("algorithm=my_star")
        .contains("all exact")
        .contains("MyStar.java:");
  }

  @Test
  void newCollective_byItsClass_conforms() {
    write("collective", "my-star", "MyStar.java");

    Session run = Session.of("conformance", "own.MyStar", "--class-path", path("MyStar.java"));

    assertThat(run.exitCode()).as(run.err()).isZero();
    assertThat(run.out()).startsWith("my_star ").contains(" 0 failed, 0 refused");
  }

  @Test
  void newCollective_tuned_isInTheTableThatAutoGoesBy() throws IOException {
    write("collective", "my-star", "MyStar.java");
    List<String> own =
        List.of(
            "--class-path",
            path("MyStar.java"),
            "--ccl-set",
            "algorithms.my_star.class=own.MyStar",
            "--topology",
            "ring");

    Session tune =
        Session.of(
            with(own, "tune", "--all", "--sizes", "64 B,1 KiB", "--out", path("table.yaml")));

    assertThat(tune.exitCode()).as(tune.err()).isZero();
    assertThat(tune.out()).contains("my_star").contains("wrote ");
    Path file = directory.resolve("table.yaml");
    String table = Files.readString(file).replaceAll("(?m)^  (\\d+ B): .*$", "  $1: my_star");
    assertThat(table).contains("64 B: my_star").contains("1024 B: my_star");
    Files.writeString(file, table);

    Session run =
        Session.of(
            with(
                own,
                "run",
                "ccl-allreduce",
                "--param",
                "n_elem=100",
                "--ccl-set",
                "defaults.algorithm=auto",
                "--ccl-set",
                "defaults.table=" + path("table.yaml")));

    assertThat(run.exitCode()).as(run.err()).isZero();
    assertThat(run.out()).contains("algorithm=auto:my_star").contains("all exact");
  }

  private static String[] with(List<String> last, String... first) {
    List<String> all = new ArrayList<>(List.of(first));
    all.addAll(last);
    return all.toArray(String[]::new);
  }

  @ParameterizedTest
  @CsvSource({"my-bench,MyBench", "my_bench,MyBench", "MyBench,MyBench", "mine,Mine", "a2-b,A2B"})
  void newBench_anySpelling_hasOneName(String name, String className) {
    write("bench", name, className + ".java");

    assertThat(directory.resolve(className + ".java")).content().contains("class " + className);
  }

  @Test
  void sourceFile_withNeighboursAndPackage_isCompiledWithThem() throws IOException {
    Path folder = Files.createDirectories(directory.resolve("own/bench"));
    Files.writeString(
        folder.resolve("Names.java"),
        "package own.bench; class Names { static String N = \"x\"; }");
    Files.writeString(folder.resolve("Small.java"), SMALL.replace("NAME", "Names.N"));

    Session run = Session.of("run", folder.resolve("Small.java").toString());

    assertThat(run.exitCode()).isEqualTo(1);
    assertThat(run.err()).contains("bench x submitted no work");
  }

  private static final String SMALL =
      """
      package own.bench;
      import java.util.List;
      import org.kernbench.eval.*;
      class Small implements Bench {
        public String name() { return NAME; }
        public String description() { return ""; }
        public List<Param<?>> params() { return List.of(); }
        public Outcome run(BenchContext c) { return Outcome.on(c.machine()); }
      }
      """;

  @Test
  void jarOrDirectory_withServiceEntry_addsItsBenches() throws IOException {
    write("bench", "packed", "Packed.java");
    Path classes = Files.createDirectories(directory.resolve("classes"));
    compile(directory.resolve("Packed.java"), classes);
    Path services = Files.createDirectories(classes.resolve("META-INF/services"));
    Files.writeString(services.resolve("org.kernbench.eval.Bench"), "Packed\n");

    Session run =
        Session.of("run", "packed", "--class-path", classes.toString(), "--topology", "tiny");

    assertThat(run.exitCode()).as(run.err()).isZero();
  }

  private static void compile(Path source, Path classes) throws IOException {
    var compiler = javax.tools.ToolProvider.getSystemJavaCompiler();
    try (var files = compiler.getStandardFileManager(null, null, null)) {
      List<String> options =
          List.of(
              "-proc:none", "-d", classes.toString(), "-cp", System.getProperty("java.class.path"));
      assertThat(
              compiler
                  .getTask(null, files, null, options, null, files.getJavaFileObjects(source))
                  .call())
          .isTrue();
    }
  }

  @Test
  void man_page_namesEveryOptionOfEveryCommand() {
    String page = Session.of("man").out();

    assertThat(page).startsWith(".TH KERNBENCH 1");
    for (String command : List.of("run", "list", "machine show", "new", "completion", "man")) {
      assertThat(page).contains(".SS kernbench " + command + "\n");
    }
    assertThat(page).contains("\\-\\-class\\-path PATH").doesNotContain("\n'");
  }

  private void write(String kind, String name, String file) {
    Session made = Session.of("new", kind, name, "--dir", directory.toString());
    assertThat(made.exitCode()).as(made.err()).isZero();
    assertThat(made.out()).contains("wrote " + path(file));
  }

  private String path(String file) {
    return directory.resolve(file).toString();
  }
}
