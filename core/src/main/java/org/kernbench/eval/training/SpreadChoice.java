package org.kernbench.eval.training;

import java.util.function.ToLongFunction;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/** The words of {@link Spread}, or the quickest of them. */
enum SpreadChoice {
  AUTO,
  ALL,
  CUBE,
  LEAD;

  /** The one with the most memory of those that it may become. */
  Spread widest() {
    return switch (this) {
      case AUTO, ALL -> Spread.ALL;
      case CUBE -> Spread.CUBE;
      case LEAD -> Spread.LEAD;
    };
  }

  /**
   * What it says; if that is to choose, the quickest of those simulated. Both are conditions of the
   * outcome.
   *
   * @param productsPs of a rank on one PE at its peak
   * @param timePs how long the whole takes on some PEs
   */
  Spread on(Outcome outcome, RankLevel level, long productsPs, ToLongFunction<Spread> timePs) {
    Spread chosen = widest();
    if (this == AUTO) {
      SpreadTrial trial = SpreadTrial.of(level, productsPs, timePs);
      if (!trial.text().isEmpty()) {
        outcome.condition("spread_tried", trial.text());
      }
      chosen = trial.quickest();
    }
    outcome.condition("spread", Param.word(chosen));
    return chosen;
  }
}
