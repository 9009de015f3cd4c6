package org.kernbench.nn.layers;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;

/**
 * A decoder-only language model in a parallel layout: embedding, blocks, norm, and a head whose
 * logits stay divided over the tensor-parallel group.
 */
public final class Transformer implements Module {
  private final Parts parts = new Parts();
  private final TransformerConfig config;
  private final ParallelLayout layout;
  private final VocabParallelEmbedding embedding;
  private final @Nullable Parameter positions;
  private final List<TransformerBlock> blocks = new ArrayList<>();
  private final Norm norm;
  private final ColumnParallelLinear head;

  /** A model of a layout. */
  public Transformer(TransformerConfig config, ParallelLayout layout, Init init) {
    this.config = config;
    this.layout = layout;
    boolean sp = layout.sequenceParallel();
    this.embedding =
        parts.add(
            new VocabParallelEmbedding(
                "embedding", config.vocabulary(), config.hidden(), layout.tp(), init, sp));
    this.positions =
        config.style().isPlain()
            ? parts.add(
                init.normal(
                    "positions",
                    Shape.of(config.maxSequence(), config.hidden()),
                    sp ? Sharding.SEQUENCE : Sharding.REPLICATED,
                    layout.tp()))
            : null;
    for (int i = 0; i < config.layers(); i++) {
      blocks.add(parts.add(new TransformerBlock("layers." + i, config, layout, init)));
    }
    this.norm = parts.add(new Norm("norm", config.hidden(), config.style(), sp, init));
    this.head =
        parts.add(
            new ColumnParallelLinear(
                "head",
                config.hidden(),
                config.vocabulary(),
                layout.tp(),
                init,
                ColumnParallelLinear.Options.DEFAULT.withBias(false).withSequenceParallel(sp)));
  }

  /**
   * Embeds tokens; the first part of {@link #forward}.
   *
   * @param ids {@code [own positions, batch]}, row-major
   * @return {@code [own positions, batch, hidden]}; with sequence parallelism this rank's rows
   */
  public Variable embed(Graph graph, int[] ids, int batch, SequencePart part) {
    return positioned(graph, embedding.forward(graph, ids, part.own().length, batch), batch, part);
  }

  /**
   * Embeds tokens that need not be whole sequences, without their positions.
   *
   * @return {@code [ids.length, hidden]}, all of it on every rank
   */
  public Variable lookUp(Graph graph, int[] ids) {
    return embedding.lookUp(graph, ids);
  }

  /** Adds learned positions, if the model has them, to this rank's rows. */
  public Variable positioned(Graph graph, Variable x, int batch, SequencePart part) {
    if (positions == null) {
      return x;
    }
    int[] at = graph.recipe().positions(part);
    int rows = x.rows();
    int first = layout.sequenceParallel() ? layout.tp().rank() * rows : 0;
    int[] own = new int[rows];
    for (int i = 0; i < rows; i++) {
      own[i] = at[(first + i) / batch];
    }
    return graph.add(x, graph.reshape(graph.selectRows(positions, own), x.shape()));
  }

  /**
   * From embedded tokens to logits.
   *
   * @return {@code [own positions, batch, vocabulary / tp]}
   */
  public Variable decode(Graph graph, Variable embedded, SequencePart part) {
    Variable x = embedded;
    for (TransformerBlock block : blocks) {
      x = block.forward(graph, x, part);
    }
    return head.forward(graph, norm.forward(graph, x));
  }

  /**
   * The loss of every token.
   *
   * @param ids {@code [own positions, batch]}, row-major
   * @param targets the id that follows each
   * @return {@code [own positions, batch]}
   */
  public Variable forward(Graph graph, int[] ids, int[] targets, int batch, SequencePart part) {
    Variable logits = decode(graph, embed(graph, ids, batch, part), part);
    return graph.crossEntropy(logits, targets, layout.tp(), config.vocabulary(), 0);
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
