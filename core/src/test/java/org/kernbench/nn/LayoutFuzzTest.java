package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kernbench.nn.compare.LayoutRun;
import org.kernbench.nn.compare.LayoutVerdict;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.layers.TransformerConfig.Style;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.Microbatches;
import org.kernbench.nn.multimodal.Microbatches.Masks;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.multimodal.TwoModuleTraining;
import org.kernbench.tensor.DType;

/**
 * Random layouts, models, masks and numbers of microbatches: none computes anything else than one
 * rank. The same seed gives the same cases.
 */
final class LayoutFuzzTest {
  private static final int[] DIVISORS = {1, 2, 3, 4, 6};

  /** A case, and all that it takes to run it again. */
  private record Case(
      TwoModuleLayout layout,
      TwoModuleConfig config,
      int samples,
      int sequence,
      int microbatches,
      Masks masks,
      boolean frozen,
      long seed) {}

  private static int pick(Random random, int... from) {
    return from[random.nextInt(from.length)];
  }

  private static Case random(Random random, int mostRanks) {
    while (true) {
      int tp = pick(random, DIVISORS);
      int cp = pick(random, 1, 1, 2, 3, 4);
      int dp = pick(random, DIVISORS);
      int ranks = tp * cp * dp;
      int encoderTp = pick(random, DIVISORS);
      int encoderCp = random.nextInt(4) == 0 ? 2 : 1;
      int encoderDp = ranks / (encoderTp * encoderCp);
      boolean fits =
          ranks <= mostRanks
              && ranks > 1
              && encoderTp * encoderCp * encoderDp == ranks
              && (encoderDp % dp == 0 || dp % encoderDp == 0);
      if (fits) {
        int offset = pick(random, 0, 0, 1, 3);
        boolean contextFirst = random.nextInt(3) == 0;
        String language =
            contextFirst
                ? "cp=" + cp + ",tp=" + tp + ",dp=" + dp
                : "tp=" + tp + ",cp=" + cp + ",dp=" + dp;
        TwoModuleLayout layout =
            TwoModules.layout(
                "tp=" + encoderTp + ",cp=" + encoderCp + ",dp=" + encoderDp + ",offset=" + offset,
                language + ",offset=" + offset,
                random.nextBoolean());
        return of(random, layout);
      }
    }
  }

  private static Case of(Random random, TwoModuleLayout layout) {
    Style style = random.nextBoolean() ? Style.GPT : Style.LLAMA;
    int size = pick(random, 2, 4);
    int queries = style == Style.LLAMA ? 24 : 12;
    int hidden = pick(random, 12, 24);
    TwoModuleConfig config =
        new TwoModuleConfig(
            new TransformerConfig(
                "vit", 12, 1 + random.nextInt(2), 12, 12, 2, 12, 1, pick(random, 4, 8), Style.VIT),
            pick(random, 3, 6),
            12,
            new TransformerConfig(
                "fuzz", hidden, 1 + random.nextInt(2), queries, 12, size, 12, 24, 96, style),
            random.nextInt(24));
    int samples = layout.samplesFactor() * (1 + random.nextInt(2));
    int factor = layout.sequenceFactor();
    int sequence = Math.ceilDiv(config.tokensPerSample() + 2 + random.nextInt(8), factor) * factor;
    return new Case(
        layout,
        config,
        samples,
        sequence,
        1 + random.nextInt(3),
        Masks.values()[random.nextInt(3)],
        random.nextInt(5) == 0,
        random.nextInt(1000));
  }

  private static void check(Case c) {
    List<Microbatch> data =
        Microbatches.random(c.config, c.samples, c.sequence, c.microbatches, c.masks, c.seed);
    TwoModuleTraining.Settings settings =
        TwoModuleTraining.Settings.of(DType.F64).withInit(c.seed, 0.2).withFrozen(c.frozen);
    LayoutRun one = TwoModules.run(TwoModuleLayout.ONE_RANK, c.config, settings, data, 0);
    LayoutVerdict verdict = TwoModules.run(c.layout, c.config, settings, data, 0).compareWith(one);
    assertThat(verdict.first()).as(c.toString()).isEmpty();
    assertThat(verdict.tensors()).as(c.toString()).isPositive();
    verdict
        .ratios()
        .values()
        .forEach(r -> assertThat(Math.abs(r - 1)).as(c.toString()).isLessThan(1e-9));
  }

  @Test
  void randomCases_few_equalOneRank() {
    Random random = new Random(11);
    for (int i = 0; i < 4; i++) {
      check(random(random, 6));
    }
  }

  /**
   * As many as {@code -Dkernbench.tests.fuzz} says; from a seed of {@code -Dkernbench.tests.seed}.
   */
  @Tag("slow")
  @Timeout(value = 2, unit = TimeUnit.HOURS)
  @Test
  void randomCases_many_equalOneRank() {
    int cases = Integer.getInteger("kernbench.tests.fuzz", 200);
    Random random = new Random(Long.getLong("kernbench.tests.seed", 1));
    for (int i = 0; i < cases; i++) {
      check(random(random, 12));
      if (Boolean.getBoolean("kernbench.tests.show")) {
        System.out.println(i + 1 + " equal");
      }
    }
  }
}
