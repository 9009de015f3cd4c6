package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UsageException;
import org.kernbench.eval.training.PipelineComparison.Layout;
import org.kernbench.eval.training.PipelineComparison.Task;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Mistake;
import org.kernbench.nn.compare.FirstDifference;
import org.kernbench.nn.compare.LayoutVerdict;
import org.kernbench.nn.layers.Recompute;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/** A model with experts in layouts of tp, cp, dp, pp, ep and etp against one rank, in f64. */
class ExpertLayoutsTest {
  private static LayoutVerdict check(Layout layout, Fault fault) {
    Machine machine = Machines.load("sip-2026", List.of());
    return check("tiny-moe", layout, fault);
  }

  private static LayoutVerdict check(String model, Layout layout, Fault fault) {
    Machine machine = Machines.load("sip-2026", List.of());
    Task task = new Task(model, 2, 8, layout.dp() * layout.microbatches());
    return PipelineComparison.of(
        machine,
        Spread.LEAD,
        ranks -> CclConfig.load(Optional.empty(), TwoModuleStep.world(RankLevel.PE, ranks)),
        task,
        layout,
        fault);
  }

  /** tp, cp, dp, pp, ep, etp. */
  private static Layout layout(int tp, int cp, int dp, int pp, int ep, int etp) {
    return layout(tp, cp, dp, pp, ep, etp, Recompute.NONE);
  }

  private static Layout layout(
      int tp, int cp, int dp, int pp, int ep, int etp, Recompute recompute) {
    int microbatches = pp > 1 ? 2 : 1;
    return new Layout(
        tp,
        cp,
        dp,
        pp,
        tp > 1,
        microbatches,
        "1f1b",
        1,
        false,
        recompute,
        new ExpertGroups.Sizes(ep, etp));
  }

  static Stream<Layout> few() {
    return Stream.of(
        layout(1, 1, 2, 1, 2, 1),
        layout(2, 1, 1, 1, 1, 2),
        layout(2, 2, 1, 1, 4, 1),
        layout(2, 1, 2, 1, 2, 2),
        layout(1, 2, 2, 2, 2, 2),
        layout(2, 2, 2, 2, 2, 2, Recompute.FULL));
  }

  static Stream<Layout> many() {
    List<Layout> all = new ArrayList<>();
    int[][] dense = {{1, 1, 4}, {4, 1, 1}, {1, 4, 1}, {2, 2, 1}, {2, 1, 2}, {1, 2, 2}, {2, 2, 2}};
    int[][] experts = {{1, 1}, {2, 1}, {4, 1}, {1, 2}, {1, 4}, {2, 2}};
    for (int pp = 1; pp <= 2; pp++) {
      for (int[] d : dense) {
        for (int[] e : experts) {
          if ((pp + d[0] + e[0] + e[1]) % 2 == 0) {
            all.add(layout(d[0], d[1], d[2], pp, e[0], e[1]));
          }
        }
      }
    }
    assertThat(all).hasSizeGreaterThanOrEqualTo(30);
    return all.stream();
  }

  @ParameterizedTest
  @MethodSource("few")
  void layout_ofExperts_equalsOneRank(Layout layout) {
    equalsOneRank(layout);
  }

  /** Latent attention, a dense block, a shared expert, experts in groups chosen by sigmoids. */
  @Test
  void layouts_ofDeepSeeksShape_equalOneRank() {
    for (Layout layout : List.of(layout(2, 1, 2, 1, 4, 1), layout(2, 2, 1, 2, 2, 2))) {
      LayoutVerdict verdict = check("tiny-deepseek", layout, Fault.NONE);
      assertThat(verdict.first()).isEmpty();
      assertThat(verdict.unequal()).isEmpty();
      assertThat(verdict.worstError()).isLessThan(1e-10);
    }
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("many")
  void manyLayouts_ofExperts_equalOneRank(Layout layout) {
    equalsOneRank(layout);
  }

  private static void equalsOneRank(Layout layout) {
    LayoutVerdict verdict = check(layout, Fault.NONE);
    assertThat(verdict.first()).isEmpty();
    assertThat(verdict.unequal()).isEmpty();
    assertThat(verdict.worstError()).isLessThan(1e-10);
  }

  @Test
  void faults_ofExperts_areNamed() {
    for (Layout layout : List.of(layout(2, 1, 1, 1, 2, 1), layout(1, 1, 2, 2, 1, 2))) {
      FirstDifference wrong = check(layout, Fault.WRONG_EXPERT).first().orElseThrow();
      assertThat(wrong.cause()).isEqualTo(Mistake.WRONG_EXPERT);
      assertThat(wrong.tensor()).isEqualTo("loss per token");
      FirstDifference untaught = check(layout, Fault.SKIP_ROUTER_GRADIENT).first().orElseThrow();
      assertThat(untaught.cause()).isEqualTo(Mistake.ROUTER_GRADIENT_MISSING);
      assertThat(untaught.tensor()).startsWith("gradient of ");
    }
  }

  /** A mistake of another dimension is found and no expert is blamed. */
  @Test
  void otherFault_isFoundAndNotBlamedOnExperts() {
    assertThat(
            check(layout(1, 1, 2, 1, 2, 1), Fault.SKIP_GRADIENT_SUM).first().orElseThrow().cause())
        .isEqualTo(Mistake.UNKNOWN);
  }

  @Test
  void layout_thatCannotBe_isRefused() {
    assertThatThrownBy(() -> check(layout(2, 1, 1, 1, 4, 1), Fault.NONE))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("ep 4 x etp 1 do not divide the 2 ranks of a stage");
    assertThatThrownBy(() -> check(layout(3, 1, 1, 1, 3, 1), Fault.NONE))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("ep is 3, etp 1; expected a divisor of 8 experts");
  }
}
