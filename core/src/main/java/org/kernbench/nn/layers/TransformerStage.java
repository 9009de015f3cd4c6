package org.kernbench.nn.layers;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Dropping;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;

/**
 * Some neighbouring parts of a {@link Transformer}: all of it, or a stage of a pipeline. The first
 * stage has the embedding, the last one norm and head. Names and first values of parameters are
 * those that they have in the whole model.
 *
 * <p>With tied embeddings the head's weight is the table of the embedding. Where these are on
 * different ranks each has the table, and both gradients must be summed ({@code
 * docs/pipelines.md}).
 */
public final class TransformerStage implements Module {
  private final Parts parts = new Parts();
  private final TransformerConfig config;
  private final ParallelLayout layout;
  private final @Nullable VocabParallelEmbedding embedding;
  private final @Nullable Parameter positions;
  private final List<TransformerBlock> blocks = new ArrayList<>();
  private final @Nullable Norm norm;
  private final @Nullable ColumnParallelLinear head;
  private final @Nullable Parameter tied;
  private Recompute recompute = Recompute.NONE;

  /**
   * Which parts of a model.
   *
   * @param from the first block, from 0
   * @param to the block after the last; may be {@code from} if there is none
   * @param embeds whether it has the embedding
   * @param ends whether it has norm and head
   * @param tied whether the head's weight is the embedding's table
   */
  public record Range(int from, int to, boolean embeds, boolean ends, boolean tied) {
    /** Checks the numbers. */
    public Range {
      if (from < 0 || to < from) {
        throw new IllegalArgumentException(
            "blocks " + from + " to before " + to + "; expected ascending numbers from 0");
      }
    }

    /** All of a model. */
    public static Range all(TransformerConfig config, boolean tied) {
      return new Range(0, config.layers(), true, true, tied);
    }
  }

  /** A stage with parameters of its own. */
  public TransformerStage(TransformerConfig config, ParallelLayout layout, Init init, Range range) {
    this(config, layout, init, range, Optional.empty());
  }

  /**
   * A stage.
   *
   * @param table for a last stage with tied embeddings, the table of a first stage on this rank;
   *     empty if there is none
   */
  public TransformerStage(
      TransformerConfig config,
      ParallelLayout layout,
      Init init,
      Range range,
      Optional<Parameter> table) {
    this.config = config;
    this.layout = layout;
    boolean sp = layout.sequenceParallel();
    boolean ownsTable = range.embeds || (range.ends && range.tied && table.isEmpty());
    this.embedding =
        ownsTable
            ? parts.add(
                new VocabParallelEmbedding(
                    "embedding", config.vocabulary(), config.hidden(), layout.tp(), init, sp))
            : null;
    this.positions =
        range.embeds && config.style().isPlain()
            ? parts.add(
                init.normal(
                    "positions",
                    Shape.of(config.maxSequence(), config.hidden()),
                    sp ? Sharding.SEQUENCE : Sharding.REPLICATED,
                    layout.tp()))
            : null;
    for (int i = range.from; i < range.to; i++) {
      blocks.add(parts.add(new TransformerBlock("layers." + i, i, config, layout, init)));
    }
    this.norm =
        range.ends ? parts.add(new Norm("norm", config.hidden(), config.style(), sp, init)) : null;
    this.tied =
        !range.ends || !range.tied ? null : embedding != null ? embedding.weight() : table.get();
    this.head = range.ends ? parts.add(head(init, sp, range.tied)) : null;
  }

  private ColumnParallelLinear head(Init init, boolean sp, boolean withoutWeight) {
    ColumnParallelLinear.Options options =
        ColumnParallelLinear.Options.DEFAULT.withBias(false).withSequenceParallel(sp).withF8(false);
    int in = config.hidden();
    int out = config.vocabulary();
    return withoutWeight
        ? ColumnParallelLinear.withoutWeight("head", in, out, layout.tp(), init, options)
        : new ColumnParallelLinear("head", in, out, layout.tp(), init, options);
  }

  /** Makes some activations of each block again on the way back, from now on. */
  public void recompute(Recompute what) {
    recompute = what;
  }

  /** The experts of the stage's blocks that have some, in order. */
  public List<MoELayer> experts() {
    return blocks.stream().flatMap(block -> block.experts().stream()).toList();
  }

  /** The table of the embedding, or its copy for the head; empty if the stage has none. */
  public Optional<Parameter> table() {
    return Optional.ofNullable(embedding).map(VocabParallelEmbedding::weight);
  }

  private VocabParallelEmbedding embedding() {
    if (embedding == null) {
      throw new IllegalStateException("this stage has no embedding; the first one has");
    }
    return embedding;
  }

  /** As {@link Transformer#embed}, of the first stage. */
  public Variable embed(Graph graph, int[] ids, int batch, SequencePart part) {
    return positioned(graph, tokens(graph, ids, batch, part), batch, part);
  }

  /** Embeddings of tokens without their positions, this rank's rows. */
  Variable tokens(Graph graph, int[] ids, int batch, SequencePart part) {
    return embedding().forward(graph, ids, part.own().length, batch);
  }

  /** As {@link Transformer#lookUp}, of the first stage. */
  public Variable lookUp(Graph graph, int[] ids) {
    return embedding().lookUp(graph, ids);
  }

  /**
   * Adds learned positions, if the model has them, to this rank's rows, and sets some values to
   * zero as the graph says.
   */
  public Variable positioned(Graph graph, Variable x, int batch, SequencePart part) {
    Dropping.Rows rows = TransformerBlock.rows(x, part, layout);
    return Dropping.embedding(graph, withPositions(graph, x, batch, part), "embedding", rows);
  }

  private Variable withPositions(Graph graph, Variable x, int batch, SequencePart part) {
    if (positions == null) {
      return x;
    }
    int[] at = part.counted(graph.recipe().positions(part));
    int rows = x.rows();
    int first = layout.sequenceParallel() ? layout.tp().rank() * rows : 0;
    int[] own = new int[rows];
    for (int i = 0; i < rows; i++) {
      own[i] = at[(first + i) / batch];
    }
    return graph.add(x, graph.reshape(graph.selectRows(positions, own), x.shape()));
  }

  /**
   * Through the stage's blocks, and in the last stage through norm and head.
   *
   * @param x {@code [own positions, batch, hidden]}; with sequence parallelism this rank's rows
   * @return of the same shape; of the last stage logits, {@code [own positions, batch, vocabulary /
   *     tp]}
   */
  public Variable decode(Graph graph, Variable x, SequencePart part) {
    Variable y = blocks(graph, x, part);
    return norm == null ? y : logits(graph, y);
  }

  /** Through the stage's blocks only. */
  Variable blocks(Graph graph, Variable x, SequencePart part) {
    Variable y = x;
    for (TransformerBlock block : blocks) {
      y = block.forward(graph, y, part, recompute);
    }
    return y;
  }

  /** From what the last block of the last stage gives to logits. */
  Variable logits(Graph graph, Variable hidden) {
    if (norm == null) {
      throw new IllegalStateException("this stage has no norm and head; the last one has");
    }
    return head(graph, norm.forward(graph, hidden));
  }

  /** The head of the last stage. */
  Variable head(Graph graph, Variable normed) {
    if (head == null) {
      throw new IllegalStateException("this stage has no head; the last one has");
    }
    return tied == null
        ? head.forward(graph, normed)
        : head.apply(graph, normed, tied, false).output();
  }

  /** The loss of every token from the logits of the last stage, as {@link Transformer#forward}. */
  public Variable losses(Graph graph, Variable logits, int[] targets) {
    return graph.crossEntropy(logits, targets, layout.tp(), config.vocabulary(), 0);
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
