package org.kernbench.nn.autograd;

/**
 * A mistake that can be made on purpose in training, to see that a check finds it: {@code layout
 * check} also names the cause. The list is that of {@code docs/spec/megatron.md} 12.4, traps 2 and
 * 4 of 10.2, and the sums of tensor and context parallelism left out: bugs that such programs have
 * had. Where there is one module only, it is the language model.
 */
public enum Fault {
  /** No mistake. */
  NONE("", Mistake.UNKNOWN),
  /** The bridge does not sum gradients over context-parallel ranks. */
  SKIP_CP_REDUCE(
      "the bridge does not sum gradients over context-parallel ranks", Mistake.CP_SUM_MISSING),
  /** The bridge sums them over data-parallel ranks as well. */
  REDUCE_OVER_DP_CP("the bridge sums gradients over dp x cp", Mistake.SUM_OVER_WRONG_GROUP),
  /** The bridge fills gradients of a fan-out with zeros. */
  ZERO_PAD(
      "the bridge fills a fan-out's gradient with zeros instead of gathering",
      Mistake.ZEROS_INSTEAD_OF_GATHER),
  /** The bridge deals slices out in the opposite order. */
  SWAP_SLOTS("the bridge takes slices of samples in the opposite order", Mistake.SLOTS_SWAPPED),
  /** The bridge knows the slices of ranks with context-parallel number 0 only. */
  CANONICAL_SLICES(
      "the bridge looks slices up by canonical ranks, which those with cp above 0 are not",
      Mistake.SLICE_BY_CANONICAL_RANK),
  /** The encoder averages its gradients over data-parallel ranks. */
  AVERAGE_ENCODER("gradients of the encoder are divided by its dp", Mistake.MODULE_AVERAGED),
  /** The language model averages its gradients over data- and context-parallel ranks. */
  AVERAGE_LANGUAGE(
      "gradients of the language model are divided by its dp x cp", Mistake.MODULE_AVERAGED),
  /** Tokens are counted over data-parallel ranks only. */
  TOKENS_OVER_DP("tokens are counted over dp, not dp x cp", Mistake.TOKENS_OVER_DP_ONLY),
  /** The schedule multiplies the loss by the number of context-parallel ranks. */
  LOSS_TIMES_CP("the loss is multiplied by cp, though it is a sum already", Mistake.FACTOR),
  /** Each tensor-parallel rank's tokens are counted, though they are the same. */
  TOKENS_OVER_TP("tokens are counted over tp as well", Mistake.FACTOR),
  /** Row-parallel layers add their bias before the sum. */
  BIAS_BEFORE_REDUCE(
      "row-parallel layers add their bias before the sum over tp", Mistake.BIAS_BEFORE_SUM),
  /** Gradients of sequence-parallel parameters are not summed over tensor-parallel ranks. */
  SKIP_SEQUENCE_SUM(
      "gradients of sequence-parallel parameters are not summed over tp", Mistake.TP_SUM_MISSING),
  /** Gradients of the encoder are not summed over its data-parallel ranks. */
  SKIP_ENCODER_SUM("gradients of the encoder are not summed over its dp", Mistake.SUM_MISSING),
  /** Gradients of the language model are summed over dp, but not over cp. */
  SKIP_LANGUAGE_CP_SUM(
      "gradients of the language model are summed over dp, not dp x cp", Mistake.SUM_MISSING),
  /** Each rank takes its own part for the output of a row-parallel layer. */
  SKIP_ROW_SUM("row-parallel layers do not sum over tp", Mistake.ROW_SUM_MISSING),
  /** Each rank takes its own part for the gradient of a column-parallel layer's input. */
  SKIP_COLUMN_SUM(
      "gradients of the inputs of column-parallel layers are not summed over tp",
      Mistake.COLUMN_SUM_MISSING),
  /** Gradients of keys and values are not summed over context-parallel ranks. */
  SKIP_CONTEXT_SUM(
      "gradients of keys and values are not summed over cp", Mistake.CONTEXT_SUM_MISSING),
  /** Gradients of parameters are summed over no ranks at all. */
  SKIP_GRADIENT_SUM("gradients of parameters are not summed over any ranks", Mistake.SUM_MISSING),
  /** The first stage of a pipeline forgets the gradients of the first microbatch. */
  LOSE_MICROBATCH(
      "the first stage's gradients of the first microbatch are overwritten by those of the next",
      Mistake.MICROBATCH_LOST),
  /** The first two stages of a pipeline have each other's blocks. */
  SWAP_STAGES("the first two stages have each other's blocks", Mistake.STAGES_SWAPPED),
  /** A token of the first layer goes to another expert than the one it chose. */
  WRONG_EXPERT(
      "the first token's first choice in the first layer goes to the next expert",
      Mistake.WRONG_EXPERT),
  /** Routers get no gradient from what experts did. */
  SKIP_ROUTER_GRADIENT(
      "routers get no gradient from the outputs of experts", Mistake.ROUTER_GRADIENT_MISSING),
  /** Parameters that were gathered before the optimizer's step are used after it. */
  STALE_PARAMETER(
      """
      parameters that are gathered at the end of the backward pass stay so over the optimizer's \
      step\
      """,
      Mistake.PARAMETER_STALE),
  /** Each rank counts its rows and heads from 0 where it draws masks. */
  REPEAT_MASKS(
      "ranks and microbatches draw masks as if each had the first rows and heads",
      Mistake.MASKS_REPEATED),
  /** Tensor-parallel ranks draw masks of their own for the same values. */
  SPLIT_MASKS(
      "tensor-parallel ranks draw masks of their own for values that they all have",
      Mistake.MASKS_SPLIT),
  /** What is made again on the way back has another mask than it had. */
  REDRAW_MASKS("what is recomputed draws other masks", Mistake.MASKS_REDRAWN);

  private final String description;
  private final Mistake cause;

  Fault(String description, Mistake cause) {
    this.description = description;
    this.cause = cause;
  }

  /** The bridge's part in it. */
  public BridgeFault ofBridge() {
    return switch (this) {
      case SKIP_CP_REDUCE -> BridgeFault.SKIP_CP_SUM;
      case REDUCE_OVER_DP_CP -> BridgeFault.SUM_OVER_DP_CP;
      case ZERO_PAD -> BridgeFault.ZERO_PAD;
      case SWAP_SLOTS -> BridgeFault.SWAP_SLOTS;
      case CANONICAL_SLICES -> BridgeFault.CANONICAL_SLICES;
      case NONE,
          AVERAGE_ENCODER,
          AVERAGE_LANGUAGE,
          TOKENS_OVER_DP,
          LOSS_TIMES_CP,
          TOKENS_OVER_TP,
          BIAS_BEFORE_REDUCE,
          SKIP_SEQUENCE_SUM,
          SKIP_ENCODER_SUM,
          SKIP_LANGUAGE_CP_SUM,
          SKIP_ROW_SUM,
          SKIP_COLUMN_SUM,
          SKIP_CONTEXT_SUM,
          SKIP_GRADIENT_SUM,
          LOSE_MICROBATCH,
          SWAP_STAGES,
          WRONG_EXPERT,
          SKIP_ROUTER_GRADIENT,
          STALE_PARAMETER,
          REPEAT_MASKS,
          SPLIT_MASKS,
          REDRAW_MASKS ->
          BridgeFault.NONE;
    };
  }

  /** Whether it is made between stages, so that a model must be cut into some. */
  public boolean isOfPipeline() {
    return this == LOSE_MICROBATCH || this == SWAP_STAGES;
  }

  /** Whether it is made in layers of experts, so that a model must have some. */
  public boolean isOfExperts() {
    return this == WRONG_EXPERT || this == SKIP_ROUTER_GRADIENT;
  }

  /** Whether it is made where ranks divide parameters among them, so that they must. */
  public boolean isOfDividedParameters() {
    return this == STALE_PARAMETER;
  }

  /** Whether it is made where values are set to zero at random, so that some must be. */
  public boolean isOfDropout() {
    return this == REPEAT_MASKS || this == SPLIT_MASKS || this == REDRAW_MASKS;
  }

  /** What is done wrong. */
  public String description() {
    return description;
  }

  /** What the checker must call it. */
  public Mistake cause() {
    return cause;
  }

  /** As users write it, for example {@code skip-cp-reduce}. */
  public String id() {
    return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
  }
}
