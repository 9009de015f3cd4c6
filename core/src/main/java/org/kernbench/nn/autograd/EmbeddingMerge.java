package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.nn.kernels.Compute.BlockCopy;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;

/**
 * Puts embeddings of text and of another modality together: text where an id is none of the
 * placeholders, the modality's rows where it is its placeholder, both in the order of samples and
 * then positions. Source: {@code docs/spec/megatron.md} 9.3.
 */
public final class EmbeddingMerge {
  private final int batch;
  private final int sequence;
  private final int[] textAt;
  private final int[] modalityAt;

  /**
   * For some samples.
   *
   * @param ids {@code [batch, sequence]}, row-major
   * @param placeholder the id of places for the modality
   */
  public EmbeddingMerge(int[] ids, int batch, int sequence, int placeholder) {
    if (ids.length != batch * sequence) {
      throw new ShapeException(ids.length + " ids for [" + batch + ", " + sequence + "]");
    }
    this.batch = batch;
    this.sequence = sequence;
    int places = 0;
    for (int id : ids) {
      places += id == placeholder ? 1 : 0;
    }
    this.modalityAt = new int[places];
    this.textAt = new int[ids.length - places];
    int m = 0;
    int t = 0;
    for (int i = 0; i < ids.length; i++) {
      // rows of the result go position by position
      int row = i % sequence * batch + i / sequence;
      if (ids[i] == placeholder) {
        modalityAt[m++] = row;
      } else {
        textAt[t++] = row;
      }
    }
  }

  /** The ids of text, in the order of samples and positions. */
  public static int[] text(int[] ids, int placeholder) {
    return java.util.Arrays.stream(ids).filter(id -> id != placeholder).toArray();
  }

  /**
   * Merges.
   *
   * @param text {@code [ids that are no placeholders, hidden]}
   * @param modality {@code [placeholders, hidden]}
   * @return {@code [sequence, batch, hidden]}
   * @throws ShapeException if there are not as many rows as places for them
   */
  public Variable apply(Graph graph, Variable text, Variable modality) {
    check("text", text, textAt.length, "ids that are no placeholders");
    check("modality", modality, modalityAt.length, "placeholders in the text");
    int columns = text.columns();
    if (modality.columns() != columns || modality.dtype() != text.dtype()) {
      throw new ShapeException("merge of " + text + " with " + modality + ": different rows");
    }
    List<BlockCopy> blocks = new ArrayList<>(RowRuns.place(text.value(), columns, textAt));
    blocks.addAll(RowRuns.place(modality.value(), columns, modalityAt));
    int rows = sequence * batch;
    return graph.record(
        graph.compute().assemble(graph.name("merge"), rows, columns, text.dtype(), false, blocks),
        Shape.of(sequence, batch, columns),
        List.of(text, modality),
        (grad, into) -> {
          List<int[]> places = List.of(textAt, modalityAt);
          for (int i = 0; i < 2; i++) {
            if (into.wants(i)) {
              into.give(
                  i,
                  graph
                      .compute()
                      .assemble(
                          graph.name("unmerge"),
                          places.get(i).length,
                          columns,
                          grad.dtype(),
                          false,
                          RowRuns.gather(grad, columns, places.get(i))));
            }
          }
        });
  }

  private static void check(String what, Variable rows, int expected, String places) {
    int found = rows.shape().elements() == 0 ? 0 : rows.rows();
    if (found != expected) {
      throw new ShapeException(
          "merge of embeddings: %s rows of %s, but %s %s".formatted(found, what, expected, places));
    }
  }
}
