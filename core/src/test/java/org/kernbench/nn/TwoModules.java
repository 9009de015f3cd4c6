package org.kernbench.nn;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import org.kernbench.device.Mode;
import org.kernbench.nn.TwoModuleTraining.Method;
import org.kernbench.nn.TwoModuleTraining.Settings;
import org.kernbench.tensor.DType;

/** Small models of two modules, their data, and runs of them. */
final class TwoModules {
  /** Heads and widths that 1, 2, 3, 4, 6 and 12 ranks divide. */
  static final TwoModuleConfig SMALL =
      new TwoModuleConfig(
          new TransformerConfig("vit", 12, 1, 12, 12, 2, 12, 1, 4, TransformerConfig.Style.VIT),
          6,
          12,
          new TransformerConfig("gpt", 12, 1, 12, 12, 2, 12, 12, 48, TransformerConfig.Style.GPT),
          11);

  /** The same with rotation, gates and shared keys. */
  static final TwoModuleConfig LLAMA =
      new TwoModuleConfig(
          SMALL.encoder(),
          6,
          12,
          new TransformerConfig(
              "llama", 12, 2, 24, 12, 2, 12, 12, 48, TransformerConfig.Style.LLAMA),
          11);

  static final Settings SGD =
      new Settings(DType.F64, 7, 0.3, false, Method.SGD, 0.05, DataParallel.DEFAULT, Fault.NONE);

  private static final Map<List<Object>, LayoutRun> ONE_RANK = new ConcurrentHashMap<>();

  private TwoModules() {}

  /** Which tokens count. */
  enum Masks {
    /** All of the text. */
    UNIFORM,
    /** Of each sample another number, by the rule of {@code megatron.md} 12.1. */
    UNEVEN,
    /** None of the first half of samples, and of the others few. */
    GAPS
  }

  static TwoModuleLayout layout(String encoder, String language, boolean sp) {
    return new TwoModuleLayout(RankGrid.parse(encoder), RankGrid.parse(language), sp);
  }

  /** Microbatches with other values in every sample and position. */
  static List<Microbatch> data(
      TwoModuleConfig c, int samples, int sequence, int microbatches, Masks masks, long seed) {
    List<Microbatch> all = new ArrayList<>();
    for (int k = 0; k < microbatches; k++) {
      all.add(microbatch(c, samples, sequence, k, masks, new Random(seed * 31 + k)));
    }
    return all;
  }

  private static Microbatch microbatch(
      TwoModuleConfig c, int samples, int sequence, int k, Masks masks, Random random) {
    int n = samples * sequence;
    int[] ids = new int[n];
    int[] targets = new int[n];
    double[] mask = new double[n];
    int tokens = c.tokensPerSample();
    for (int i = 0; i < n; i++) {
      int at = i % sequence;
      int sample = i / sequence;
      // placeholders begin at another position in each sample
      int start = sample % (sequence - tokens + 1);
      boolean isText = at < start || at >= start + tokens;
      ids[i] = isText ? random.nextInt(c.placeholder()) : c.placeholder();
      targets[i] = isText ? random.nextInt(c.language().vocabulary()) : -100;
      boolean counts =
          switch (masks) {
            case UNIFORM -> true;
            case UNEVEN -> at < sequence - (7 * k + 3 * sample) % (sequence - tokens - 1) - 1;
            case GAPS -> sample >= samples / 2 && at >= sequence / 2;
          };
      mask[i] = isText && counts ? 1 : 0;
    }
    double[] patches = random.doubles((long) samples * tokens * c.patch(), -1, 1).toArray();
    return new Microbatch(samples, sequence, ids, targets, mask, patches);
  }

  static LayoutRun run(
      TwoModuleLayout layout, TwoModuleConfig c, Settings s, List<Microbatch> data) {
    LayoutRun run = new LayoutRun(layout, c, s, data);
    try {
      Ranks.run(layout.worldSize(), Mode.VALUES, run::body);
    } catch (RuntimeException e) {
      if (!run.isFailed()) {
        throw e;
      }
    }
    return run;
  }

  /** The run on one rank, made once. */
  static LayoutRun oneRank(TwoModuleConfig c, Settings s, List<Microbatch> data) {
    Settings right = s.with(Fault.NONE);
    return ONE_RANK.computeIfAbsent(
        List.of(c, right, data), key -> run(TwoModuleLayout.ONE_RANK, c, right, data));
  }

  static LayoutVerdict check(
      TwoModuleLayout layout, TwoModuleConfig c, Settings s, List<Microbatch> data) {
    return LayoutComparison.of(oneRank(c, s, data), run(layout, c, s, data));
  }
}
