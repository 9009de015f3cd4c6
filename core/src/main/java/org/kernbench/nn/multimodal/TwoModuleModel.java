package org.kernbench.nn.multimodal;

import java.util.List;
import java.util.Optional;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.bridge.ColocatedBridgeCommunicator;
import org.kernbench.nn.bridge.SampleTokens;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.TransformerStage;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.ParallelLayout;
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
  private final EncoderPart encoder;
  private final LanguagePart language;

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
          ColocatedBridgeCommunicator.create(from, to, layout.options(), fault.ofBridge()),
          to.create(layout.language().names().toArray(String[]::new)));
    }
  }

  TwoModuleModel(TwoModuleConfig config, Groups groups, Init init) {
    this.config = config;
    this.groups = groups;
    this.dtype = init.dtype();
    this.encoder =
        new EncoderPart(
            config, groups.encoder, init, TransformerStage.Range.all(config.encoder(), false));
    this.language =
        new LanguagePart(
            config, groups.language, init, TransformerStage.Range.all(config.language(), false));
  }

  Groups groups() {
    return groups;
  }

  /** Parameters of encoder and projector, which share a layout. */
  List<Parameter> encoderParameters() {
    return encoder.parameters();
  }

  /** Parameters of the language model. */
  List<Parameter> languageParameters() {
    return language.parameters();
  }

  /** Freezes the encoder, but not the projector. */
  void freezeEncoder() {
    encoder.freezeEncoder();
  }

  /**
   * The loss of this rank's share of a microbatch.
   *
   * @param before samples of the step's earlier microbatches, over all ranks
   */
  LanguagePart.Loss forward(Graph graph, Microbatch data, int before, NamedValues trace) {
    graph.watch(trace);
    language.check(data);
    Variable modality = modality(graph, data, before, trace);
    Variable logits = language.forward(graph, modality, data, before, trace);
    return language.loss(graph, logits, data, trace);
  }

  /** Rows of the modality for samples of the language model, {@code [placeholders, hidden]}. */
  private Variable modality(Graph graph, Microbatch data, int before, NamedValues trace) {
    if (!data.hasModality()) {
      Shape none = Shape.of(0, config.language().hidden());
      return graph.constant(new double[0], none, dtype, "no-modality");
    }
    Variable rows = encoder.forward(graph, Optional.empty(), data, before, trace);
    SampleTokens tokens = SampleTokens.uniform(config.tokensPerSample());
    Variable bridged = groups.bridge.communicate(graph, rows, tokens);
    language.seeBridged(graph, bridged, data, trace);
    return bridged;
  }
}
