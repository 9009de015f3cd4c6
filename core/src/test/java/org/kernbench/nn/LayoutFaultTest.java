package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.nn.Ranks.Devices;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Mistake;
import org.kernbench.nn.bridge.BridgePlan.Direction;
import org.kernbench.nn.compare.FirstDifference;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.Microbatches;
import org.kernbench.nn.multimodal.Microbatches.Masks;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.parallel.RankGrid;

/** The mutation matrix of {@code docs/spec/megatron.md} 12.4: every fault is found, and named. */
final class LayoutFaultTest {
  private static Optional<FirstDifference> finding(
      TwoModuleLayout layout, Fault fault, Masks masks, int sequence) {
    return finding(Devices.ONE_PE, layout, fault, masks, sequence);
  }

  private static Optional<FirstDifference> finding(
      Devices devices, TwoModuleLayout layout, Fault fault, Masks masks, int sequence) {
    List<Microbatch> data =
        Microbatches.random(
            TwoModules.SMALL,
            layout.samplesFactor() % 3 == 0 ? 6 : Math.max(4, layout.samplesFactor()),
            sequence,
            1,
            masks,
            3);
    return TwoModules.check(
            devices, layout, TwoModules.SMALL, TwoModules.SGD.withFault(fault), data, 0)
        .first();
  }

  @ParameterizedTest
  @EnumSource
  void fault_isFoundAndNamed(Fault fault) {
    checkNamed(Devices.ONE_PE, fault);
  }

  /** Ranks that are packages, all PEs of which compute. */
  @ParameterizedTest
  @EnumSource(names = {"NONE", "ZERO_PAD", "SKIP_CP_REDUCE"})
  void fault_onPackages_isFoundAndNamed(Fault fault) {
    checkNamed(Devices.PACKAGES, fault);
  }

  @Tag("slow")
  @ParameterizedTest
  @EnumSource
  void everyFault_onPackages_isFoundAndNamed(Fault fault) {
    checkNamed(Devices.PACKAGES, fault);
    checkNamed(Devices.UNEVEN_PACKAGES, fault);
  }

  private static void checkNamed(Devices devices, Fault fault) {
    TwoModuleLayout layout =
        switch (fault) {
          case ZERO_PAD, CANONICAL_SLICES ->
              TwoModules.layout("tp=4,dp=2", "tp=1,cp=2,dp=4", false);
          default -> TwoModules.layout("tp=2,dp=4", "tp=2,cp=2,dp=2", true);
        };
    Optional<Mistake> cause =
        finding(devices, layout, fault, Masks.UNEVEN, 8).map(FirstDifference::cause);
    boolean isElsewhere =
        fault.isOfPipeline()
            || fault.isOfExperts()
            || fault.isOfDividedParameters()
            || fault.isOfDropout();
    assertThat(cause)
        .isEqualTo(
            fault == Fault.NONE || isElsewhere ? Optional.empty() : Optional.of(fault.cause()));
  }

  /** Groups of one size cannot be told apart by a factor: all are named. */
  @Test
  void factor_ofSeveralGroups_namesAll() {
    TwoModuleLayout layout = TwoModules.layout("tp=2,dp=4", "tp=2,cp=2,dp=2", false);
    assertThat(finding(layout, Fault.LOSS_TIMES_CP, Masks.UNEVEN, 8).orElseThrow().evidence())
        .isEqualTo("all gradients are multiplied by cp or tp or dp or encoder tp (2)");
    TwoModuleLayout other = TwoModules.layout("tp=1,dp=6", "tp=2,cp=3,dp=1", false);
    assertThat(finding(other, Fault.LOSS_TIMES_CP, Masks.UNEVEN, 12).orElseThrow().evidence())
        .isEqualTo("all gradients are multiplied by cp or dp x cp (3)");
    assertThat(finding(other, Fault.TOKENS_OVER_TP, Masks.UNEVEN, 12).orElseThrow().evidence())
        .isEqualTo("all gradients are multiplied by 1/tp (1/2)");
  }

  /** Whether a fault changes anything in a layout. */
  private static boolean applies(Fault fault, TwoModuleLayout layout) {
    RankGrid language = layout.language();
    boolean hasCp = language.size("cp") > 1;
    Direction direction = layout.bridge().direction();
    return switch (fault) {
      case NONE -> false;
      case SKIP_CP_REDUCE, TOKENS_OVER_DP, LOSS_TIMES_CP, SKIP_LANGUAGE_CP_SUM -> hasCp;
      case TOKENS_OVER_TP -> language.size("tp") > 1;
      case REDUCE_OVER_DP_CP -> hasCp && language.size("dp") > 1;
      case ZERO_PAD -> direction == Direction.FAN_OUT;
      case SWAP_SLOTS -> direction != Direction.EQUAL;
      case CANONICAL_SLICES -> hasCp && direction == Direction.FAN_OUT;
      case AVERAGE_ENCODER, SKIP_ENCODER_SUM -> layout.encoder().size("dp") > 1;
      case AVERAGE_LANGUAGE -> hasCp || language.size("dp") > 1;
      case BIAS_BEFORE_REDUCE -> layout.encoder().size("tp") > 1 || language.size("tp") > 1;
      case SKIP_SEQUENCE_SUM -> layout.sequenceParallel() && language.size("tp") > 1;
      case SKIP_ROW_SUM, SKIP_COLUMN_SUM ->
          layout.encoder().size("tp") > 1 || language.size("tp") > 1;
      case SKIP_CONTEXT_SUM -> hasCp;
      case SKIP_GRADIENT_SUM -> layout.ranks() > 1;
      case LOSE_MICROBATCH, SWAP_STAGES, STALE_PARAMETER -> false; // PipelineCheckTest
      case REPEAT_MASKS, SPLIT_MASKS, REDRAW_MASKS -> false; // the same
      case WRONG_EXPERT, SKIP_ROUTER_GRADIENT -> false; // ExpertLayoutsTest
    };
  }

  /** Every fault in layouts of all kinds: one that changes something is named rightly. */
  @Tag("slow")
  @ParameterizedTest
  @EnumSource
  void fault_inManyLayouts_isNamed(Fault fault) {
    List<String> wrong = new ArrayList<>();
    for (TwoModuleLayout layout :
        List.of(
            TwoModules.layout("tp=2,dp=4", "tp=4,dp=2", true),
            TwoModules.layout("tp=4,dp=2", "tp=2,dp=4", true),
            TwoModules.layout("tp=4,dp=2", "tp=2,cp=2,dp=2", true),
            TwoModules.layout("tp=1,dp=8", "tp=2,cp=2,dp=2", false),
            TwoModules.layout("tp=4,dp=1", "tp=1,cp=2,dp=2", false),
            TwoModules.layout("tp=2,dp=3", "tp=1,cp=2,dp=3", false),
            TwoModules.layout("tp=1,dp=6", "tp=2,cp=3,dp=1", true),
            TwoModules.layout("tp=6,dp=1", "tp=1,cp=3,dp=2", true),
            TwoModules.layout("tp=2,dp=2,offset=3", "tp=1,cp=4,dp=1,offset=3", false),
            TwoModules.layout("tp=2,dp=6", "tp=2,cp=3,dp=2", true))) {
      for (Masks masks : Masks.values()) {
        Optional<FirstDifference> found = finding(layout, fault, masks, 24);
        Optional<Mistake> cause = found.map(FirstDifference::cause);
        boolean applies = applies(fault, layout);
        if (!cause.equals(applies ? Optional.of(fault.cause()) : Optional.empty())) {
          wrong.add(layout + " " + masks + ": " + found);
        }
      }
    }
    assertThat(wrong).isEmpty();
  }
}
