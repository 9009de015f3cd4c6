package org.kernbench.nn.multimodal;

import java.util.Arrays;
import org.kernbench.nn.autograd.EmbeddingMerge;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Module;
import org.kernbench.nn.layers.Parts;
import org.kernbench.nn.layers.SequencePartition;
import org.kernbench.nn.layers.TransformerStage;
import org.kernbench.nn.multimodal.NamedValues.Rows;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;

/**
 * The language model on a rank, all of it or a stage. The first stage puts the modality's rows
 * among the embeddings of the text, the last finds the loss.
 */
final class LanguagePart implements Module {
  private final TwoModuleConfig config;
  private final ParallelLayout layout;
  private final TransformerStage.Range range;
  private final TransformerStage stage;

  LanguagePart(
      TwoModuleConfig config, ParallelLayout layout, Init init, TransformerStage.Range range) {
    this.config = config;
    this.layout = layout;
    this.range = range;
    this.stage = new TransformerStage(config.language(), layout, init, range);
  }

  /**
   * What a rank computes.
   *
   * @param sum of the losses of its tokens that count
   * @param tokens how many these are
   * @param perToken the losses of all its tokens
   */
  record Loss(Variable sum, int tokens, Variable perToken) {}

  /** Refuses what the layout cannot divide, before anything is computed. */
  void check(Microbatch data) {
    samples(data);
    SequencePartition.of(layout, data.sequence());
  }

  /** Samples of this rank. */
  private int samples(Microbatch data) {
    return data.share(layout.dp().size());
  }

  private int first(Microbatch data) {
    return layout.dp().rank() * samples(data);
  }

  /** Rows of the modality for this rank's samples, as they come over the bridge. */
  Shape bridgedShape(Microbatch data) {
    return Shape.of(samples(data) * config.tokensPerSample(), config.language().hidden());
  }

  /** What a stage gives the next one. */
  Shape innerShape(Microbatch data) {
    int rows = SequencePartition.of(layout, data.sequence()).rows().length;
    return Shape.of(rows, samples(data), config.language().hidden());
  }

  /** This rank's tokens that count, whichever stage it has. */
  int tokens(Microbatch data) {
    return counted(mask(data));
  }

  private static int counted(double[] mask) {
    return (int) Arrays.stream(mask).filter(m -> m != 0).count();
  }

  /**
   * Through this stage's blocks.
   *
   * @param input of the first stage the modality's rows, else what the stage before gives
   * @param before samples of the step's earlier microbatches, over all ranks
   * @return what the next stage gets; of the last one logits
   */
  Variable forward(Graph graph, Variable input, Microbatch data, int before, NamedValues trace) {
    int count = samples(data);
    int first = first(data);
    SequencePartition partition = SequencePartition.of(layout, data.sequence());
    SequencePart part = partition.part().ofSamples(before + first, count);
    Variable x = range.embeds() ? merged(graph, input, data) : input;
    // what is shown from now on has the rows of this rank's part of its samples
    trace.rows(Rows.of(first, count, partition.rows()));
    trace.regions(Rows.of(first, count, part.own()), Rows.of(first, count, part.all()));
    if (range.embeds()) {
      x = partition.embeddings(graph, x);
      graph.see("language.embedded", x);
      x = stage.positioned(graph, x, count, part);
    }
    return stage.decode(graph, x, part);
  }

  /** The loss, in the last stage. */
  Loss loss(Graph graph, Variable logits, Microbatch data, NamedValues trace) {
    int count = samples(data);
    int first = first(data);
    SequencePartition partition = SequencePartition.of(layout, data.sequence());
    int[] targets = byPosition(partition.tokens(data.targets(first, count)), count);
    Variable perToken = stage.losses(graph, logits, targets);
    trace.rows(Rows.of(first, count, partition.part().own()));
    graph.see("language.loss", perToken);
    double[] mask = mask(data);
    return new Loss(graph.weightedSum(perToken, mask), counted(mask), perToken);
  }

  private double[] mask(Microbatch data) {
    int count = samples(data);
    SequencePartition partition = SequencePartition.of(layout, data.sequence());
    return byPosition(partition.mask(data.mask(first(data), count)), count);
  }

  /**
   * Embeddings of text with the modality's rows among them, {@code [sequence, samples, hidden]}.
   */
  private Variable merged(Graph graph, Variable modality, Microbatch data) {
    int count = samples(data);
    int[] ids = data.ids(first(data), count);
    Variable rows = data.hasModality() ? withPlaces(graph, modality, ids, count) : modality;
    Variable text = stage.lookUp(graph, EmbeddingMerge.text(ids, config.placeholder()));
    return new EmbeddingMerge(ids, count, data.sequence(), config.placeholder())
        .apply(graph, text, rows);
  }

  /** Shows the modality's rows as they have come over the bridge. */
  void seeBridged(Graph graph, Variable bridged, Microbatch data, NamedValues trace) {
    int[] tokens = new int[config.tokensPerSample()];
    Arrays.setAll(tokens, i -> i);
    trace.rows(Rows.bySample(first(data), samples(data), tokens));
    graph.see("bridge.output", bridged);
  }

  /** Leaves out the rows of samples that have no placeholders. */
  private Variable withPlaces(Graph graph, Variable rows, int[] ids, int count) {
    int tokens = config.tokensPerSample();
    int sequence = ids.length / count;
    int[] kept = new int[rows.rows()];
    int n = 0;
    for (int b = 0; b < count && kept.length == count * tokens; b++) {
      int places = 0;
      for (int i = 0; i < sequence; i++) {
        places += ids[b * sequence + i] == config.placeholder() ? 1 : 0;
      }
      for (int t = 0; t < tokens && places > 0; t++) {
        kept[n++] = b * tokens + t;
      }
    }
    return kept.length != count * tokens || n == kept.length
        ? rows // if their number is wrong, merging says so
        : graph.selectRows(rows, Arrays.copyOf(kept, n));
  }

  // ---- orders of rows ----

  private static int[] byPosition(int[] bySample, int samples) {
    int each = samples == 0 ? 0 : bySample.length / samples;
    int[] to = new int[bySample.length];
    Arrays.setAll(to, i -> bySample[i % samples * each + i / samples]);
    return to;
  }

  private static double[] byPosition(double[] bySample, int samples) {
    int each = samples == 0 ? 0 : bySample.length / samples;
    double[] to = new double[bySample.length];
    Arrays.setAll(to, i -> bySample[i % samples * each + i / samples]);
    return to;
  }

  @Override
  public Parts parts() {
    return stage.parts();
  }
}
