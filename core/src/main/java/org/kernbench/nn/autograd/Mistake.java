package org.kernbench.nn.autograd;

/** Why a layout computes something else than one rank: mistakes that {@code layout check} knows. */
public enum Mistake {
  /** Gradients of the bridge are not summed over context-parallel ranks. */
  CP_SUM_MISSING("the sum over context-parallel ranks is missing"),
  /** They are summed over other ranks. */
  SUM_OVER_WRONG_GROUP("a sum goes over the wrong group"),
  /** Gradients of other slots are filled with zeros. */
  ZEROS_INSTEAD_OF_GATHER("zeros take the place of the other slots' gradients"),
  /** Slices of samples are taken or joined in another order. */
  SLOTS_SWAPPED("slices of samples are in the wrong order"),
  /** Ranks with a context-parallel number above 0 do not take their slice. */
  SLICE_BY_CANONICAL_RANK("ranks with cp above 0 do not find their slice"),
  /** Gradients of a module are averaged, not summed, over its data-parallel ranks. */
  MODULE_AVERAGED("one module averages its gradients over its ranks"),
  /** Tokens are counted over data-parallel ranks, not also over context-parallel ones. */
  TOKENS_OVER_DP_ONLY("tokens are counted over dp, not over dp x cp"),
  /** Each tensor-parallel rank adds the bias before the sum. */
  BIAS_BEFORE_SUM("a bias is added before the sum over tensor-parallel ranks"),
  /** Gradients of parameters that are applied to parts of the sequence are not summed over tp. */
  TP_SUM_MISSING("sequence-parallel gradients are not summed over tensor-parallel ranks"),
  /** The output of a row-parallel layer is one rank's part of a sum. */
  ROW_SUM_MISSING("the sum of a row-parallel layer over tensor-parallel ranks is missing"),
  /** The gradient of a column-parallel layer's input is one rank's part of a sum. */
  COLUMN_SUM_MISSING(
      """
      the sum of the gradients of a column-parallel layer's input over tensor-parallel ranks is \
      missing\
      """),
  /** Gradients of keys or values are one rank's part of a sum. */
  CONTEXT_SUM_MISSING(
      "the sum of the gradients of keys and values over context-parallel ranks is missing"),
  /** Ranks have parts of a sum that nobody adds. */
  SUM_MISSING("a sum over ranks is missing"),
  /** A stage of a pipeline has no gradient of some microbatch. */
  MICROBATCH_LOST("the gradients of a microbatch are missing in a stage"),
  /** Stages are in another order than the model's. */
  STAGES_SWAPPED("stages are in the wrong order"),
  /** A token is computed by an expert that it did not choose. */
  WRONG_EXPERT("a token went to an expert that it did not choose"),
  /** The outputs of experts have no part in the gradient of a router. */
  ROUTER_GRADIENT_MISSING("the gradient of a router is missing"),
  /** A rank has a parameter as it was before the optimizer changed it. */
  PARAMETER_STALE("a gathered parameter is that of the step before"),
  /** Ranks have the same mask for different values. */
  MASKS_REPEATED("masks of dropout are equal where they must differ"),
  /** Ranks that have the same values have different masks for them. */
  MASKS_SPLIT("masks of dropout differ where they must be equal"),
  /** The mask on the way back is not that on the way there. */
  MASKS_REDRAWN("what is recomputed has another mask of dropout"),
  /** All is too large or too small by the size of a group. */
  FACTOR("a factor is wrong"),
  /** Modules are scaled differently. */
  SKEW("modules are scaled differently"),
  /** None of the known ones. */
  UNKNOWN("no known mistake gives these values");

  private final String text;

  Mistake(String text) {
    this.text = text;
  }

  /** A sentence without capital or full stop. */
  public String text() {
    return text;
  }
}
