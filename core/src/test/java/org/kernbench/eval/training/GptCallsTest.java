package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.eval.training.StepCall.AllReduce;
import org.kernbench.eval.training.StepCall.Product;
import org.kernbench.eval.training.StepCall.Stream;
import org.kernbench.machine.spec.OperationClass;

/** Operations and bytes of a step against the counts that are published. */
final class GptCallsTest {
  private static double flops(List<StepCall> calls) {
    double sum = 0;
    for (StepCall call : calls) {
      if (call instanceof Product p) {
        sum += 2.0 * p.m() * p.k() * p.n() * p.batch();
      }
    }
    return sum;
  }

  /**
   * 24 b s h^2 + 4 b s^2 h a layer, 2 b s h V for logits, twice that backwards: Narayanan et al.
   */
  @ParameterizedTest
  @CsvSource({"1024, 16, 1024, 8, 1", "2048, 16, 1024, 2, 4", "768, 12, 512, 1, 2"})
  void products_countWhatIsPublished(int h, int heads, int s, int b, int tp) {
    int vocabulary = 51200;
    GptCalls calls = new GptCalls(h, heads, s, b, tp, vocabulary);
    double rows = (double) b * s;
    double layer = (24 * rows * h * h + 4 * rows * s * h) / tp;
    double logits = 2 * rows * h * vocabulary / tp;

    assertThat(flops(calls.forward())).isEqualTo(layer);
    assertThat(flops(calls.backward())).isEqualTo(2 * layer);
    assertThat(flops(calls.head())).isEqualTo(logits);
    assertThat(flops(calls.headBackward())).isEqualTo(2 * logits);
  }

  /** Two all-reduces of b s h on the way there and two on the way back: Shoeybi et al. 2019. */
  @Test
  void tensorParallelLayer_sumsFourTimes() {
    GptCalls calls = new GptCalls(1024, 16, 1024, 2, 4, 51200);
    AllReduce each = new AllReduce(4, 1, 2L * 2 * 1024 * 1024);

    assertThat(calls.forward().stream().filter(AllReduce.class::isInstance))
        .containsExactly(each, each);
    assertThat(calls.backward().stream().filter(AllReduce.class::isInstance))
        .containsExactly(each, each);
    assertThat(new GptCalls(1024, 16, 1024, 2, 1, 51200).forward())
        .noneMatch(AllReduce.class::isInstance);
  }

  /** What GPT-2 of 768 and 12 layers has as published: 12 h^2 + 13 h of a layer, (V + s + 2) h. */
  @Test
  void parameters_areThoseOfTheModel() {
    GptCalls calls = new GptCalls(768, 12, 1024, 1, 1, 50257);
    assertThat(calls.parameters(12, true, true)).isEqualTo(124_439_808L);
    assertThat(GptCalls.tensors(12, true, true)).isEqualTo(148);
  }

  /** In a pipeline both ends have the table of ids; positions and the last norm are there once. */
  @Test
  void parameters_ofStages_areThoseOfTheModelAndASecondTable() {
    GptCalls calls = new GptCalls(768, 12, 1024, 1, 1, 50257);
    assertThat(
            calls.parameters(4, true, false)
                + calls.parameters(4, false, false)
                + calls.parameters(4, false, true))
        .isEqualTo(124_439_808L + 50257L * 768);
    assertThat(calls.parameters(4, false, true) - calls.parameters(4, false, false))
        .isEqualTo((50257L + 2) * 768);
    assertThat(GptCalls.tensors(4, true, false) + GptCalls.tensors(8, false, true)).isEqualTo(149);
  }

  /** Four matrices of scores go through one kernel; of two each step is a kernel of its own. */
  @Test
  void softmax_ofFewMatrices_isNotFused() {
    GptCalls fused = new GptCalls(1024, 16, 1024, 2, 8, 51200);
    GptCalls unfused = new GptCalls(1024, 16, 1024, 1, 8, 51200);

    assertThat(softmaxes(fused)).isEqualTo(1);
    assertThat(unfused.forward()).hasSize(fused.forward().size() + 4);
    assertThat(unfused.backward()).hasSize(fused.backward().size() + 4);
  }

  /**
   * What the kernels of their own move more than the fused one, of each score. Forwards to f32 (2 +
   * 4), scale (8), mask of a byte (9), softmax (8), to f16 (4 + 2) are 37 for 4; backwards to f32
   * (6), softmax of two (12), mask (9), scale (8), to f16 (6) are 41 for 6.
   */
  @Test
  void softmax_unfused_movesEveryStepInF32() {
    List<GptCalls> calls =
        java.util.stream.Stream.of(1, 2, 4)
            .map(b -> new GptCalls(1024, 16, 1024, b, 8, 51200))
            .toList();
    long scores = 16 / 8 * 1024 * 1024;

    assertThat(moreThanFused(calls.stream().map(GptCalls::forward).toList()))
        .isEqualTo((37 - 4) * scores);
    assertThat(moreThanFused(calls.stream().map(GptCalls::backward).toList()))
        .isEqualTo((41 - 6) * scores);
  }

  /**
   * Of one sample, unfused, beside two and four: those tell what else is of a sample and what is
   * not.
   */
  private static long moreThanFused(List<List<StepCall>> samples) {
    long two = bytes(samples.get(1));
    long ofOne = (bytes(samples.get(2)) - two) / 2;
    return bytes(samples.get(0)) - (two - ofOne);
  }

  private static long bytes(List<StepCall> calls) {
    long bytes = 0;
    for (StepCall call : calls) {
      bytes += call instanceof Stream s ? s.read() + s.written() : 0;
    }
    return bytes;
  }

  private static long softmaxes(GptCalls calls) {
    return calls.forward().stream()
        .filter(c -> c instanceof Stream s && s.kind() == OperationClass.SOFTMAX)
        .count();
  }

  /** 2 + 4 to f32, 4 of the norm, 16 + 12 of AdamW, 4 + 2 back: 44 bytes of each parameter. */
  @Test
  void optimizer_movesWhatMastersAndStatesAre() {
    long bytes = 0;
    for (StepCall call : GptCalls.optimizer(1 << 20, 16)) {
      if (call instanceof Stream s) {
        bytes += s.read() + s.written();
      }
    }
    assertThat(bytes).isEqualTo(44L << 20 | 8);
  }
}
