package org.kernbench.nn;

import java.util.List;
import java.util.Map;
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

  static final Settings SGD = Settings.of(DType.F64).withInit(7, 0.3).withMethod(Method.SGD, 0.05);
  static final Settings ADAMW = SGD.withMethod(Method.ADAMW, 0.01);

  private static final Map<List<Object>, LayoutRun> ONE_RANK = new ConcurrentHashMap<>();

  private TwoModules() {}

  static TwoModuleLayout layout(String encoder, String language, boolean sp) {
    return new TwoModuleLayout(RankGrid.parse(encoder), RankGrid.parse(language), sp);
  }

  static LayoutRun run(
      TwoModuleLayout layout, TwoModuleConfig c, Settings s, List<Microbatch> data, int steps) {
    LayoutRun run = new LayoutRun(layout, c, s, data, steps);
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
  static LayoutRun oneRank(TwoModuleConfig c, Settings s, List<Microbatch> data, int steps) {
    Settings right = s.withFault(Fault.NONE);
    return ONE_RANK.computeIfAbsent(
        List.of(c, right, data, steps),
        key -> run(TwoModuleLayout.ONE_RANK, c, right, data, steps));
  }

  static LayoutVerdict check(
      TwoModuleLayout layout, TwoModuleConfig c, Settings s, List<Microbatch> data, int steps) {
    return run(layout, c, s, data, steps).compareWith(oneRank(c, s, data, steps));
  }
}
