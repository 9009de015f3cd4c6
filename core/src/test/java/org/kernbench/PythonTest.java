package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.kernbench.eval.program.SamePrograms;

/**
 * The tests of the Python package, where there is a Python 3 with numpy. They are plain unittest,
 * so nothing else need be installed; pytest runs them too: {@code cd python && pytest}.
 */
final class PythonTest {
  private static final Path PYTHON = House.ROOT.resolve("python");

  @BeforeAll
  static void askForPython() {
    String missing = missing();
    if (!missing.isEmpty()) {
      System.out.println("PythonTest: skipped, " + missing);
    }
    Assumptions.assumeTrue(missing.isEmpty(), missing);
  }

  private static String missing() {
    try {
      Result asked =
          python(List.of("-c", "import sys, numpy; sys.exit(sys.version_info < (3, 9))"));
      return asked.code == 0 ? "" : "python3 is older than 3.9 or has no numpy";
    } catch (IOException e) {
      return "no python3 here";
    }
  }

  private record Result(int code, String text) {}

  private static Result python(List<String> args) throws IOException {
    List<String> command = new ArrayList<>(List.of("python3"));
    command.addAll(args);
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(PYTHON.toFile()).redirectErrorStream(true);
    Map<String, String> environment = builder.environment();
    environment.put("PYTHONPATH", PYTHON.toAbsolutePath().toString());
    environment.put("PYTHONDONTWRITEBYTECODE", "1");
    environment.put("KERNBENCH_JAR", classPath());
    environment.put("KERNBENCH_JAVA_HOME", System.getProperty("java.home"));
    Process process = builder.start();
    try {
      process.getOutputStream().close();
      String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
      return new Result(process.exitValue(), text);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    } finally {
      process.destroyForcibly();
    }
  }

  /** As this process has it, from wherever it was started, without tests. */
  private static String classPath() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(entry -> Path.of(entry).toAbsolutePath().normalize().toString())
        .filter(entry -> !entry.endsWith("test-classes"))
        .collect(Collectors.joining(File.pathSeparator));
  }

  @Test
  void package_passesItsTests() throws IOException {
    Result tests = python(List.of("-m", "unittest", "discover", "-s", "tests", "-t", "."));
    assertThat(tests.code).as(tests.text).isZero();
    assertThat(tests.text).contains("Ran ");
  }

  /**
   * The same program has the same operations at the same times, in whichever language it is said.
   */
  @Test
  void programs_haveTheOpLogsOfTheSameProgramsInJava() throws IOException {
    Result run = python(List.of("-m", "tests.programs"));
    assertThat(run.code).as(run.text).isZero();
    Map<String, String> logs = new LinkedHashMap<>();
    for (String line : run.text.lines().filter(l -> l.startsWith("program ")).toList()) {
      String[] words = line.split(" ", 3);
      logs.put(words[1], words[2]);
    }
    assertThat(logs).isEqualTo(SamePrograms.run());
    assertThat(logs).hasSizeGreaterThanOrEqualTo(10);
  }
}
