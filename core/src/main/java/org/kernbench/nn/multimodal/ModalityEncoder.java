package org.kernbench.nn.multimodal;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Dropping;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.layers.ColumnParallelLinear;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Module;
import org.kernbench.nn.layers.Norm;
import org.kernbench.nn.layers.Parts;
import org.kernbench.nn.layers.TransformerBlock;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.layers.TransformerStage;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;

/**
 * Encodes tokens of another modality: a linear layer from their values, positions, blocks, norm.
 * Every tensor-parallel rank has all of the result, as the bridge needs it. It is all of an
 * encoder, or a stage of one: the first stage has the layer and the positions, the last the norm.
 */
public final class ModalityEncoder implements Module {
  private final Parts parts = new Parts();
  private final @Nullable ColumnParallelLinear embedding;
  private final @Nullable Parameter positions;
  private final List<TransformerBlock> blocks = new ArrayList<>();
  private final @Nullable Norm norm;

  /** All of an encoder. */
  public ModalityEncoder(TwoModuleConfig model, ParallelLayout layout, Init init) {
    this(model, layout, init, TransformerStage.Range.all(model.encoder(), false));
  }

  /** A stage; its parameters have the names and first values that they have in the whole. */
  ModalityEncoder(
      TwoModuleConfig model, ParallelLayout layout, Init init, TransformerStage.Range range) {
    TransformerConfig config = model.encoder();
    if (layout.sequenceParallel()) {
      throw new IllegalArgumentException(
          """
          encoder with sequence parallelism: each rank would end with its rows only, but the \
          bridge needs all rows on every tensor-parallel rank; switch it off\
          """);
    }
    this.embedding = range.embeds() ? parts.add(embedding(model, layout, init)) : null;
    this.positions =
        range.embeds() && config.style().isPlain()
            ? parts.add(
                init.normal(
                    "encoder.positions",
                    Shape.of(config.maxSequence(), config.hidden()),
                    Sharding.REPLICATED,
                    layout.tp()))
            : null;
    for (int i = range.from(); i < range.to(); i++) {
      blocks.add(parts.add(new TransformerBlock("encoder.layers." + i, config, layout, init)));
    }
    this.norm =
        range.ends()
            ? parts.add(new Norm("encoder.norm", config.hidden(), config.style(), false, init))
            : null;
  }

  private static ColumnParallelLinear embedding(
      TwoModuleConfig model, ParallelLayout layout, Init init) {
    return new ColumnParallelLinear(
        "encoder.embedding",
        model.patch(),
        model.encoder().hidden(),
        layout.tp(),
        init,
        ColumnParallelLinear.Options.DEFAULT.withGatherOutput(true));
  }

  /**
   * Encodes.
   *
   * @param input {@code [own tokens, samples, patch]}; of a later stage than the first what the
   *     stage before gives
   * @param part the tokens that this rank has
   * @return {@code [own tokens, samples, hidden]}
   */
  Variable forward(Graph graph, Variable input, SequencePart part) {
    Variable x = embedding == null ? input : embedded(graph, embedding, input, part);
    for (TransformerBlock block : blocks) {
      x = block.forward(graph, x, part);
    }
    return norm == null ? x : norm.forward(graph, x);
  }

  private Variable embedded(
      Graph graph, ColumnParallelLinear layer, Variable patches, SequencePart part) {
    int[] own = part.own();
    int samples = patches.dim(1);
    Variable x = layer.forward(graph, patches);
    if (positions != null) {
      int[] at = new int[own.length * samples];
      for (int i = 0; i < at.length; i++) {
        at[i] = own[i / samples];
      }
      x = graph.add(x, graph.reshape(graph.selectRows(positions, at), x.shape()));
    }
    return Dropping.embedding(graph, x, "encoder.embedding", new Dropping.Rows(part, 0, samples));
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
