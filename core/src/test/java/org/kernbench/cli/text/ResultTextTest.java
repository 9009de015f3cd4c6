package org.kernbench.cli.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

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
}
