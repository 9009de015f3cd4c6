package org.kernbench.nn.multimodal;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.kernbench.nn.autograd.EmbeddingMerge;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.bridge.ColocatedBridgeCommunicator;
import org.kernbench.nn.bridge.SampleTokens;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.SequencePartition;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.multimodal.NamedValues.Rows;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.ProcessGroup;

/**
 * An encoder, a projector and a language model on the same ranks, each in its layout. The encoder's
 * rows go over the bridge to the ranks whose language model has their samples, take the places of
 * placeholders among the embeddings of the text, and go through the language model.
 *
 * <p>Rows of the modality are in the order of samples and then tokens, on every layout. Source:
 * {@code docs/spec/megatron.md} 9.
 */
final class TwoModuleModel {
  private final TwoModuleConfig config;
  private final Groups groups;
  private final DType dtype;
  private final ModalityEncoder encoder;
  private final Projector projector;
  private final Transformer language;

  /**
   * The groups of a rank.
   *
   * @param encoder of encoder and projector
   * @param language of the language model
   * @param bridge between them
   * @param world all ranks of both
   */
  record Groups(
      ParallelLayout encoder,
      ParallelLayout language,
      ColocatedBridgeCommunicator bridge,
      ProcessGroup world) {
    /** Makes the groups; all ranks of the world call it alike. */
    static Groups create(Distributed distributed, TwoModuleLayout layout, Fault fault) {
      HyperCommGrid from = new HyperCommGrid(distributed, layout.encoder());
      HyperCommGrid to = new HyperCommGrid(distributed, layout.language());
      return new Groups(
          ParallelLayout.of(from, false),
          ParallelLayout.of(to, layout.sequenceParallel()),
          ColocatedBridgeCommunicator.create(from, to, layout.bridge().options(), fault.ofBridge()),
          to.create(layout.language().names().toArray(String[]::new)));
    }
  }

  TwoModuleModel(TwoModuleConfig config, Groups groups, Init init) {
    this.config = config;
    this.groups = groups;
    this.dtype = init.dtype();
    this.encoder = new ModalityEncoder(config, groups.encoder, init);
    this.projector = new Projector(config, groups.encoder, init);
    this.language = new Transformer(config.language(), groups.language, init);
  }

  /** Parameters of encoder and projector, which share a layout. */
  List<Parameter> encoderParameters() {
    return Stream.concat(encoder.parameters().stream(), projector.parameters().stream()).toList();
  }

  /** Parameters of the language model. */
  List<Parameter> languageParameters() {
    return language.parameters();
  }

  /** Freezes the encoder, but not the projector. */
  void freezeEncoder() {
    encoder.freeze(true);
  }

  /**
   * What a rank computes.
   *
   * @param sum of the losses of its tokens that count
   * @param tokens how many these are
   * @param perToken the losses of all its tokens
   */
  record Loss(Variable sum, int tokens, Variable perToken) {}

  /**
   * The loss of this rank's share of a microbatch.
   *
   * @param before samples of the step's earlier microbatches, over all ranks
   */
  Loss forward(Graph graph, Microbatch data, int before, NamedValues trace) {
    graph.watch(trace);
    int count = share(data, groups.language);
    int first = groups.language.dp().rank() * count;
    int sequence = data.sequence();
    SequencePartition partition = SequencePartition.of(groups.language, sequence);
    int[] ids = data.ids(first, count);
    Variable modality = modality(graph, data, before, ids, count, trace);
    Variable text = language.lookUp(graph, EmbeddingMerge.text(ids, config.placeholder()));
    Variable merged =
        new EmbeddingMerge(ids, count, sequence, config.placeholder()).apply(graph, text, modality);
    SequencePart part = partition.part().ofSamples(before + first, count);
    trace.rows(Rows.of(first, count, partition.rows()));
    trace.regions(Rows.of(first, count, part.own()), Rows.of(first, count, part.all()));
    Variable own = partition.embeddings(graph, merged);
    graph.see("language.embedded", own);
    Variable embedded = language.positioned(graph, own, count, part);
    Variable logits = language.decode(graph, embedded, part);
    int[] targets = byPosition(partition.tokens(data.targets(first, count)), count);
    Variable perToken =
        graph.crossEntropy(
            logits, targets, groups.language.tp(), config.language().vocabulary(), 0);
    trace.rows(Rows.of(first, count, part.own()));
    graph.see("language.loss", perToken);
    double[] mask = byPosition(partition.mask(data.mask(first, count)), count);
    int tokens = (int) Arrays.stream(mask).filter(m -> m != 0).count();
    return new Loss(graph.weightedSum(perToken, mask), tokens, perToken);
  }

  private static int share(Microbatch data, ParallelLayout layout) {
    int dp = layout.dp().size();
    if (data.samples() % dp != 0) {
      throw new IllegalArgumentException(
          """
          a microbatch of %s samples cannot be divided over %s data-parallel ranks; \
          expected a multiple of %s\
          """
              .formatted(data.samples(), dp, dp));
    }
    return data.samples() / dp;
  }

  /** Rows of the modality for samples of the language model, {@code [placeholders, hidden]}. */
  private Variable modality(
      Graph graph, Microbatch data, int before, int[] ids, int count, NamedValues trace) {
    int hidden = config.language().hidden();
    if (!data.hasModality()) {
      return graph.constant(new double[0], Shape.of(0, hidden), dtype, "no-modality");
    }
    int tokens = config.tokensPerSample();
    int own = share(data, groups.encoder);
    int first = groups.encoder.dp().rank() * own;
    ProcessGroup cp = groups.encoder.cp();
    SequencePart part =
        new SequencePart(tokens, cp.size(), cp.rank()).ofSamples(before + first, own);
    int[] at = part.own();
    double[] patches = byToken(data.patches(first, own), own, at);
    Variable in =
        graph.constant(patches, Shape.of(at.length, own, config.patch()), dtype, "patches");
    trace.rows(Rows.of(first, own, at));
    trace.regions(Rows.of(first, own, at), Rows.of(first, own, part.all()));
    Variable projected = projector.forward(graph, encoder.forward(graph, in, part));
    trace.rows(Rows.bySample(first, own, at));
    Variable rows = graph.selectRows(projected, bySample(own, at.length));
    graph.see("projector.output", rows);
    Variable bridged = groups.bridge.communicate(graph, rows, SampleTokens.uniform(tokens));
    trace.rows(Rows.bySample(groups.language.dp().rank() * count, count, range(tokens)));
    graph.see("bridge.output", bridged);
    return withPlaces(graph, bridged, ids, count);
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

  private static int[] range(int count) {
    int[] range = new int[count];
    Arrays.setAll(range, i -> i);
    return range;
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
}
