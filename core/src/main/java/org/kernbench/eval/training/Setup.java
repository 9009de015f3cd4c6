package org.kernbench.eval.training;

import java.util.List;
import java.util.Optional;
import org.kernbench.device.log.CostModel;
import org.kernbench.eval.training.TrainingBench.Scope;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.nn.autograd.F8;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.experts.Routing;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.Zero;
import org.kernbench.nn.parallel.Documents;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;

/** What a {@link TrainingBench} runs. */
record Setup(
    TransformerConfig config,
    Scope scope,
    int tokens,
    int batch,
    int tp,
    int cp,
    int dp,
    boolean sp,
    DType dtype,
    DType first,
    ContextExchange context,
    DataParallel.Options data,
    Fault fault,
    Pipe pipe,
    ExpertGroups.Sizes experts,
    Optional<Documents> documents,
    Masks masks,
    boolean f8) {
  /** How a rank's graph multiplies in 8 bits, if it does: as one rank of all would. */
  Optional<F8> f8(ParallelLayout layout) {
    return f8
        ? Optional.of(new F8(List.of(layout.dpCp()), List.of(layout.tp())))
        : Optional.empty();
  }

  int ranks() {
    return tp * cp * dp * pipe.pp();
  }

  /** What a context-parallel rank has of a sequence. */
  SequencePart part(int cpRank) {
    SequencePart part = new SequencePart(tokens, cp, cpRank);
    return documents.map(part::ofDocuments).orElse(part);
  }

  /** The groups of the experts, if there are any. */
  Optional<ExpertGroups.Sizes> expertSizes() {
    return config.experts().map(e -> experts);
  }

  /** A copy in another pipeline. */
  Setup with(Pipe other) {
    return with(config, other, fault, masks);
  }

  /** A copy with another mistake. */
  Setup with(Fault other) {
    return with(config, pipe, other, masks);
  }

  /** A copy that sets other values to zero. */
  Setup with(Masks other) {
    return with(config, pipe, fault, other);
  }

  private Setup with(
      TransformerConfig otherConfig, Pipe otherPipe, Fault otherFault, Masks otherMasks) {
    return new Setup(
        otherConfig,
        scope,
        tokens,
        batch,
        tp,
        cp,
        dp,
        sp,
        dtype,
        first,
        context,
        data,
        otherFault,
        otherPipe,
        experts,
        documents,
        otherMasks,
        f8);
  }

  /** A copy that needs no values: experts that are chosen by scores are taken in turn. */
  Setup withoutValues() {
    return config
        .experts()
        .filter(all -> !all.routing().isKnown())
        .map(all -> with(config.with(all.with(new Routing.Even())), pipe, fault, masks))
        .orElse(this);
  }

  /** One of its blocks without mistake on fewer tokens, with at most two replicas of a sample. */
  Setup oneBlock(int fewer) {
    int replicas = Math.min(2, dp);
    return new Setup(
        config.with(1, config.vocabulary()),
        scope == Scope.STEP ? Scope.BLOCK : scope,
        fewer,
        replicas,
        tp,
        cp,
        replicas,
        sp,
        dtype,
        first,
        context,
        data.with(Zero.NONE),
        Fault.NONE,
        Pipe.NONE,
        ExpertGroups.Sizes.NONE,
        Optional.empty(),
        masks,
        f8);
  }

  /** This setup without its mistake, on one rank in another type, from the same first values. */
  Setup onOneRank(DType type) {
    return new Setup(
        config,
        scope,
        tokens,
        batch,
        1,
        1,
        1,
        false,
        type,
        first,
        context,
        TrainingParams.onOneRank(data, type),
        Fault.NONE,
        pipe.onOneRank(),
        ExpertGroups.Sizes.NONE,
        documents,
        masks,
        f8);
  }

  /**
   * Multiply-adds of a step, counted as two operations each, if experts drop nothing: a backward
   * pass costs twice a forward pass.
   */
  double flops() {
    double of = (double) tokens * batch;
    double keys = DocumentsParam.keys(documents, tokens);
    double forward =
        switch (scope) {
          case MLP -> TrainingFlops.mlp(config, of);
          case BLOCK -> TrainingFlops.block(config, of, keys);
          case STEP ->
              TrainingFlops.blocks(config, of, keys)
                  + TrainingFlops.linear(of, config.hidden(), config.vocabulary());
        };
    return 3 * forward;
  }

  /**
   * As {@link #flops}, as many as there would be of 16 bits in the same time. In 8 bits are those
   * of linear layers in blocks, but for routers, experts and what leads down to latent attention,
   * which stay in the type of the run.
   */
  double pacedFlops(Machine machine) {
    double of = (double) tokens * batch;
    double heads = 2 * of * (config.attentionElements() - config.downElements());
    double forward =
        switch (scope) {
          case MLP -> TrainingFlops.mlp(config, of);
          case BLOCK -> heads + TrainingFlops.linearMlp(config, of, 1);
          case STEP ->
              config.layers() * heads + TrainingFlops.linearMlp(config, of, config.layers());
        };
    double inEightBits = f8 ? 3 * forward : 0;
    GemmSpec gemm = machine.pe().gemm();
    return (flops() - inEightBits) / CostModel.rate(gemm, dtype)
        + inEightBits / CostModel.rate(gemm, DType.F8E4M3);
  }
}
