package org.kernbench.nn.layers;

import org.kernbench.nn.autograd.Exchange;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Mapping;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.ProcessGroup;

/**
 * A table of embeddings whose rows are divided over the tensor-parallel group: each rank looks up
 * the ids that it owns, and the sum over the ranks is the whole. Source: {@code
 * docs/spec/megatron.md} 8.4.
 */
public final class VocabParallelEmbedding implements Module {
  private final Parts parts = new Parts();
  private final String name;
  private final ProcessGroup tp;
  private final boolean sequenceParallel;
  private final int vocabulary;
  private final Parameter table;

  /**
   * A table.
   *
   * @param vocabulary number of ids; a multiple of the group's size
   * @param hidden elements per id
   * @param sequenceParallel whether each rank gets its rows of the sequence only
   */
  public VocabParallelEmbedding(
      String name,
      int vocabulary,
      int hidden,
      ProcessGroup tp,
      Init init,
      boolean sequenceParallel) {
    this.name = name;
    this.tp = tp;
    this.sequenceParallel = sequenceParallel && tp.size() > 1;
    this.vocabulary = vocabulary;
    this.table =
        parts.add(
            init.normal(name + ".weight", Shape.of(vocabulary, hidden), Sharding.along(0), tp));
  }

  /** This rank's rows of the table. */
  public Parameter weight() {
    return table;
  }

  /**
   * Looks ids up.
   *
   * @param ids {@code [sequence, batch]}, row-major, the host's
   * @return {@code [sequence, batch, hidden]}; with sequence parallelism this rank's rows
   */
  public Variable forward(Graph graph, int[] ids, int sequence, int batch) {
    if (ids.length != sequence * batch) {
      throw new ShapeException(
          name + ": " + ids.length + " ids for [" + sequence + ", " + batch + "]");
    }
    try (Graph.Section section = graph.section(name)) {
      Variable rows = own(graph, ids);
      Variable x = graph.reshape(rows, Shape.of(sequence, batch, rows.columns()));
      return Exchange.apply(
          graph,
          sequenceParallel ? Mapping.REDUCE_SCATTER_TO_SEQUENCE : Mapping.REDUCE_FROM,
          x,
          tp);
    }
  }

  /**
   * Looks ids up for all ranks alike, whether or not the model divides rows over them.
   *
   * @return {@code [ids.length, hidden]}
   */
  Variable lookUp(Graph graph, int[] ids) {
    try (Graph.Section section = graph.section(name)) {
      return Exchange.apply(graph, Mapping.REDUCE_FROM, own(graph, ids), tp);
    }
  }

  /** Rows of the ids that this rank owns, zeros for others. */
  private Variable own(Graph graph, int[] ids) {
    int each = vocabulary / tp.size();
    int first = tp.rank() * each;
    int[] own = new int[ids.length];
    for (int i = 0; i < ids.length; i++) {
      if (ids[i] < 0 || ids[i] >= vocabulary) {
        throw new ShapeException(
            name + ": id " + ids[i] + " at " + i + "; expected 0 to " + (vocabulary - 1));
      }
      own[i] = ids[i] >= first && ids[i] < first + each ? ids[i] - first : -1;
    }
    return graph.selectRows(table, own);
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
