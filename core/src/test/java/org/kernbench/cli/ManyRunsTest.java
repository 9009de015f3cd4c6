package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.fail;

import java.nio.charset.StandardCharsets;
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
 * A net under everything: some two hundred small command lines over all benches, machines, types
 * and algorithms, of each the exit code and a checksum of all that it prints. It says that
 * something changed, not that it is right: that is for the tests of each room. {@code
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

  private static Session run(String line) {
    return Session.of(line.split(" "));
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
