package org.kernbench.eval.layouts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UsageException;
import org.kernbench.eval.training.PipelineComparison;
import org.kernbench.eval.training.PipelineComparison.Layout;
import org.kernbench.eval.training.PipelineComparison.Task;
import org.kernbench.eval.training.TwoModuleStep;
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

/** Pipelines beside other dimensions, against one rank; mistakes are found and named. */
class PipelineCheckTest {
  private static LayoutVerdict check(Layout layout, Task task, Fault fault) {
    Machine machine = Machines.load("sip-2026", List.of());
    return PipelineComparison.of(
        machine,
        Spread.LEAD,
        ranks -> CclConfig.load(Optional.empty(), TwoModuleStep.world(RankLevel.PE, ranks)),
        task,
        layout,
        fault);
  }

  private static Layout layout(int tp, int cp, int dp, int pp, int m, String schedule) {
    boolean sp = tp > 1;
    return layout(tp, cp, dp, pp, sp, m, schedule, 1, false, Recompute.NONE);
  }

  private static Layout layout(
      int tp,
      int cp,
      int dp,
      int pp,
      boolean sp,
      int m,
      String schedule,
      int vpp,
      boolean tied,
      Recompute recompute) {
    return new Layout(
        tp, cp, dp, pp, sp, m, schedule, vpp, tied, recompute, ExpertGroups.Sizes.NONE);
  }

  static Stream<List<Object>> layouts() {
    List<List<Object>> all = new ArrayList<>();
    for (String model : List.of("tiny-gpt", "tiny-llama")) {
      all.add(List.of(model, layout(2, 1, 1, 2, 2, "gpipe")));
      all.add(List.of(model, layout(1, 2, 1, 2, 4, "zb-h1")));
      all.add(List.of(model, layout(1, 1, 3, 2, 4, "zb-v")));
      all.add(List.of(model, layout(2, 2, 2, 2, 2, "1f1b")));
      all.add(List.of(model, layout(2, 1, 2, 2, 4, "dualpipe")));
      all.add(List.of(model, layout(2, 1, 2, 2, false, 2, "interleaved", 2, true, Recompute.FULL)));
      all.add(List.of(model, layout(1, 2, 2, 3, false, 3, "1f1b", 1, true, Recompute.ATTENTION)));
    }
    return all.stream();
  }

  @ParameterizedTest
  @MethodSource("layouts")
  void layout_withOtherDimensions_equalsOneRank(List<Object> c) {
    Layout layout = (Layout) c.get(1);
    Task task = new Task((String) c.get(0), 5, 8, layout.dp() * layout.microbatches());
    LayoutVerdict verdict = check(layout, task, Fault.NONE);
    assertThat(verdict.first()).isEmpty();
    assertThat(verdict.unequal()).isEmpty();
    assertThat(verdict.worstError()).isLessThan(1e-11);
  }

  @Test
  void faults_areNamedWithWhatTheyPredict() {
    for (Layout layout : List.of(layout(1, 1, 1, 2, 4, "1f1b"), layout(2, 1, 2, 2, 2, "zb-v"))) {
      Task task = new Task("tiny-gpt", 5, 8, layout.dp() * layout.microbatches());
      FirstDifference lost = check(layout, task, Fault.LOSE_MICROBATCH).first().orElseThrow();
      assertThat(lost.cause()).isEqualTo(Mistake.MICROBATCH_LOST);
      assertThat(lost.evidence()).isEqualTo("the sum without microbatch 0 is what the rank has");
      FirstDifference swapped = check(layout, task, Fault.SWAP_STAGES).first().orElseThrow();
      assertThat(swapped.cause()).isEqualTo(Mistake.STAGES_SWAPPED);
      assertThat(swapped.tensor()).isEqualTo("loss per token");
      assertThat(swapped.evidence()).startsWith("with the blocks of stages 0 and 1 exchanged");
    }
  }

  /** A mistake of another sort is found, and no stage is accused of it. */
  @Test
  void otherFault_isFoundAndNotBlamedOnStages() {
    Layout layout = layout(2, 1, 1, 2, 2, "1f1b");
    Task task = new Task("tiny-gpt", 5, 8, 2);
    assertThat(check(layout, task, Fault.SKIP_ROW_SUM).first().orElseThrow().cause())
        .isEqualTo(Mistake.UNKNOWN);
  }

  /** Stages on all PEs of packages: their messages go in lanes. */
  @Test
  void packages_equalOneRankAndFaultsAreNamed() {
    Task task = new Task("tiny-llama", 5, 8, 4);
    Layout stages = layout(1, 1, 1, 2, 4, "zb-h1");
    assertThat(onPackages(stages, task, Fault.NONE).first()).isEmpty();
    assertThat(onPackages(layout(2, 1, 1, 2, 4, "1f1b"), task, Fault.NONE).first()).isEmpty();
    assertThat(onPackages(stages, task, Fault.LOSE_MICROBATCH).first().orElseThrow().cause())
        .isEqualTo(Mistake.MICROBATCH_LOST);
    assertThat(onPackages(stages, task, Fault.SWAP_STAGES).first().orElseThrow().cause())
        .isEqualTo(Mistake.STAGES_SWAPPED);
  }

  /** What two stages have lies in buckets, which are others on each. */
  @Test
  void replicasOfSharedParameters_onPackages_equalOneRank() {
    Task task = new Task("tiny-gpt", 5, 8, 8);
    Layout twice = layout(1, 1, 2, 2, 4, "dualpipe");
    Layout tied = layout(1, 1, 2, 2, false, 4, "1f1b", 1, true, Recompute.NONE);
    assertThat(onPackages(twice, task, Fault.NONE).first()).isEmpty();
    assertThat(onPackages(tied, task, Fault.NONE).first()).isEmpty();
  }

  private static LayoutVerdict onPackages(Layout layout, Task task, Fault fault) {
    return PipelineComparison.of(
        Machines.load("tiny", List.of("system.sips.count=4", "system.sips.topology=ring_1d")),
        Spread.ALL,
        ranks -> CclConfig.load(Optional.empty(), TwoModuleStep.world(RankLevel.SIP, ranks)),
        task,
        layout,
        fault);
  }

  /** Only what lies on several stages is refused: on one, both uses add up in one bucket. */
  @ParameterizedTest
  @CsvSource({"1, 2, 1", "2, 3, 2", "1, 2, 3"})
  void tied_onOneStage_withZero_equalsOneRank(int tp, int m, int zero) {
    Layout layout = layout(tp, 1, 2, 1, tp > 1, m, "1f1b", 1, true, Recompute.NONE).withZero(zero);
    LayoutVerdict verdict = check(layout, new Task("tiny-gpt", 5, 8, 2 * m), Fault.NONE);
    assertThat(verdict.first()).isEmpty();
    assertThat(verdict.unequal()).isEmpty();
    assertThat(verdict.worstError()).isLessThan(1e-11);
  }

  /** Parts that come and go, also for each microbatch and each stage. */
  @ParameterizedTest
  @CsvSource({
    "tiny-gpt, 1, 1, 2, 1, 1, 1f1b, 3, NONE",
    "tiny-gpt, 2, 1, 2, 1, 3, 1f1b, 3, NONE",
    "tiny-llama, 1, 2, 1, 2, 2, gpipe, 3, FULL",
    "tiny-gpt, 1, 1, 2, 2, 2, interleaved, 2, NONE",
    "tiny-llama, 1, 1, 2, 2, 4, zb-h1, 3, NONE",
    "tiny-llama, 2, 1, 2, 2, 2, 1f1b, 2, ATTENTION",
    "tiny-gpt, 1, 1, 2, 2, 2, 1f1b, 1, NONE",
  })
  void zero_withOtherDimensions_equalsOneRank(
      String model,
      int tp,
      int cp,
      int dp,
      int pp,
      int m,
      String order,
      int zero,
      Recompute again) {
    int vpp = order.equals("interleaved") ? 2 : 1;
    Layout layout = layout(tp, cp, dp, pp, tp > 1, m, order, vpp, false, again).withZero(zero);
    LayoutVerdict verdict = check(layout, new Task(model, 5, 8, dp * m), Fault.NONE);
    assertThat(verdict.first()).isEmpty();
    assertThat(verdict.unequal()).isEmpty();
    assertThat(verdict.worstError()).isLessThan(1e-11);
  }

  @Test
  void staleParameter_isNamed() {
    Layout layout = layout(1, 1, 2, 1, 1, "1f1b").withZero(3);
    Task task = new Task("tiny-gpt", 3, 8, 2);
    FirstDifference stale = check(layout, task, Fault.STALE_PARAMETER).first().orElseThrow();
    assertThat(stale.cause()).isEqualTo(Mistake.PARAMETER_STALE);
    assertThat(stale.tensor()).startsWith("stepped layers.0.");
    Layout piped = layout(1, 1, 2, 1, 2, "1f1b").withZero(3);
    assertThat(
            check(piped, new Task("tiny-gpt", 3, 8, 4), Fault.STALE_PARAMETER)
                .first()
                .orElseThrow()
                .cause())
        .isEqualTo(Mistake.PARAMETER_STALE);
    assertThatThrownBy(() -> check(layout.withZero(2), task, Fault.STALE_PARAMETER))
        .isInstanceOf(UsageException.class)
        .hasMessageEndingWith("it needs zero=3 and dp or cp above 1");
  }

  @Test
  void fault_withoutRoom_isRefused() {
    assertThatThrownBy(() ->
            check(
                layout(1, 1, 1, 2, 1, "1f1b"),
                new Task("tiny-gpt", 4, 8, 1),
                Fault.LOSE_MICROBATCH))
        .isInstanceOf(UsageException.class)
        .hasMessageEndingWith("it needs microbatches above 1");
  }

  private static Task dropping(String model, Layout layout) {
    return new Task(model, 3, 8, layout.dp() * layout.microbatches(), "0.25");
  }

  /** Masks do not depend on stages, microbatches, recomputation, ZeRO or experts. */
  @Test
  void dropout_withOtherDimensions_equalsOneRank() {
    for (Layout layout :
        List.of(
            layout(2, 1, 1, 2, 2, "zb-h1"),
            layout(1, 2, 2, 1, false, 1, "1f1b", 1, false, Recompute.FULL).withZero(3),
            layout(2, 1, 1, 3, false, 3, "1f1b", 1, true, Recompute.ATTENTION))) {
      LayoutVerdict verdict = check(layout, dropping("tiny-gpt", layout), Fault.NONE);
      assertThat(verdict.first()).as("%s", layout).isEmpty(); // within 1e-10
      assertThat(verdict.unequal()).isEmpty();
    }
    Layout experts =
        new Layout(
            2, 1, 2, 1, true, 1, "1f1b", 1, false, Recompute.NONE, new ExpertGroups.Sizes(2, 1));
    assertThat(check(experts, dropping("tiny-moe", experts), Fault.NONE).first()).isEmpty();
    Layout stages = layout(1, 1, 1, 2, 4, "zb-h1");
    assertThat(onPackages(stages, dropping("tiny-llama", stages), Fault.NONE).first()).isEmpty();
  }

  private static FirstDifference masked(Layout layout, Fault fault) {
    return check(layout, dropping("tiny-gpt", layout), fault).first().orElseThrow();
  }

  /** Equal masks where they must differ: rows, positions, samples, heads, microbatches. */
  @Test
  void repeatedMasks_areNamed() {
    for (Layout layout :
        List.of(
            layout(2, 1, 1, 1, 1, "1f1b"),
            layout(1, 2, 1, 1, 1, "1f1b"),
            layout(1, 1, 2, 1, 1, "1f1b"),
            layout(1, 1, 1, 2, 2, "1f1b"),
            layout(2, 1, 1, 1, false, 1, "1f1b", 1, false, Recompute.NONE))) {
      FirstDifference first = masked(layout, Fault.REPEAT_MASKS);
      assertThat(first.cause()).as("%s", layout).isEqualTo(Mistake.MASKS_REPEATED);
      assertThat(first.evidence()).startsWith("with masks drawn as if each rank and microbatch");
    }
  }

  /** Different masks where they must be equal. */
  @Test
  void splitAndRedrawnMasks_areNamed() {
    Layout whole = layout(2, 1, 1, 1, false, 1, "1f1b", 1, false, Recompute.NONE);
    FirstDifference split = masked(whole, Fault.SPLIT_MASKS);
    assertThat(split.cause()).isEqualTo(Mistake.MASKS_SPLIT);
    assertThat(split.tensor()).isEqualTo("loss per token");
    for (Recompute again : List.of(Recompute.FULL, Recompute.ATTENTION)) {
      Layout layout = layout(1, 1, 2, 1, false, 1, "1f1b", 1, false, again);
      FirstDifference redrawn = masked(layout, Fault.REDRAW_MASKS);
      assertThat(redrawn.cause()).isEqualTo(Mistake.MASKS_REDRAWN);
      assertThat(redrawn.tensor()).startsWith("gradient of ");
    }
    assertThat(masked(whole, Fault.SKIP_ROW_SUM).cause()).isEqualTo(Mistake.UNKNOWN);
  }

  @Test
  void maskFaults_withoutRoom_areRefused() {
    Layout sp = layout(2, 1, 1, 1, 1, "1f1b");
    assertThatThrownBy(() -> masked(sp, Fault.SPLIT_MASKS))
        .isInstanceOf(UsageException.class)
        .hasMessageEndingWith("it needs dropout above 0, and tp above 1 and sp=off");
    assertThatThrownBy(() -> check(sp, new Task("tiny-gpt", 3, 8, 1), Fault.REPEAT_MASKS))
        .hasMessageEndingWith("it needs dropout above 0, and tp, cp, dp or microbatches above 1");
    assertThatThrownBy(() -> masked(sp, Fault.REDRAW_MASKS))
        .hasMessageEndingWith("it needs dropout above 0, and recompute=full or attention");
    assertThatThrownBy(() -> check(sp, new Task("tiny-gpt", 3, 8, 1, "1"), Fault.NONE))
        .hasMessage("--dropout: got \"1\"; expected a number from 0 to below 1");
  }

  private static PipelineCheck report(Fault fault, Layout... layouts) {
    return PipelineCheck.of(
        List.of(layouts),
        new Task("tiny-gpt", 5, 8, 4),
        fault,
        Machines.load("sip-2026", List.of()),
        RankLevel.PE,
        Spread.LEAD,
        ranks -> CclConfig.load(Optional.empty(), TwoModuleStep.world(RankLevel.PE, ranks)));
  }

  /** Round-off is that of libraries, and so is which tensor has most of it. */
  @Test
  void json_hasEachLayout_andWhatIsWrongWithIt() {
    PipelineCheck right =
        report(
            Fault.NONE,
            layout(1, 1, 1, 2, 2, "1f1b"),
            layout(2, 1, 2, 1, 1, "1f1b").withZero(1),
            layout(1, 1, 1, 2, false, 2, "interleaved", 2, false, Recompute.NONE));
    assertThat(right.isEqual()).isTrue();
    assertThat(masked(right.json()))
        .isEqualTo(
            """
            {
              "model": "tiny-gpt",
              "layers": 5,
              "samples": 4,
              "sequence": 8,
              "fault": null,
              "machine": "sip-2026",
              "equal": true,
              "layouts": [
                {
                  "layout": "tp=1,cp=1,dp=1,pp=2",
                  "schedule": "1f1b",
                  "microbatches": 2,
                  "equal": true,
                  "gradients": 85,
                  "worst_error": ROUND-OFF,
                  "worst_tensor": TENSOR,
                  "unequal_replicas": []
                },
                {
                  "layout": "tp=2,cp=1,dp=2,pp=1,zero=1 sp",
                  "schedule": "1f1b",
                  "microbatches": 1,
                  "equal": true,
                  "gradients": 174,
                  "worst_error": ROUND-OFF,
                  "worst_tensor": TENSOR,
                  "unequal_replicas": []
                },
                {
                  "layout": "tp=1,cp=1,dp=1,pp=2",
                  "schedule": "interleaved vpp=2",
                  "microbatches": 2,
                  "equal": true,
                  "gradients": 85,
                  "worst_error": ROUND-OFF,
                  "worst_tensor": TENSOR,
                  "unequal_replicas": []
                }
              ]
            }
            """);
    PipelineCheck wrong = report(Fault.LOSE_MICROBATCH, layout(1, 1, 1, 2, 4, "1f1b"));
    assertThat(wrong.isEqual()).isFalse();
    assertThat(masked(wrong.json()))
        .isEqualTo(
            """
            {
              "model": "tiny-gpt",
              "layers": 5,
              "samples": 4,
              "sequence": 8,
              "fault": "lose-microbatch",
              "machine": "sip-2026",
              "equal": false,
              "layouts": [
                {
                  "layout": "tp=1,cp=1,dp=1,pp=2",
                  "schedule": "1f1b",
                  "microbatches": 4,
                  "equal": false,
                  "gradients": 85,
                  "worst_error": 0.782448579,
                  "worst_tensor": TENSOR,
                  "unequal_replicas": [],
                  "first_tensor": "gradient of positions",
                  "first_where": "rank 0, element 1",
                  "cause": "the gradients of a microbatch are missing in a stage",
                  "evidence": "the sum without microbatch 0 is what the rank has"
                }
              ]
            }
            """);
  }

  private static String masked(String json) {
    return json.replaceAll("(\"worst_error\": )[0-9.]+[eE]-1[0-9]", "$1ROUND-OFF")
        .replaceAll("(0\\.\\d{9})\\d+", "$1")
        .replaceAll("(\"worst_tensor\": )\"[a-z_0-9. ]+\"", "$1TENSOR");
  }
}
