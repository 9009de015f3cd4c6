package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A user's program, however it comes, meets the rooms for users and no other. */
final class DoorsTest {
  private static final String OPEN = "use org.kernbench.eval or another of the rooms for users";

  private final ClassLoader before = Thread.currentThread().getContextClassLoader();

  @TempDir private Path directory;

  @AfterEach
  void forgetUserClasses() {
    Thread.currentThread().setContextClassLoader(before);
  }

  /** A bench whose run does something. */
  private Path bench(String doing) throws IOException {
    Path file = directory.resolve("Nosy.java");
    Files.writeString(
        file,
        """
        import java.util.List;
        import org.kernbench.eval.*;
        public class Nosy implements Bench {
          public String name() { return "nosy"; }
          public String description() { return ""; }
          public List<Param<?>> params() { return List.of(); }
          public Outcome run(BenchContext c) {
            %s
            return Outcome.on(c.machine());
          }
        }
        """
            .formatted(doing));
    return file;
  }

  @Test
  void source_namesAClassInside_isRefusedAtItsLine() throws IOException {
    Path file = bench("System.out.println(org.kernbench.eval.benches.BenchRegistry.standard());");

    Session run = Session.of("run", file.toString());

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err())
        .contains("Nosy.java:8:50: package org.kernbench.eval.benches does not exist")
        .contains("org.kernbench.eval.benches is inside kernbench, not for programs; " + OPEN)
        .contains("    System.out.println(org.kernbench.eval.benches");
  }

  @ParameterizedTest
  @CsvSource({
    "device.fabric, org.kernbench.device or another",
    "ccl.algorithms, org.kernbench.ccl or another",
    "machine.report, org.kernbench.machine or another",
    "eval.report, org.kernbench.eval or another",
    "cli, one",
  })
  void source_importsARoomInside_isToldTheRoomAbove(String room, String instead)
      throws IOException {
    Path file = bench("");
    Files.writeString(file, "import org.kernbench." + room + ".*;\n" + Files.readString(file));

    Session run = Session.of("run", file.toString());

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err())
        .contains("Nosy.java:1:")
        .contains("org.kernbench." + room + " is inside kernbench")
        .contains("use " + instead + " of the rooms for users (docs/rooms.md)");
  }

  @Test
  void source_importsEveryRoomForUsers_runs() throws IOException {
    StringBuilder imports = new StringBuilder();
    try (var list = getClass().getResourceAsStream("/org/kernbench/for-users.txt")) {
      new String(list.readAllBytes())
          .lines()
          .forEach(room -> imports.append("import ").append(room).append(".*; "));
    }
    Path file = bench("");
    Files.writeString(file, imports + Files.readString(file));

    Session run = Session.of("run", file.toString());

    assertThat(run.exitCode()).isEqualTo(1);
    assertThat(run.err()).contains("bench nosy submitted no work");
  }

  @Test
  void compiledClass_usesAClassInside_isRefusedAtItsLine() throws IOException {
    Path classes =
        packed(bench("System.out.println(org.kernbench.eval.benches.BenchRegistry.standard());"));

    Session run = Session.of("run", "nosy", "--class-path", classes.toString());

    assertThat(run.exitCode()).isEqualTo(1);
    assertThat(run.err())
        .contains("Nosy.java:8: org.kernbench.eval.benches.BenchRegistry is inside kernbench")
        .contains(OPEN)
        .doesNotContain("NoClassDefFound");
  }

  @Test
  void compiledService_cannotBeMadeWithoutAClassInside_isRefusedByName() throws IOException {
    Path file = bench("");
    String field = "Object held = org.kernbench.eval.benches.BenchRegistry.standard();";
    Files.writeString(
        file, Files.readString(file).replace("implements Bench {", "implements Bench { " + field));

    Session run = Session.of("run", "nosy", "--class-path", packed(file).toString());

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err())
        .contains("--class-path: org.kernbench.eval.Bench: Provider Nosy could not be instantiated")
        .contains("BenchRegistry is inside kernbench")
        .contains(OPEN);
  }

  @Test
  void reflection_asksForAClassInside_isRefused() throws IOException {
    Path file =
        bench(
            """
            try { Class.forName("org.kernbench.eval.benches.BenchRegistry"); }
            catch (ClassNotFoundException e) { throw new IllegalStateException(e.getMessage()); }
            """);

    Session run = Session.of("run", file.toString());

    assertThat(run.exitCode()).isEqualTo(1);
    assertThat(run.err()).contains("BenchRegistry is inside kernbench").contains(OPEN);
  }

  @Test
  void configuration_namesAClassInside_isRefused() throws IOException {
    Session run =
        Session.of(
            "run",
            "ccl-allreduce",
            "--class-path",
            bench("").toString(),
            "--ccl-set",
            "algorithms.own.class=org.kernbench.eval.benches.BenchRegistry",
            "--ccl-set",
            "defaults.algorithm=own");

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err())
        .contains("algorithms.own.class")
        .contains("BenchRegistry is inside kernbench");
  }

  /** Classes of a user in a package that begins like ours. */
  @Test
  void source_inAPackageOfItsOwnBelowOurs_runs() throws IOException {
    Path folder = Files.createDirectories(directory.resolve("org/kernbench/mine"));
    Path file = folder.resolve("Nosy.java");
    Files.writeString(file, "package org.kernbench.mine; " + Files.readString(bench("")));
    Files.writeString(folder.resolve("Other.java"), "package org.kernbench.mine; class Other {}");

    Session run = Session.of("run", file.toString());

    assertThat(run.err()).contains("bench nosy submitted no work");
  }

  /** Compiled as a user's build would: with all of kernbench on the class path. */
  private Path packed(Path source) throws IOException {
    Path classes = Files.createDirectories(directory.resolve("classes"));
    Path services = Files.createDirectories(classes.resolve("META-INF/services"));
    Files.writeString(services.resolve("org.kernbench.eval.Bench"), "Nosy\n");
    var compiler = ToolProvider.getSystemJavaCompiler();
    List<String> options =
        List.of(
            "-proc:none", "-d", classes.toString(), "-cp", System.getProperty("java.class.path"));
    try (var files = compiler.getStandardFileManager(null, null, null)) {
      var task =
          compiler.getTask(null, files, null, options, null, files.getJavaFileObjects(source));
      assertThat(task.call()).isTrue();
    }
    return classes;
  }
}
