package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/** Small models take the quickest spread, large ones all PEs untried. */
final class SpreadTrialTest {
  private static final long SMALL = 1_000_000L;
  private static final long LARGE = 3_000_000_000L;

  private final List<Spread> tried = new ArrayList<>();

  private SpreadTrial trial(RankLevel level, long productsPs, long lead, long cube, long all) {
    return SpreadTrial.of(
        level,
        productsPs,
        spread -> {
          tried.add(spread);
          return switch (spread) {
            case LEAD -> lead;
            case CUBE -> cube;
            case ALL -> all;
          };
        });
  }

  @Test
  void of_small_takesTheQuickest_andTellsAll() {
    SpreadTrial found = trial(RankLevel.SIP, SMALL, 67_000_000, 52_000_000, 414_000_000);
    assertThat(found.quickest()).isEqualTo(Spread.CUBE);
    assertThat(found.text()).isEqualTo("lead 67.000 us, cube 52.000 us, all 414.000 us");
  }

  @Test
  void of_equalTimes_takesFewestPes() {
    assertThat(trial(RankLevel.SIP, SMALL, 7, 7, 7).quickest()).isEqualTo(Spread.LEAD);
  }

  @Test
  void of_aCube_hasNoOtherCubes() {
    assertThat(trial(RankLevel.CUBE, SMALL, 9, 1, 8).quickest()).isEqualTo(Spread.ALL);
    assertThat(tried).containsExactly(Spread.LEAD, Spread.ALL);
  }

  @Test
  void of_largeOrOnePe_triesNothing() {
    assertThat(trial(RankLevel.SIP, LARGE, 1, 1, 9).quickest()).isEqualTo(Spread.ALL);
    assertThat(trial(RankLevel.PE, SMALL, 1, 1, 9).quickest()).isEqualTo(Spread.ALL);
    assertThat(tried).isEmpty();
  }
}
