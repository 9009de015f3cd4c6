package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Mode;
import org.kernbench.device.check.Finding;

/** Checked execution reports each of the {@link WrongKernels} at its lines, and nothing else. */
final class WrongKernelsTest {
  private static final Path SOURCE =
      Path.of(
          System.getProperty("basedir", "."),
          "src/test/java/org/kernbench/torch/WrongKernels.java");

  static Stream<Method> programs() {
    return Arrays.stream(WrongKernels.class.getDeclaredMethods())
        .filter(m -> m.getAnnotationsByType(WrongKernels.Expect.class).length > 0)
        .sorted(Comparator.comparing(Method::getName));
  }

  @Test
  void corpus_hasThePromisedSize() {
    assertThat(programs()).hasSizeGreaterThanOrEqualTo(49);
  }

  @ParameterizedTest
  @MethodSource("programs")
  void wrongProgram_checked_isReportedAtItsLines(Method program) throws Exception {
    assertReported(program, new CheckBed(Mode.FULL));
  }

  /** The findings of a run, as text: kind, parties and bytes. */
  private static void assertReported(Method program, CheckBed bed) throws Exception {
    try {
      program.invoke(null, bed);
    } catch (InvocationTargetException e) {
      assertThat(e.getCause()).isInstanceOf(DeadlockException.class);
    } finally {
      bed.close();
    }
    List<String> wanted = new ArrayList<>();
    for (WrongKernels.Expect e : program.getAnnotationsByType(WrongKernels.Expect.class)) {
      wanted.add(expected(bed, program.getName(), e));
    }
    assertThat(bed.findings.list().stream().map(WrongKernelsTest::text))
        .as(program.getName() + bed.findings.list().stream().map(Finding::message).toList())
        .containsExactlyInAnyOrderElementsOf(wanted);
    for (Finding f : bed.findings.list()) {
      assertThat(f.message()).contains(f.kind().text(), f.by().line(), "remedy: ");
      assertThat(
              f.by().timePs() >= 0
                  || f.kind() == Finding.Kind.NOT_SENT
                  || f.kind() == Finding.Kind.OUTSIDE)
          .isTrue();
    }
  }

  private static String text(Finding f) {
    return f.kind()
        + " "
        + f.bytes().map(b -> b.tensor() + "[" + b.first() + ", " + b.end() + ") ").orElse("")
        + party(f.by())
        + f.other().map(o -> " with " + party(o)).orElse("");
  }

  private static String party(Finding.Party p) {
    return (p.who().contains("host") ? "host" : p.who()) + " " + p.line();
  }

  private static String expected(CheckBed bed, String program, WrongKernels.Expect e)
      throws IOException {
    boolean alone = e.otherPe() < 0 && !e.with().equals("host");
    String other = e.with().equals("host") ? "host " : alone ? "" : bed.pe(e.otherPe()) + " ";
    return e.kind()
        + " "
        + (e.tensor().isEmpty() ? "" : e.tensor() + "[" + e.first() + ", " + e.end() + ") ")
        + (e.pe() < 0 ? "host " : bed.pe(e.pe()) + " " + line(program, e.at()))
        + (alone ? "" : " with " + other)
        + (e.with().isEmpty() || e.with().equals("host") ? "" : line(program, e.with()));
  }

  /** The line of a program that ends with a comment. */
  private static String line(String program, String comment) throws IOException {
    List<String> lines = Files.readAllLines(SOURCE);
    boolean inside = false;
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      inside |= line.startsWith("  static void " + program + "(");
      if (inside && line.endsWith("// " + comment)) {
        return "WrongKernels.java:" + (i + 1);
      }
      assertThat(inside && line.equals("  }")).as("no line // %s", comment).isFalse();
    }
    throw new AssertionError("no program " + program);
  }
}
