package org.kernbench.cli.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** How tables stand on a terminal, against drawings. */
final class ResultTextTest {
  private static String table(int indent, List<List<String>> rows) {
    StringBuilder out = new StringBuilder("before\n");
    ResultText.table(out, rows, indent);
    return out.toString();
  }

  @Test
  void columns_areAsWideAsTheirWidestCell_numbersToTheRight() {
    List<List<String>> rows =
        List.of(
            List.of("time", "name", "-", "x"),
            List.of("7", "a", "+1", ""),
            List.of("1,000", "longer", "", "3"));

    assertThat(table(2, rows))
        .isEqualTo(
            """
            before
               time  name    -   x
                  7  a       +1
              1,000  longer      3
            """);
  }

  /** The first row beneath the head says what a column holds. */
  @Test
  void column_whoseFirstCellIsAWord_standsToTheLeft() {
    List<List<String>> rows = List.of(List.of("abc", "d"), List.of("-", "e"), List.of("12", "f"));

    assertThat(table(0, rows))
        .isEqualTo(
            """
            before
            abc  d
            -    e
            12   f
            """);
  }

  @Test
  void headAlone_isItsWords() {
    assertThat(table(4, List.of(List.of("a", "bc", ""))))
        .isEqualTo(
            """
            before
                a  bc
            """);
  }

  /** Findings that were not kept count; one stands in the singular. */
  @ParameterizedTest
  @CsvSource({"0, no findings", "1, 1 finding", "3, 3 findings"})
  void findings_areCountedWithThoseThatWereLeftOut(int left, String words) {
    RunResult of =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find("hello-send"),
                RunOptions.DEFAULT.withTopology("tiny"));
    RunResult.Checked checked = new RunResult.Checked(List.of(), left, 1234, 2);
    RunResult result =
        new RunResult(
            of.version(),
            of.bench(),
            of.machine(),
            of.mode(),
            of.params(),
            of.status(),
            of.problems(),
            of.values(),
            of.metrics(),
            of.breakdown(),
            of.breakdownNote(),
            of.rows(),
            of.sim(),
            of.verified(),
            of.log(),
            of.path(),
            Optional.of(checked),
            of.point(),
            of.choices(),
            of.files());

    assertThat(ResultText.write(result).lines())
        .anyMatch(line -> line.matches("checked +" + words + " in 1,234 accesses and 2 messages"));
  }
}
