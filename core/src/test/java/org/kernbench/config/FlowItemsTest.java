package org.kernbench.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where a line of values is cut. */
final class FlowItemsTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "a | a",
        "a, b ,c | a;b;c",
        "a,,c | a;;c",
        "[1, 2],[3] | [1, 2];[3]",
        "{a: 1, b: [2, 3]}, c | {a: 1, b: [2, 3]};c",
        "a], b | a];b",
        "[a, b | [a, b"
      })
  void of_isCutAtCommasOutsideBrackets(String text, String items) {
    assertThat(FlowItems.of(text)).isEqualTo(List.of(items.split(";", -1)));
  }
}
