package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Programs that {@code scripts/run-java} starts: what they do shows in a file that they write. */
final class JavaProgramTest {
  private final ClassLoader before = Thread.currentThread().getContextClassLoader();
  private final StringWriter err = new StringWriter();

  @TempDir private Path directory;

  @AfterEach
  void forgetUserClasses() {
    Thread.currentThread().setContextClassLoader(before);
  }

  private int run(String text) throws IOException {
    Path file = Files.writeString(directory.resolve("Prog.java"), text);
    Terminal terminal =
        Terminal.on(OutputStream.nullOutputStream(), new PrintWriter(err), false, false);
    return JavaProgram.run(terminal, file.toString(), written().toString());
  }

  private Path written() {
    return directory.resolve("written");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "public class Prog { public static void main(String[] args) throws Exception { WRITE } }",
        "class First {} class Prog { static void main(String[] args) throws Exception { WRITE } }",
        "class Prog { void main(String[] args) throws Exception { WRITE } }",
        "void main(String[] args) throws Exception { WRITE }",
        "record Other() {} void main(String[] args) throws Exception { WRITE }",
      })
  void program_anyFormOfMain_isRunWithItsArguments(String text) throws IOException {
    String write =
        "java.nio.file.Files.writeString(java.nio.file.Path.of(args[0]),"
            + " org.kernbench.tensor.DType.F16.name() + args.length);";

    int exitCode = run(text.replace("WRITE", write));

    assertThat(err.toString()).isEmpty();
    assertThat(exitCode).isZero();
    assertThat(written()).hasContent("F161");
  }

  @Test
  void program_namesARoomInside_isRefusedAtItsLine() throws IOException {
    int exitCode = run("void main() {\n  org.kernbench.cli.Main.main(null);\n}");

    assertThat(exitCode).isEqualTo(2);
    assertThat(err.toString()).contains("Prog.java:2:").contains("is inside kernbench");
  }

  @Test
  void program_withoutMain_isToldSo() throws IOException {
    assertThat(run("class Prog {}")).isEqualTo(2);
    assertThat(err.toString()).contains("has no main method; expected e.g. public static void");
  }

  @Test
  void program_throws_isToldWithItsLine() throws IOException {
    assertThat(run("void main() {\n  throw new IllegalStateException(\"no\");\n}")).isOne();
    assertThat(err.toString()).contains("Prog.java:2: java.lang.IllegalStateException: no");
  }

  @Test
  void script_startsThisClass() throws IOException {
    assertThat(Path.of("../scripts/run-java"))
        .content()
        .contains(" " + JavaProgram.class.getName() + " \"$@\"");
  }
}
