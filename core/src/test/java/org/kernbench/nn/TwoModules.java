package org.kernbench.nn;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.kernbench.device.Mode;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.compare.LayoutRun;
import org.kernbench.nn.compare.LayoutVerdict;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.multimodal.TwoModuleTraining.Method;
import org.kernbench.nn.multimodal.TwoModuleTraining.Settings;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;

/** Small models of two modules, their data, and runs of them. */
public final class TwoModules {
  /** Heads and widths that 1, 2, 3, 4, 6 and 12 ranks divide. */
  public static final TwoModuleConfig SMALL =
      new TwoModuleConfig(
          new TransformerConfig("vit", 12, 1, 12, 12, 2, 12, 1, 4, TransformerConfig.Style.VIT),
          6,
          12,
          new TransformerConfig("gpt", 12, 1, 12, 12, 2, 12, 12, 48, TransformerConfig.Style.GPT),
          11);

  /** The same with rotation, gates and shared keys. */
  public static final TwoModuleConfig LLAMA =
      new TwoModuleConfig(
          SMALL.encoder(),
          6,
          12,
          new TransformerConfig(
              "llama", 12, 2, 24, 12, 2, 12, 12, 48, TransformerConfig.Style.LLAMA),
          11);

  public static final Settings SGD =
      Settings.of(DType.F64).withInit(7, 0.3).withMethod(Method.SGD, 0.05);
  static final Settings ADAMW = SGD.withMethod(Method.ADAMW, 0.01);

  private static final Map<List<Object>, LayoutRun> ONE_RANK = new ConcurrentHashMap<>();

  private TwoModules() {}

  public static TwoModuleLayout layout(String encoder, String language, boolean sp) {
    return new TwoModuleLayout(RankGrid.parse(encoder), RankGrid.parse(language), sp);
  }

  public static LayoutRun run(
      TwoModuleLayout layout, TwoModuleConfig c, Settings s, List<Microbatch> data, int steps) {
    return run(Ranks.Devices.ONE_PE, layout, c, s, data, steps);
  }

  private static LayoutRun run(
      Ranks.Devices devices,
      TwoModuleLayout layout,
      TwoModuleConfig c,
      Settings s,
      List<Microbatch> data,
      int steps) {
    LayoutRun run = new LayoutRun(layout, c, s, data, steps);
    try {
      Ranks.run(devices, layout.worldSize(), Mode.VALUES, run::body);
    } catch (RuntimeException e) {
      if (!run.isFailed()) {
        throw e;
      }
    }
    return run;
  }

  /** The run on one rank, made once. */
  public static LayoutRun oneRank(TwoModuleConfig c, Settings s, List<Microbatch> data, int steps) {
    Settings right = s.withFault(Fault.NONE);
    return ONE_RANK.computeIfAbsent(
        List.of(c, right, data, steps),
        key -> run(TwoModuleLayout.ONE_RANK, c, right, data, steps));
  }

  public static LayoutVerdict check(
      TwoModuleLayout layout, TwoModuleConfig c, Settings s, List<Microbatch> data, int steps) {
    return check(Ranks.Devices.ONE_PE, layout, c, s, data, steps);
  }

  /** The same on other devices; one rank is a PE. */
  public static LayoutVerdict check(
      Ranks.Devices devices,
      TwoModuleLayout layout,
      TwoModuleConfig c,
      Settings s,
      List<Microbatch> data,
      int steps) {
    return run(devices, layout, c, s, data, steps).compareWith(oneRank(c, s, data, steps));
  }
}
