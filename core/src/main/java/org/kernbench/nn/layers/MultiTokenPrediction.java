package org.kernbench.nn.layers;

import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;

/**
 * Predicts the token after the next one, beside a {@link Transformer} that predicts the next (MTP
 * of DeepSeek-V3, one module; {@code MultiTokenPredictionLayer} of Megatron-LM). What the last
 * block gives at position i and the embedding of token i + 1 are normalised and joined, {@code h' =
 * A norm(h) + B norm(Emb(t_{i+1}))}, which is the report's {@code M [norm(h); norm(Emb)]} with the
 * columns of M apart; then come a block of its own, a norm, and the model's head. Embedding and
 * head are the model's, and their gradients add up.
 *
 * <p>The loss of a step is that of the model plus a weight times that of this module, 0.3 and later
 * 0.1 in the report: {@code graph.add(main, graph.scale(more, 0.3))}. Both are sums over tokens,
 * divided by the same number of them.
 *
 * <p>Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, 2.2.
 */
public final class MultiTokenPrediction implements Module {
  private final Parts parts = new Parts();
  private final TransformerStage model;
  private final Norm hiddenNorm;
  private final Norm embeddingNorm;
  private final Parameter ofHidden;
  private final Parameter ofEmbedding;
  private final TransformerBlock block;
  private final Norm norm;

  /**
   * A module beside a model, in the model's layout. Its block is one as the model's would be after
   * the last, with experts if the model has some.
   *
   * @throws LayoutException if the model adds learned positions, which a token has at one place
   *     only
   */
  public MultiTokenPrediction(
      Transformer model, TransformerConfig config, ParallelLayout layout, Init init) {
    if (config.style().isPlain()) {
      throw LayoutException.argument(
          "prediction of several tokens beside %s: its embeddings have learned positions; expected a model in Llama's style"
              .formatted(config.name()));
    }
    this.model = model.stage();
    boolean sp = layout.sequenceParallel();
    int hidden = config.hidden();
    Sharding whole = sp ? Sharding.SEQUENCE : Sharding.REPLICATED;
    Shape square = Shape.of(hidden, hidden);
    this.hiddenNorm = parts.add(new Norm("mtp.hidden_norm", hidden, config.style(), sp, init));
    this.embeddingNorm =
        parts.add(new Norm("mtp.embedding_norm", hidden, config.style(), sp, init));
    this.ofHidden = parts.add(init.normal("mtp.join.hidden.weight", square, whole, layout.tp()));
    this.ofEmbedding =
        parts.add(init.normal("mtp.join.embedding.weight", square, whole, layout.tp()));
    this.block =
        parts.add(new TransformerBlock("mtp.block", config.layers(), config, layout, init));
    this.norm = parts.add(new Norm("mtp.norm", hidden, config.style(), sp, init));
  }

  /**
   * The loss of every token after the next.
   *
   * @param hidden what the model's last block gives ({@link Transformer#blocks})
   * @param next the id that follows each, {@code [own positions, batch]}: the model's targets
   * @param afterNext the id after that; any where there is none, with a mask for the sum
   * @return {@code [own positions, batch]}
   */
  public Variable losses(
      Graph graph, Variable hidden, int[] next, int[] afterNext, int batch, SequencePart part) {
    Variable joined = joined(graph, hidden, next, batch, part);
    Variable made = norm.forward(graph, block.forward(graph, joined, part));
    return model.losses(graph, model.head(graph, made), afterNext);
  }

  /** What the block is given. */
  Variable joined(Graph graph, Variable hidden, int[] next, int batch, SequencePart part) {
    Variable h = hiddenNorm.forward(graph, hidden);
    Variable e = embeddingNorm.forward(graph, model.tokens(graph, next, batch, part));
    try (Graph.Section section = graph.section("mtp.join")) {
      return graph.add(graph.linear(h, ofHidden), graph.linear(e, ofEmbedding));
    }
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
