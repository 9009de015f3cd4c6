package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;

/** Text and another modality put together: {@code docs/spec/megatron.md} 9.3. */
final class EmbeddingMergeTest {
  private static final int P = 9;

  /** Two samples of three: placeholders in other places. */
  private static final int[] IDS = {P, 4, P, 5, P, P};

  private static Variable merge(Graph graph, Variable text, Variable rows) {
    return new EmbeddingMerge(IDS, 2, 3, P).apply(graph, text, rows);
  }

  /** Rows are consumed sample after sample; the result goes position by position. */
  @Test
  void merge_rowsOfTwoSamples_goToTheirPlaces() {
    double[] text = {41, 42, 51, 52};
    double[] rows = {1, 2, 3, 4, 5, 6, 7, 8};
    double[] merged =
        GradCheck.run(
            (graph, in) -> merge(graph, in.get(0), in.get(1)),
            List.of(text, rows),
            Shape.of(2, 2),
            Shape.of(4, 2));
    // position 0: sample 0 row 0, sample 1 text; 1: text, row 2; 2: row 1, row 3
    assertThat(merged).containsExactly(1, 2, 51, 52, 41, 42, 5, 6, 3, 4, 7, 8);
    assertThat(EmbeddingMerge.text(IDS, P)).containsExactly(4, 5);
  }

  @Test
  void merge_gradients_equalDifferences() {
    assertThat(
            GradCheck.check(
                (graph, in) -> merge(graph, in.get(0), in.get(1)), Shape.of(2, 3), Shape.of(4, 3)))
        .isLessThan(1e-8);
  }

  @Test
  void merge_otherNumberOfRows_tellsBothNumbers() {
    assertThatThrownBy(() -> run(Shape.of(2, 2), Shape.of(3, 2)))
        .isInstanceOf(ShapeException.class)
        .hasMessage("merge of embeddings: 3 rows of modality, but 4 placeholders in the text");
    assertThatThrownBy(() -> run(Shape.of(1, 2), Shape.of(4, 2)))
        .isInstanceOf(ShapeException.class)
        .hasMessage("merge of embeddings: 1 rows of text, but 2 ids that are no placeholders");
    assertThatThrownBy(() -> run(Shape.of(2, 3), Shape.of(4, 2)))
        .hasMessageContaining("different rows");
    assertThatThrownBy(() -> new EmbeddingMerge(IDS, 2, 4, P)).hasMessage("6 ids for [2, 4]");
  }

  private static void run(Shape text, Shape rows) {
    GradCheck.run(
        (graph, in) -> merge(graph, in.get(0), in.get(1)),
        List.of(new double[(int) text.elements()], new double[(int) rows.elements()]),
        text,
        rows);
  }
}
