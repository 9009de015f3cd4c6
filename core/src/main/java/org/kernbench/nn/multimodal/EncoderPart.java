package org.kernbench.nn.multimodal;

import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Module;
import org.kernbench.nn.layers.Parts;
import org.kernbench.nn.layers.TransformerStage;
import org.kernbench.nn.multimodal.NamedValues.Rows;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/**
 * Encoder and projector on a rank: all of them, or a stage, of which the last has the projector.
 */
final class EncoderPart implements Module {
  private final Parts parts = new Parts();
  private final TwoModuleConfig config;
  private final ParallelLayout layout;
  private final DType dtype;
  private final TransformerStage.Range range;
  private final ModalityEncoder encoder;
  private final @Nullable Projector projector;

  EncoderPart(
      TwoModuleConfig config, ParallelLayout layout, Init init, TransformerStage.Range range) {
    this.config = config;
    this.layout = layout;
    this.dtype = init.dtype();
    this.range = range;
    this.encoder = parts.add(new ModalityEncoder(config, layout, init, range));
    this.projector = range.ends() ? parts.add(new Projector(config, layout, init)) : null;
  }

  /** Freezes the encoder, but not the projector. */
  void freezeEncoder() {
    encoder.freeze(true);
  }

  /** Samples that this rank encodes. */
  private int samples(Microbatch data) {
    return data.share(layout.dp().size());
  }

  private int first(Microbatch data) {
    return layout.dp().rank() * samples(data);
  }

  private SequencePart part(Microbatch data, int before) {
    return new SequencePart(config.tokensPerSample(), layout.cp().size(), layout.cp().rank())
        .ofSamples(before + first(data), samples(data));
  }

  /** What a stage gives the next one, which is not the projector's. */
  Shape innerShape(Microbatch data) {
    int tokens = config.tokensPerSample() / layout.cp().size();
    return Shape.of(tokens, samples(data), config.encoder().hidden());
  }

  /**
   * Encodes this rank's samples.
   *
   * @param input of the stage before; empty for the first
   * @param before samples of the step's earlier microbatches, over all ranks
   * @return what the next stage gets; of the last, {@code [samples tokens, language hidden]},
   *     sample after sample
   */
  Variable forward(
      Graph graph, Optional<Variable> input, Microbatch data, int before, NamedValues trace) {
    int own = samples(data);
    int first = first(data);
    SequencePart part = part(data, before);
    int[] at = part.own();
    Variable in = range.embeds() ? patches(graph, data, at) : input.orElseThrow();
    trace.rows(Rows.of(first, own, at));
    trace.regions(Rows.of(first, own, at), Rows.of(first, own, part.all()));
    Variable encoded = encoder.forward(graph, in, part);
    if (projector == null) {
      return encoded;
    }
    Variable projected = projector.forward(graph, encoded);
    trace.rows(Rows.bySample(first, own, at));
    Variable rows = graph.selectRows(projected, bySample(own, at.length));
    graph.see("projector.output", rows);
    return rows;
  }

  private Variable patches(Graph graph, Microbatch data, int[] at) {
    int own = samples(data);
    double[] patches = byToken(data.patches(first(data), own), own, at);
    return graph.constant(patches, Shape.of(at.length, own, config.patch()), dtype, "patches");
  }

  /** Where the rows of samples are among rows that go token by token. */
  private static int[] bySample(int samples, int tokens) {
    int[] from = new int[samples * tokens];
    Arrays.setAll(from, i -> i % tokens * samples + i / tokens);
    return from;
  }

  /** Some tokens of samples, token by token. */
  private double[] byToken(double[] rows, int samples, int[] at) {
    int columns = config.patch();
    double[] to = new double[at.length * samples * columns];
    for (int i = 0; i < at.length * samples; i++) {
      int row = i % samples * config.tokensPerSample() + at[i / samples];
      System.arraycopy(rows, row * columns, to, i * columns, columns);
    }
    return to;
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
