package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/**
 * On how many PEs of its device a small model is quickest: simulated on all, on those of a cube, on
 * one. Work that keeps one PE busy for long goes on all of them untried, because they gain more
 * from their number there than latencies cost, and trials would take as long as the run.
 *
 * @param quickest of those tried, of equals the one on fewest PEs; {@code ALL} if none was
 * @param text what each took, for people; empty if none was tried
 */
record SpreadTrial(Spread quickest, String text) {
  /** Products of one rank that take longer than this on one PE at its peak are not tried. */
  private static final long TRIED_UP_TO_PS = 2_000_000_000L;

  /**
   * Tries what may be quicker.
   *
   * @param productsPs of a rank on one PE at its peak
   * @param timePs how long the whole takes on some PEs
   */
  static SpreadTrial of(RankLevel level, long productsPs, ToLongFunction<Spread> timePs) {
    if (level == RankLevel.PE || productsPs > TRIED_UP_TO_PS) {
      return new SpreadTrial(Spread.ALL, "");
    }
    List<Spread> candidates =
        level == RankLevel.SIP
            ? List.of(Spread.LEAD, Spread.CUBE, Spread.ALL)
            : List.of(Spread.LEAD, Spread.ALL);
    Spread best = Spread.ALL;
    long least = Long.MAX_VALUE;
    List<String> told = new ArrayList<>();
    for (Spread candidate : candidates) {
      long ps = timePs.applyAsLong(candidate);
      told.add(
          String.format(
              Locale.ROOT, "%s %.3f us", candidate.name().toLowerCase(Locale.ROOT), ps / 1e6));
      if (ps < least) {
        least = ps;
        best = candidate;
      }
    }
    return new SpreadTrial(best, String.join(", ", told));
  }
}
