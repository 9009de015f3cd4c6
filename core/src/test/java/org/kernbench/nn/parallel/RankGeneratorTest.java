package org.kernbench.nn.parallel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a program asks of a numbering beside its groups, worked by hand. */
class RankGeneratorTest {
  @Test
  void ofWorld_dpIsWhatIsLeft() {
    RankGenerator g = RankGenerator.ofWorld("tp-cp-dp-pp", Map.of("tp", 2, "pp", 2), 16);
    assertThat(g.grid().size("dp")).isEqualTo(4);
    // tp fastest, then dp, then pp: stage 1 begins at rank 8
    assertThat(g.groups("pp").getFirst()).containsExactly(0, 8);
    assertThat(g.groups("dp").getFirst()).containsExactly(0, 2, 4, 6);
  }

  @Test
  void ofWorld_tooLargeOrUneven_isRefused() {
    assertThatThrownBy(() -> RankGenerator.ofWorld("tp-dp", Map.of("tp", 16), 8))
        .isInstanceOf(LayoutException.class)
        .hasMessage(
            "tp 16 need 16 ranks or a multiple; the world has 8, so choose sizes that divide it");
    assertThatThrownBy(() -> RankGenerator.ofWorld("tp-dp-pp", Map.of("tp", 2, "pp", 3), 8))
        .hasMessageStartingWith("pp 3 x tp 2 need 6 ranks");
    assertThatThrownBy(() -> RankGenerator.ofWorld("tp-dp", Map.of("dp", 2), 8))
        .hasMessageContaining("leave it out");
  }

  @Test
  void pipeline_neighboursWithOffset_goRound() {
    RankGenerator g =
        new RankGenerator("tp-dp-pp", Map.of("tp", 2, "dp", 1, "pp", 3), 4); // ranks 4 to 9
    assertThat(g.groups("pp"))
        .containsExactly(java.util.List.of(4, 6, 8), java.util.List.of(5, 7, 9));
    assertThat(g.pipelineNext(6)).isEqualTo(8);
    assertThat(g.pipelineNext(8)).isEqualTo(4);
    assertThat(g.pipelinePrevious(5)).isEqualTo(9);
    assertThat(g.pipelineFirst(9)).isEqualTo(5);
    assertThat(g.pipelineLast(4)).isEqualTo(8);
    assertThatThrownBy(() -> g.pipelineNext(3)).hasMessageContaining("expected 4 to 9");
    RankGenerator flat = new RankGenerator("tp-dp", Map.of("tp", 2, "dp", 2));
    assertThat(flat.pipelineNext(3)).isEqualTo(3);
  }
}
