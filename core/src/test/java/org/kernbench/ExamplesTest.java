package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.device.check.Finding;
import org.kernbench.device.check.Findings;

/**
 * Compiles and runs every file of {@code examples/} and compares what it prints with the block
 * {@code Expected:} of its header. {@code -Dgolden.update=true} rewrites the blocks.
 *
 * <p>They run checked ({@link CheckedOptions}), which finds nothing and changes no time or value.
 */
@Isolated("captures standard output")
final class ExamplesTest {
  private static final Path EXAMPLES = Path.of(System.getProperty("basedir", "."), "../examples");
  private static final String EXPECTED = " * Expected:";
  private static final String LINE = " *   ";

  @TempDir private Path classes;

  static List<String> examples() throws IOException {
    try (Stream<Path> files = Files.walk(EXAMPLES)) {
      return files
          .map(file -> EXAMPLES.relativize(file).toString().replace('\\', '/'))
          .filter(name -> name.endsWith(".java"))
          .sorted()
          .toList();
    }
  }

  @ParameterizedTest
  @MethodSource("examples")
  void example_run_printsWhatItsHeaderSays(String name) throws Exception {
    Path file = EXAMPLES.resolve(name);
    Path checked = classes.resolve("source").resolve(file.getFileName());
    Files.createDirectories(checked.getParent());
    Files.writeString(checked, CheckedOptions.in(Files.readString(file)));
    compile(checked);
    Findings findings = CheckedOptions.begin();

    List<String> source = Files.readAllLines(file);
    List<String> printed = run(name.replace(".java", "").replace('/', '.')).lines().toList();

    if (Boolean.getBoolean("golden.update")) {
      Files.writeString(file, String.join("\n", withExpected(source, printed)) + "\n");
      return;
    }
    assertThat(printed)
        .as("output of %s (-Dgolden.update=true rewrites its header)", name)
        .isEqualTo(expected(source));
    assertThat(findings.list().stream().map(Finding::message)).as(name).isEmpty();
    assertThat(findings.simulators() > 0).as(name).isEqualTo(CheckedOptions.appliesTo(file));
  }

  private void compile(Path file) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    String classPath =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    StringWriter messages = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      boolean compiled =
          compiler
              .getTask(
                  messages,
                  files,
                  null,
                  List.of("-d", classes.toString(), "-cp", classPath, "-proc:none"),
                  null,
                  files.getJavaFileObjects(file))
              .call();
      assertThat(compiled).as(messages.toString()).isTrue();
    }
  }

  private String run(String className) throws Exception {
    PrintStream console = System.out;
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    URL[] where = {classes.toUri().toURL()};
    try (URLClassLoader loader = new URLClassLoader(where, getClass().getClassLoader())) {
      thread.setContextClassLoader(loader); // as `java File.java` does
      System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
      Class.forName(className, true, loader)
          .getMethod("main", String[].class)
          .invoke(null, (Object) new String[0]);
    } finally {
      System.setOut(console);
      thread.setContextClassLoader(before);
    }
    return printed.toString(StandardCharsets.UTF_8);
  }

  private static int expectedAt(List<String> source) {
    for (int i = 0; i < source.size(); i++) {
      if (source.get(i).startsWith(EXPECTED)) {
        return i + 1;
      }
    }
    throw new AssertionError("no line \"" + EXPECTED + "\" in the header of the example");
  }

  private static int expectedEnd(List<String> source) {
    int end = expectedAt(source);
    while (source.get(end).startsWith(LINE)) {
      end++;
    }
    return end;
  }

  private static List<String> expected(List<String> source) {
    return source.subList(expectedAt(source), expectedEnd(source)).stream()
        .map(line -> line.substring(LINE.length()))
        .toList();
  }

  private static List<String> withExpected(List<String> source, List<String> printed) {
    return Stream.of(
            source.subList(0, expectedAt(source)).stream(),
            printed.stream().map(line -> LINE + line),
            source.subList(expectedEnd(source), source.size()).stream())
        .flatMap(lines -> lines)
        .toList();
  }
}
