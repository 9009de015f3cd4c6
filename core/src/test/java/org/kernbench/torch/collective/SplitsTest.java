package org.kernbench.torch.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Blocks of an all-to-all, beside sums over a table. */
final class SplitsTest {
  private static final long[][] TABLE = {{3, 0, 2}, {5, 7, 1}, {0, 4, 6}};

  private static void compare(Splits splits, long[][] table) {
    assertThat(splits.ranks()).isEqualTo(table.length);
    for (int me = 0; me < table.length; me++) {
      long sent = 0;
      long received = 0;
      for (int other = 0; other < table.length; other++) {
        assertThat(splits.count(me, other)).isEqualTo(table[me][other]);
        assertThat(splits.sendStart(me, other)).isEqualTo(sent);
        assertThat(splits.receiveStart(me, other)).isEqualTo(received);
        sent += table[me][other];
        received += table[other][me];
      }
      assertThat(splits.sent(me)).isEqualTo(sent);
      assertThat(splits.received(me)).isEqualTo(received);
    }
  }

  @Test
  void blocks_lieOneAfterTheOther() {
    compare(Splits.of(Arrays.asList(TABLE)), TABLE);
    compare(Splits.even(3, 4), new long[][] {{4, 4, 4}, {4, 4, 4}, {4, 4, 4}});
  }

  @Test
  void equal_areThoseOfTheSameBlocks() {
    Splits ragged = Splits.of(Arrays.asList(TABLE));

    assertThat(ragged)
        .isEqualTo(Splits.of(Arrays.asList(TABLE)))
        .hasSameHashCodeAs(Splits.of(Arrays.asList(TABLE)))
        .isNotEqualTo(Splits.of(List.of(TABLE[1], TABLE[0], TABLE[2])))
        .isNotEqualTo(Splits.even(3, 0));
    assertThat(Splits.even(3, 4)).isNotEqualTo(Splits.even(2, 4)).isNotEqualTo(Splits.even(3, 5));
    assertThat(Splits.even(0, 0)).isEqualTo(Splits.NONE);
  }

  @Test
  void text_saysTheBlocks() {
    assertThat(Splits.even(3, 4)).hasToString("even 4");
    assertThat(Splits.of(List.of(new long[] {1, 0}, new long[] {2, 3})))
        .hasToString("[[1, 0], [2, 3]]");
  }

  /** What a caller does to its array afterwards does not reach the blocks. */
  @Test
  void rows_areCopied() {
    long[] row = {1};
    Splits splits = Splits.of(List.of(row));
    row[0] = 9;

    assertThat(splits.count(0, 0)).isEqualTo(1);
  }

  @Test
  void tableThatIsNotSquare_orNegative_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Splits.of(List.of(new long[] {1, 2}, new long[] {1})))
        .withMessage("rank 1 sends 1 blocks; expected 2");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Splits.of(List.of(new long[] {1, 2}, new long[] {0, -1})))
        .withMessage("rank 1 sends -1 elements");
  }

  @Test
  void part_endsBehindItsLast() {
    assertThat(new Part(3, 4).end()).isEqualTo(7);
    assertThat(new Part(0, 0).end()).isZero();
    assertThatIllegalArgumentException().isThrownBy(() -> new Part(-1, 0));
    assertThatIllegalArgumentException().isThrownBy(() -> new Part(0, -1));
  }
}
