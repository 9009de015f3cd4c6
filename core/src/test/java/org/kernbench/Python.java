package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** The Python of this machine, with this product as the package that it imports. */
public final class Python {
  private static final Path PACKAGE = House.ROOT.resolve("python");

  /** Those that look at the child process itself; all others may be answered from elsewhere. */
  public static final List<String> OF_THE_PROCESS =
      List.of("tests.test_process", "tests.test_guide", "tests.test_notebooks");

  private Python() {}

  /** All files of tests but those. */
  public static List<String> otherTests() throws IOException {
    try (Stream<Path> files = Files.list(PACKAGE.resolve("tests"))) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.matches("test_.*\\.py"))
          .map(name -> "tests." + name.replace(".py", ""))
          .filter(name -> !OF_THE_PROCESS.contains(name))
          .sorted()
          .toList();
    }
  }

  /** Runs these of the package's own tests, as {@link #run}; fails if one of them does. */
  public static void test(Path javaHome, List<String> names) throws IOException {
    List<String> args = new ArrayList<>(List.of("-m", "unittest"));
    args.addAll(names);
    Result tests = run(javaHome, args);
    assertThat(tests.code).as(tests.text).isZero();
    assertThat(tests.text).contains("Ran ");
  }

  /** What a program ended with, and what it said on both its outputs. */
  public record Result(int code, String text) {}

  /** Leaves the caller's tests out where there is no Python 3.9 with numpy, and says so. */
  public static void assumeHere() {
    String missing = missing();
    if (!missing.isEmpty()) {
      System.out.println("Python tests: skipped, " + missing);
    }
    Assumptions.assumeTrue(missing.isEmpty(), missing);
  }

  private static String missing() {
    try {
      Path home = Path.of(System.getProperty("java.home"));
      Result asked =
          run(home, List.of("-c", "import sys, numpy; sys.exit(sys.version_info < (3, 9))"));
      return asked.code == 0 ? "" : "python3 is older than 3.9 or has no numpy";
    } catch (IOException e) {
      return "no python3 here";
    }
  }

  /**
   * Runs it to its end.
   *
   * @param javaHome where the package finds its Java
   * @param args of {@code python3}
   */
  public static Result run(Path javaHome, List<String> args) throws IOException {
    List<String> command = new ArrayList<>(List.of("python3"));
    command.addAll(args);
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(PACKAGE.toFile()).redirectErrorStream(true);
    Map<String, String> environment = builder.environment();
    environment.put("PYTHONPATH", PACKAGE.toAbsolutePath().toString());
    environment.put("PYTHONDONTWRITEBYTECODE", "1");
    environment.put("KERNBENCH_JAR", classPath());
    environment.put("KERNBENCH_JAVA_HOME", javaHome.toString());
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
}
