package org.kernbench.nn.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.nn.layers.TransformerStage.Range;
import org.kernbench.nn.parallel.LayoutException;

/** Blocks of a model over stages, and costs of a schedule at their limits. */
final class LayerSplitTest {
  @Test
  void even_givesWhatIsLeftOverToTheFirst() {
    for (int stages = 1; stages < 8; stages++) {
      for (int layers = stages; layers < 30; layers++) {
        List<Integer> blocks = LayerSplit.even(layers, stages).blocks();

        assertThat(blocks).hasSize(stages);
        assertThat(blocks.stream().mapToInt(Integer::intValue).sum()).isEqualTo(layers);
        assertThat(blocks.getFirst() - blocks.getLast()).isEqualTo(layers % stages == 0 ? 0 : 1);
        assertThat(blocks).isSortedAccordingTo((a, b) -> Integer.compare(b, a));
      }
    }
    assertThatThrownBy(() -> LayerSplit.even(2, 3))
        .isInstanceOf(LayoutException.class)
        .hasMessage(
            """
            2 layers on 3 stages; expected at least as many layers, or stage_layers with a 0\
            """);
  }

  @Test
  void ranges_followEachOther_fromTheEmbeddingToTheHead() {
    LayerSplit split = LayerSplit.parse("3, 0,4", 7, 3);

    assertThat(split.range(0, false)).isEqualTo(new Range(0, 3, true, false, false));
    assertThat(split.range(1, true)).isEqualTo(new Range(3, 3, false, false, true));
    assertThat(split.range(2, false)).isEqualTo(new Range(3, 7, false, true, false));
    LayerSplit wrong = split.exchanged(1);
    assertThat(wrong.range(1, false)).isEqualTo(new Range(3, 7, false, false, false));
    assertThat(wrong.range(2, false)).isEqualTo(new Range(3, 3, false, true, false));
    assertThat(new LayerSplit(List.of(2)).range(0, false))
        .isEqualTo(new Range(0, 2, true, true, false));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "3,4   | stage_layers: got 2 numbers with sum 7; expected 3, one for each stage, with sum 7",
        "3,4,1 | stage_layers: got 3 numbers with sum 8; expected 3, one for each stage, with sum 7",
        "3,x,4 | stage_layers: got \"3,x,4\"; expected numbers joined by commas, e.g. 3,4,4,1",
        "3,,4  | stage_layers: got \"3,,4\"; expected numbers joined by commas, e.g. 3,4,4,1",
        "8,-1,0 | stages of [8, -1, 0] blocks; expected 0 or more for each"
      })
  void text_thatIsNoSplit_isRefused(String text, String message) {
    assertThatThrownBy(() -> LayerSplit.parse(text, 7, 3))
        .isInstanceOf(LayoutException.class)
        .hasMessage(message);
  }

  @Test
  void stages_areNeeded() {
    assertThatThrownBy(() -> new LayerSplit(List.of()))
        .isInstanceOf(LayoutException.class)
        .hasMessage("stages of [] blocks; expected 0 or more for each");
  }

  @Test
  void costs_areNotNegative() {
    assertThat(new ScheduleTimes.Costs(0, 0, 0, 0).transfer()).isZero();
    long[][] wrong = {{-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, -1, 0}, {0, 0, 0, -1}};
    for (long[] c : wrong) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> new ScheduleTimes.Costs(c[0], c[1], c[2], c[3]));
    }
  }

  /**
   * By hand, one microbatch over two ranks, F 2, I 3, W 5, transfer 10: forwards 2, sent 12, 14;
   * the gradient 14 to 22 (B), sent when its input gradient is there with the whole B, at 32, B to
   * 40.
   */
  @Test
  void times_ofOneMicrobatch_areTheSumsByHand() {
    PipelineSchedule schedule =
        ScheduleCsv.parse("x", "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n");
    ScheduleTimes times = ScheduleTimes.of(schedule, new ScheduleTimes.Costs(2, 3, 5, 10));

    assertThat(times.busy(0)).isEqualTo(10);
    assertThat(times.busy(1)).isEqualTo(10);
    assertThat(times.end(new Action(0, Action.Kind.FORWARD, 0))).isEqualTo(2);
    assertThat(times.end(new Action(1, Action.Kind.FORWARD, 0))).isEqualTo(14);
    assertThat(times.end(new Action(1, Action.Kind.BACKWARD, 0))).isEqualTo(22);
    assertThat(times.end(new Action(0, Action.Kind.BACKWARD, 0))).isEqualTo(40);
    assertThat(times.end()).isEqualTo(40);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> times.end(new Action(0, Action.Kind.FORWARD, 1)))
        .withMessage("0F1 is not in schedule x");
  }
}
