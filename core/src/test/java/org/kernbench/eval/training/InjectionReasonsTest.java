package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.parallel.RankGrid;

/** Which mistakes show in a step of two modules, by the dimensions of their layouts. */
final class InjectionReasonsTest {
  private static final Injection.Drops NO_DROPS = new Injection.Drops(false, 4);

  private static TwoModuleLayout layout(String encoder, String language, boolean sp) {
    return new TwoModuleLayout(RankGrid.parse(encoder), RankGrid.parse(language), sp);
  }

  private static List<String> visible(
      TwoModuleConfig model, TwoModuleLayout layout, Injection.Drops drops) {
    return Arrays.stream(Fault.values())
        .filter(f -> f != Fault.NONE)
        .filter(f -> Injection.invisible(model, layout, f, drops).isEmpty())
        .map(Fault::id)
        .toList();
  }

  /** Each mistake needs the ranks that would do what it leaves out or does wrongly. */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "tp=1,dp=1; tp=1,cp=1,dp=1; false; ''",
        "tp=2,dp=1; tp=2,cp=1,dp=1; false; "
            + "tokens-over-tp bias-before-reduce skip-row-sum skip-column-sum skip-gradient-sum",
        "tp=2,dp=1; tp=2,cp=1,dp=1; true; "
            + "tokens-over-tp bias-before-reduce skip-sequence-sum skip-row-sum skip-column-sum"
            + " skip-gradient-sum",
        "tp=2,dp=1; tp=1,cp=1,dp=2; false; "
            + "zero-pad swap-slots average-language bias-before-reduce skip-row-sum"
            + " skip-column-sum skip-gradient-sum",
        "tp=4,dp=1; tp=1,cp=2,dp=2; false; "
            + "skip-cp-reduce reduce-over-dp-cp zero-pad swap-slots canonical-slices"
            + " average-language tokens-over-dp loss-times-cp bias-before-reduce"
            + " skip-language-cp-sum skip-row-sum skip-column-sum skip-context-sum"
            + " skip-gradient-sum",
        "tp=1,dp=2; tp=2,cp=1,dp=1; true; "
            + "swap-slots average-encoder tokens-over-tp bias-before-reduce"
            + " skip-sequence-sum skip-encoder-sum skip-row-sum skip-column-sum skip-gradient-sum",
        "tp=1,dp=2; tp=1,cp=1,dp=2; false; "
            + "average-encoder average-language skip-encoder-sum skip-gradient-sum",
        "tp=1,dp=2; tp=1,cp=2,dp=1; false; "
            + "skip-cp-reduce swap-slots average-encoder"
            + " average-language tokens-over-dp loss-times-cp skip-encoder-sum"
            + " skip-language-cp-sum skip-context-sum skip-gradient-sum",
        "tp=1,dp=4; tp=1,cp=2,dp=2; false; "
            + "skip-cp-reduce reduce-over-dp-cp swap-slots"
            + " average-encoder average-language tokens-over-dp loss-times-cp skip-encoder-sum"
            + " skip-language-cp-sum skip-context-sum skip-gradient-sum",
        "tp=2,dp=2; tp=1,cp=2,dp=2; false; "
            + "skip-cp-reduce reduce-over-dp-cp average-encoder average-language tokens-over-dp"
            + " loss-times-cp bias-before-reduce skip-encoder-sum skip-language-cp-sum"
            + " skip-row-sum skip-column-sum skip-context-sum skip-gradient-sum"
      })
  void mistakes_thatShow_areThoseOfTheDimensions(
      String encoder, String language, boolean sp, String wanted) {
    assertThat(
            String.join(
                " ", visible(TwoModuleConfig.tinyGpt(), layout(encoder, language, sp), NO_DROPS)))
        .isEqualTo(wanted);
  }

  /** Masks differ between ranks and microbatches, and are shared by the tensor-parallel. */
  @ParameterizedTest
  @CsvSource({
    "true, 1, 1, false, ''",
    "true, 2, 1, false, repeat-masks",
    "true, 1, 2, false, repeat-masks split-masks",
    "true, 1, 2, true, repeat-masks",
    "false, 2, 2, false, ''"
  })
  void mistakesWithMasks_thatShow_areThoseOfRanksAndMicrobatches(
      boolean drops, int microbatches, int tp, boolean sp, String wanted) {
    TwoModuleLayout layout =
        layout("tp=%d,dp=1".formatted(tp), "tp=%d,cp=1,dp=1".formatted(tp), sp);
    List<String> masks =
        visible(TwoModuleConfig.tinyGpt(), layout, new Injection.Drops(drops, microbatches))
            .stream()
            .filter(id -> id.endsWith("masks"))
            .toList();
    assertThat(String.join(" ", masks)).isEqualTo(wanted);
  }

  /** A language model of Llama's has no biases; the encoder has. */
  @Test
  void biasMistake_ofALlama_needsTensorParallelEncoders() {
    TwoModuleConfig llama = TwoModuleConfig.tinyLlama();
    assertThat(visible(llama, layout("tp=1,dp=2", "tp=2,cp=1,dp=1", false), NO_DROPS))
        .contains("skip-row-sum")
        .doesNotContain("bias-before-reduce");
    assertThat(visible(llama, layout("tp=2,dp=1", "tp=1,cp=1,dp=2", false), NO_DROPS))
        .contains("bias-before-reduce");
  }

  @Test
  void mistakes_onOneRank_areRefusedWithWhatTheyNeed() {
    Map<String, String> reasons = new LinkedHashMap<>();
    TwoModuleLayout one = layout("tp=1,dp=1", "tp=1,cp=1,dp=1", false);
    for (Fault fault : Fault.values()) {
      if (fault != Fault.NONE) {
        reasons.put(
            fault.id(), Injection.invisible(TwoModuleConfig.tinyGpt(), one, fault, NO_DROPS));
      }
    }
    assertThat(Injection.invisible(TwoModuleConfig.tinyGpt(), one, Fault.NONE, NO_DROPS)).isEmpty();
    String fanOut = "it needs a language model with more dp than the encoder";
    String cp = "it needs a language model with cp above 1";
    assertThat(reasons)
        .containsEntry("skip-cp-reduce", cp)
        .containsEntry("tokens-over-dp", cp)
        .containsEntry("loss-times-cp", cp)
        .containsEntry("skip-language-cp-sum", cp)
        .containsEntry("tokens-over-tp", "it needs a language model with tp above 1")
        .containsEntry("reduce-over-dp-cp", "it needs a language model with cp and dp above 1")
        .containsEntry("swap-slots", "it needs modules with different dp")
        .containsEntry("zero-pad", fanOut)
        .containsEntry("canonical-slices", fanOut + ", and cp above 1 in it")
        .containsEntry("average-encoder", "it needs an encoder with dp above 1")
        .containsEntry("skip-encoder-sum", "it needs an encoder with dp above 1")
        .containsEntry("average-language", "it needs a language model with dp or cp above 1")
        .containsEntry("bias-before-reduce", "it needs tp above 1 in a module with biases")
        .containsEntry("skip-sequence-sum", "it needs sp on and a language model with tp above 1")
        .containsEntry("skip-row-sum", "it needs tp above 1")
        .containsEntry("skip-column-sum", "it needs tp above 1")
        .containsEntry("skip-context-sum", "it needs a module with cp above 1")
        .containsEntry("skip-gradient-sum", "it needs more than one rank")
        .containsEntry(
            "lose-microbatch", "it needs modules on ranks of their own, and microbatches above 1")
        .containsEntry(
            "swap-stages", "it needs modules on ranks of their own, and pp above 1 in one of them")
        .containsEntry("wrong-expert", "it has no experts; train-step may have some")
        .containsEntry("skip-router-gradient", "it has no experts; train-step may have some")
        .containsEntry("stale-parameter", "it gathers no parameters; train-step may")
        .containsEntry(
            "repeat-masks", "it needs dropout above 0, and more than one rank or microbatch")
        .containsEntry(
            "split-masks", "it needs dropout above 0, a language model with tp above 1, and sp=off")
        .containsEntry("redraw-masks", "it recomputes nothing; train-step may")
        .hasSize(Fault.values().length - 1);
    assertThatThrownBy(
            () -> Injection.check(TwoModuleConfig.tinyGpt(), one, Fault.SKIP_ROW_SUM, NO_DROPS))
        .isInstanceOf(UsageException.class)
        .hasMessage(
            "--inject skip-row-sum: bench mimo-train-step cannot show it here: it needs tp above"
                + " 1");
    TwoModuleLayout two = layout("tp=2,dp=1", "tp=2,cp=1,dp=1", false);
    Injection.check(TwoModuleConfig.tinyGpt(), two, Fault.SKIP_ROW_SUM, NO_DROPS);
  }
}
