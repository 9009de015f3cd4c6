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
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;

/**
 * Encodes tokens of another modality: a linear layer from their values, positions, blocks, norm.
 * Every tensor-parallel rank has all of the result, as the bridge needs it.
 */
public final class ModalityEncoder implements Module {
  private final Parts parts = new Parts();
  private final ColumnParallelLinear embedding;
  private final @Nullable Parameter positions;
  private final List<TransformerBlock> blocks = new ArrayList<>();
  private final Norm norm;

  public ModalityEncoder(TwoModuleConfig model, ParallelLayout layout, Init init) {
    TransformerConfig config = model.encoder();
    if (layout.sequenceParallel()) {
      throw new IllegalArgumentException(
          """
          encoder with sequence parallelism: each rank would end with its rows only, but the \
          bridge needs all rows on every tensor-parallel rank; switch it off\
          """);
    }
    this.embedding =
        parts.add(
            new ColumnParallelLinear(
                "encoder.embedding",
                model.patch(),
                config.hidden(),
                layout.tp(),
                init,
                ColumnParallelLinear.Options.DEFAULT.withGatherOutput(true)));
    this.positions =
        config.style().isPlain()
            ? parts.add(
                init.normal(
                    "encoder.positions",
                    Shape.of(config.maxSequence(), config.hidden()),
                    Sharding.REPLICATED,
                    layout.tp()))
            : null;
    for (int i = 0; i < config.layers(); i++) {
      blocks.add(parts.add(new TransformerBlock("encoder.layers." + i, config, layout, init)));
    }
    this.norm = parts.add(new Norm("encoder.norm", config.hidden(), config.style(), false, init));
  }

  /**
   * Encodes.
   *
   * @param patches {@code [own tokens, samples, patch]}
   * @param part the tokens that this rank has
   * @return {@code [own tokens, samples, hidden]}
   */
  Variable forward(Graph graph, Variable patches, SequencePart part) {
    int[] own = part.own();
    int samples = patches.dim(1);
    Variable x = embedding.forward(graph, patches);
    if (positions != null) {
      int[] at = new int[own.length * samples];
      for (int i = 0; i < at.length; i++) {
        at[i] = own[i / samples];
      }
      x = graph.add(x, graph.reshape(graph.selectRows(positions, at), x.shape()));
    }
    x = Dropping.embedding(graph, x, "encoder.embedding", new Dropping.Rows(part, 0, samples));
    for (TransformerBlock block : blocks) {
      x = block.forward(graph, x, part);
    }
    return norm.forward(graph, x);
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
