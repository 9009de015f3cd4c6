package org.kernbench.eval.training;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.config.Suggest;
import org.kernbench.config.UsageException;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Param;
import org.kernbench.eval.training.TrainingBench.Scope;
import org.kernbench.nn.autograd.BridgeFault;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.bridge.BridgePlan.Direction;
import org.kernbench.nn.layers.Recompute;
import org.kernbench.nn.layers.TransformerConfig.Style;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.optim.Zero;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.nn.parallel.RankGrid;

/**
 * Mistakes that are put into training benches on purpose, to see that their values are then wrong.
 * A mistake that a bench or a layout leaves no room for is refused with the reason.
 */
final class Injection {
  /** The mistake; {@code kernbench run --inject} sets it. */
  static final Param<Optional<String>> PARAM =
      Param.word(
              "inject",
              "",
              "a mistake, e.g. skip-row-sum; kernbench run --help lists them",
              "a mistake to make on purpose, to see that it is found")
          .orFrom("--inject");

  private Injection() {}

  /** What the user chose. */
  static Fault fault(BenchContext context) {
    return context.param(PARAM).map(Injection::fault).orElse(Fault.NONE);
  }

  private static Fault fault(String id) {
    List<String> known =
        Arrays.stream(Fault.values()).filter(f -> f != Fault.NONE).map(Fault::id).toList();
    return Arrays.stream(Fault.values())
        .filter(
            f -> f != Fault.NONE && f.id().equals(id.toLowerCase(Locale.ROOT).replace('_', '-')))
        .findFirst()
        .orElseThrow(() ->
            new UsageException(
                "--inject: got \"%s\"; expected one of %s%s"
                    .formatted(id, String.join(", ", known), Suggest.hint(id, known))));
  }

  /** Refuses a mistake that would change nothing. */
  static void check(Setup setup) {
    refuse(setup.scope().bench(), setup.fault(), invisible(setup));
  }

  /**
   * What of a step of two modules decides whether mistakes with masks show.
   *
   * @param any whether values are set to zero at random
   */
  record Drops(boolean any, int microbatches) {}

  /** Refuses a mistake that would change nothing. */
  static void check(TwoModuleConfig model, TwoModuleLayout layout, Fault fault, Drops drops) {
    refuse("mimo-train-step", fault, invisible(model, layout, fault, drops));
  }

  private static void refuse(String bench, Fault fault, String reason) {
    if (!reason.isEmpty()) {
      throw new UsageException(
          "--inject " + fault.id() + ": bench " + bench + " cannot show it here: " + reason);
    }
  }

  private static String needs(boolean has, String what) {
    return has ? "" : "it needs " + what;
  }

  /** Why a mistake changes nothing; empty if it does. */
  static String invisible(Setup s) {
    boolean plain = s.config().style() != Style.LLAMA;
    boolean sequence = s.sp() && s.tp() > 1 && (plain || s.scope() != Scope.MLP);
    return switch (s.fault()) {
      case NONE -> "";
      case SKIP_CP_REDUCE, REDUCE_OVER_DP_CP, ZERO_PAD, SWAP_SLOTS, CANONICAL_SLICES ->
          "it has no bridge; mimo-train-step has one";
      case AVERAGE_ENCODER, SKIP_ENCODER_SUM -> "it has no encoder; mimo-train-step has one";
      case AVERAGE_LANGUAGE -> divided(s, s.dp() * s.cp() > 1, "dp or cp above 1");
      case TOKENS_OVER_DP, LOSS_TIMES_CP -> divided(s, s.cp() > 1, "cp above 1");
      case TOKENS_OVER_TP -> divided(s, s.tp() > 1, "tp above 1");
      case BIAS_BEFORE_REDUCE -> needs(plain && s.tp() > 1, "a model with biases and tp above 1");
      case SKIP_SEQUENCE_SUM -> needs(sequence, "sp on, tp above 1 and parameters of rows");
      case SKIP_LANGUAGE_CP_SUM -> needs(s.cp() > 1, "cp above 1");
      case SKIP_ROW_SUM, SKIP_COLUMN_SUM -> needs(s.tp() > 1, "tp above 1");
      case SKIP_CONTEXT_SUM ->
          s.scope() == Scope.MLP
              ? "it has no attention; transformer-block has"
              : needs(
                  s.cp() > 1 && s.context() == ContextExchange.ALL_GATHER,
                  "cp above 1 and context=all-gather");
      case SKIP_GRADIENT_SUM ->
          needs(s.dp() * s.cp() > 1 || sequence, "dp or cp above 1, or sp on and tp above 1");
      case LOSE_MICROBATCH -> piped(s, s.pipe().microbatches() > 1, "microbatches above 1");
      case SWAP_STAGES ->
          piped(
              s,
              s.pipe().schedule().isPresent() && s.pipe().schedule().get().depth() > 1,
              "several stages");
      case WRONG_EXPERT, SKIP_ROUTER_GRADIENT ->
          s.scope() == Scope.STEP
              ? needs(s.config().experts().isPresent(), "a model with experts, e.g. tiny-moe")
              : "its layer is none of a model; train-step has layers";
      case STALE_PARAMETER ->
          s.scope() == Scope.STEP
              ? needs(
                  s.data().zero() == Zero.PARAMETERS && s.dp() * s.cp() > 1,
                  "zero=3 and dp or cp above 1")
              : "it gathers no parameters; train-step may";
      case REPEAT_MASKS ->
          masked(
              s,
              s.ranks() > s.pipe().pp() || s.pipe().microbatches() > 1,
              "tp, cp, dp or microbatches above 1");
      case SPLIT_MASKS -> masked(s, s.tp() > 1 && !s.sp(), "tp above 1 and sp=off");
      case REDRAW_MASKS ->
          s.scope() == Scope.STEP
              ? masked(s, s.pipe().recompute() != Recompute.NONE, "recompute=full or attention")
              : "it recomputes nothing; train-step may";
    };
  }

  private static String masked(Setup s, boolean has, String what) {
    return s.scope() == Scope.MLP
        ? "it drops nothing; transformer-block may"
        : needs(has && s.masks().dropout().isOn(), "dropout above 0, and " + what);
  }

  private static String divided(Setup s, boolean has, String what) {
    return s.scope() == Scope.STEP
        ? needs(has, what)
        : "it divides no gradients by tokens; train-step does";
  }

  private static String piped(Setup s, boolean has, String what) {
    return s.scope() == Scope.STEP ? needs(has, what) : "it has no pipeline; train-step has one";
  }

  /** Why a mistake changes nothing in training two modules; empty if it does. */
  static String invisible(TwoModuleConfig model, TwoModuleLayout layout, Fault fault, Drops drops) {
    RankGrid language = layout.language();
    RankGrid encoder = layout.encoder();
    boolean cp = language.size(Dim.CP) > 1;
    boolean tp = language.size(Dim.TP) > 1;
    boolean encoderTp = encoder.size(Dim.TP) > 1;
    boolean plain = model.language().style() != Style.LLAMA;
    Direction direction = layout.bridge().direction();
    if (layout.isApart() && isOfBridge(fault)) {
      return "each module has ranks of its own; it shows in the bridge of modules that share theirs";
    }
    return switch (fault) {
      case NONE -> "";
      case SKIP_CP_REDUCE, TOKENS_OVER_DP, LOSS_TIMES_CP, SKIP_LANGUAGE_CP_SUM ->
          needs(cp, "a language model with cp above 1");
      case TOKENS_OVER_TP -> needs(tp, "a language model with tp above 1");
      case REDUCE_OVER_DP_CP ->
          needs(cp && language.size(Dim.DP) > 1, "a language model with cp and dp above 1");
      case ZERO_PAD -> needs(direction == Direction.FAN_OUT, FAN_OUT);
      case SWAP_SLOTS -> needs(direction != Direction.EQUAL, "modules with different dp");
      case CANONICAL_SLICES ->
          needs(cp && direction == Direction.FAN_OUT, FAN_OUT + ", and cp above 1 in it");
      case AVERAGE_ENCODER, SKIP_ENCODER_SUM ->
          needs(encoder.size(Dim.DP) > 1, "an encoder with dp above 1");
      case AVERAGE_LANGUAGE ->
          needs(cp || language.size(Dim.DP) > 1, "a language model with dp or cp above 1");
      case BIAS_BEFORE_REDUCE ->
          needs(encoderTp || (tp && plain), "tp above 1 in a module with biases");
      case SKIP_SEQUENCE_SUM ->
          needs(layout.sequenceParallel() && tp, "sp on and a language model with tp above 1");
      case SKIP_ROW_SUM, SKIP_COLUMN_SUM -> needs(encoderTp || tp, "tp above 1");
      case SKIP_CONTEXT_SUM -> needs(cp || encoder.size(Dim.CP) > 1, "a module with cp above 1");
      case SKIP_GRADIENT_SUM ->
          layout.isApart()
              ? needs(
                  cp || language.size(Dim.DP) > 1 || encoder.size(Dim.DP) > 1,
                  "a module with dp or cp above 1")
              : needs(layout.ranks() > 1, "more than one rank");
      case LOSE_MICROBATCH ->
          needs(
              layout.isApart() && drops.microbatches > 1,
              "modules on ranks of their own, and microbatches above 1");
      case SWAP_STAGES ->
          needs(
              encoder.size(Dim.PP) > 1 || language.size(Dim.PP) > 1,
              "modules on ranks of their own, and pp above 1 in one of them");
      case WRONG_EXPERT, SKIP_ROUTER_GRADIENT -> "it has no experts; train-step may have some";
      case STALE_PARAMETER -> "it gathers no parameters; train-step may";
      case REPEAT_MASKS ->
          needs(
              drops.any && (layout.ranks() > 1 || drops.microbatches > 1),
              "dropout above 0, and more than one rank or microbatch");
      case SPLIT_MASKS ->
          needs(
              drops.any && tp && !layout.sequenceParallel(),
              "dropout above 0, a language model with tp above 1, and sp=off");
      case REDRAW_MASKS -> "it recomputes nothing; train-step may";
    };
  }

  private static boolean isOfBridge(Fault fault) {
    return fault.ofBridge() != BridgeFault.NONE;
  }

  private static final String FAN_OUT = "a language model with more dp than the encoder";
}
