package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * A net under everything: some five hundred small command lines over all benches, machines, types
 * and algorithms, of each the exit code and a checksum of all that it prints and writes. It says
 * that something changed, not that it is right: that is for the tests of each room. {@code
 * scripts/goldens} writes the file anew; run the command before and after to see the difference.
 */
final class ManyRunsTest {
  private static final String FILE = "many-runs.txt";

  /** What each command line does today, if the file is to be written anew. */
  private static final Map<String, String> FOUND = new LinkedHashMap<>();

  private static String checksum(String text) {
    CRC32 sum = new CRC32();
    sum.update(text.getBytes(StandardCharsets.UTF_8));
    return String.format("%08x", sum.getValue());
  }

  /**
   * Runs a line; {@code @} in it is a folder that the line may write to. Of several commands joined
   * by {@code &&} the last one's exit code counts. Where lines are broken depends on how long the
   * folder's name is, and does not count there.
   */
  private static Session run(String line) {
    if (!line.contains("@")) {
      return Session.of(line.split(" "));
    }
    try {
      Path folder = Files.createTempDirectory("many-runs");
      try {
        StringBuilder out = new StringBuilder();
        StringBuilder err = new StringBuilder();
        int code = 0;
        for (String command : line.replace("@", folder.toString()).split(" && ")) {
          Session session = Session.of(command.split(" "));
          out.append(session.out().replace(folder.toString(), "@"));
          err.append(session.err().replace(folder.toString(), "@"));
          code = session.exitCode();
        }
        return new Session(code, inOneLine(out + written(folder)), inOneLine(err.toString()));
      } finally {
        for (Path file : files(folder).reversed()) {
          Files.delete(file);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String inOneLine(String text) {
    return text.replaceAll("\\s+", " ");
  }

  private static List<Path> files(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.sorted().toList();
    }
  }

  /** The texts in a folder, of others the names: pictures and databases differ between machines. */
  private static String written(Path folder) throws IOException {
    StringBuilder text = new StringBuilder();
    for (Path file : files(folder)) {
      text.append("\n== ").append(folder.relativize(file)).append('\n');
      if (file.toString().matches(".*\\.(csv|json|svg|md|txt|yaml)")) {
        text.append(
            Files.readString(file)
                .replace(folder.toString(), "@")
                .replaceAll("\"(Java|system|simulated in)\":\"[^\"]*\"", "\"$1\":MASKED"));
      }
    }
    return text.toString();
  }

  /** Exit code and checksum, as in the file. */
  private static String outcome(Session session) {
    String text = Golden.masked(session.out()) + "\n" + Golden.masked(session.err());
    return session.exitCode() + " " + checksum(text);
  }

  @TestFactory
  Stream<DynamicTest> everyLine_printsWhatItPrinted() {
    return Golden.read(FILE).lines().map(ManyRunsTest::test);
  }

  private static DynamicTest test(String row) {
    String line = row.substring(row.indexOf('|') + 2);
    return DynamicTest.dynamicTest(
        line,
        () -> {
          Session session = run(line);
          String outcome = outcome(session);
          if (Golden.UPDATE) {
            FOUND.put(line, outcome);
          } else if (!row.equals(outcome + " | " + line)) {
            fail(
                "kernbench %s%nwas %s, is %s; it prints now:%n%s%s"
                    .formatted(
                        line,
                        row.substring(0, row.indexOf(" |")),
                        outcome,
                        session.out(),
                        session.err()));
          }
        });
  }

  @AfterAll
  static void write() {
    if (Golden.UPDATE) {
      StringBuilder file = new StringBuilder();
      FOUND.forEach(
          (line, outcome) -> file.append(outcome).append(" | ").append(line).append('\n'));
      Golden.check(FILE, file.toString());
    }
  }

  @Test
  void outcome_seesAChangedDigit() {
    Session session = new Session(0, "elapsed 1,000 ns", "");

    assertThat(outcome(session)).isNotEqualTo(outcome(new Session(0, "elapsed 1,001 ns", "")));
    assertThat(outcome(session)).isNotEqualTo(outcome(new Session(1, "elapsed 1,000 ns", "")));
    assertThat(List.of(outcome(session)))
        .containsExactly(outcome(new Session(0, session.out(), "")));
  }
}
