package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.tensor.ShapeException;

/** What is said of ranks that failed: eight reasons, each once, and how many ranks have others. */
final class SpawnTextTest {
  @ParameterizedTest
  @CsvSource({"1, 1, 0", "8, 8, 0", "9, 8, 1", "12, 8, 4", "1000, 8, 992"})
  void text_eachRankForAnotherReason_tellsEight(int ranks, int told, int left) {
    SortedMap<Integer, Throwable> failures = new TreeMap<>();
    for (int rank = 0; rank < ranks; rank++) {
      failures.put(rank, new ShapeException("reason " + rank + "."));
    }
    String text = new SpawnException(failures, 1000).getMessage();
    assertThat(text).startsWith(ranks + " of 1000 ranks failed");
    for (int rank = 0; rank < Math.min(ranks, 20); rank++) {
      if (rank < told) {
        assertThat(text).contains("reason " + rank + ".");
      } else {
        assertThat(text).doesNotContain("reason " + rank + ".");
      }
    }
    if (left == 0) {
      assertThat(text).doesNotContain("more");
    } else {
      assertThat(text).endsWith("\n  … and " + left + " more");
    }
  }

  @Test
  void wrongArgumentOfAProgram_isItsUsersError() {
    SortedMap<Integer, Throwable> failures = new TreeMap<>();
    failures.put(3, new UsageException("unknown dtype float32"));
    SpawnException error = new SpawnException(failures, 4);
    assertThat(error.isUserError()).isTrue();
    assertThat(error)
        .hasMessageStartingWith("1 of 4 ranks failed\n  rank 3: unknown dtype float32");
    failures.put(2, new IllegalStateException("broken"));
    assertThat(new SpawnException(failures, 4).isUserError()).isFalse();
  }

  @ParameterizedTest
  @CsvSource({"7, 5", "9, 2"})
  void text_twoReasonsOfManyRanks_tellsEachOnce(int first, int second) {
    SortedMap<Integer, Throwable> failures = new TreeMap<>();
    for (int rank = 0; rank < first + second; rank++) {
      failures.put(rank, new ShapeException(rank < first ? "one" : "two\nlines"));
    }
    String text = new SpawnException(failures, 16).getMessage();
    assertThat(text.split("one", -1)).hasSize(2);
    assertThat(text.split("two\n    lines", -1)).hasSize(2);
    assertThat(text).doesNotContain("more");
  }
}
