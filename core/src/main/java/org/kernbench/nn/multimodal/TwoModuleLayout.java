package org.kernbench.nn.multimodal;

import java.util.List;
import org.kernbench.nn.bridge.BridgeLanes;
import org.kernbench.nn.bridge.BridgeOptions;
import org.kernbench.nn.bridge.BridgePlan;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.nn.pipeline.PipelineSchedule;

/**
 * How two modules divide ranks, each by a grid of its own: the same ranks, or each ranks of its
 * own, where each may have a pipeline.
 *
 * @param encoder dimensions {@code tp}, {@code dp} and perhaps {@code cp}, or on ranks of its own
 *     {@code pp}
 * @param language dimensions {@code tp}, {@code dp} and perhaps {@code cp}, and on ranks of its own
 *     {@code pp}
 * @param sequenceParallel whether the language model divides rows of activations over {@code tp}
 * @param pipelines how microbatches go through modules on ranks of their own
 */
public record TwoModuleLayout(
    RankGrid encoder, RankGrid language, boolean sequenceParallel, ModulePipelines pipelines) {
  /** Everything on one rank. */
  public static final TwoModuleLayout ONE_RANK =
      new TwoModuleLayout(
          RankGrid.of(List.of(Dim.TP, Dim.DP), 1, 1),
          RankGrid.of(List.of(Dim.TP, Dim.DP), 1, 1),
          false);

  /**
   * Checks that there can be a bridge between the modules.
   *
   * @throws LayoutException if there cannot, see {@link BridgePlan} and {@link BridgeLanes}
   */
  public TwoModuleLayout {
    bridge(encoder, language); // refuses what cannot be joined
  }

  /** With pipelines, if there are any, by 1F1B. */
  public TwoModuleLayout(RankGrid encoder, RankGrid language, boolean sequenceParallel) {
    this(encoder, language, sequenceParallel, ModulePipelines.DEFAULT);
  }

  /** A copy whose microbatches go through pipelines in another way. */
  public TwoModuleLayout with(ModulePipelines other) {
    return new TwoModuleLayout(encoder, language, sequenceParallel, other);
  }

  /** Whether each module has ranks of its own. */
  public boolean isApart() {
    return encoder.isApartFrom(language);
  }

  /** How samples go from one module to the other. */
  public Bridge bridge() {
    return bridge(encoder, language);
  }

  /**
   * What a bridge is, whether modules share ranks or not.
   *
   * @param direction which module has more replicas
   * @param text for people
   */
  public record Bridge(BridgePlan.Direction direction, String text) {
    @Override
    public String toString() {
      return text;
    }
  }

  private static Bridge bridge(RankGrid encoder, RankGrid language) {
    if (encoder.isApartFrom(language)) {
      BridgeLanes lanes = new BridgeLanes(encoder, language, BridgeOptions.DEFAULT);
      return new Bridge(lanes.direction(), lanes.toString());
    }
    BridgePlan plan = new BridgePlan(encoder, language, options(encoder));
    return new Bridge(plan.direction(), plan.toString());
  }

  private static BridgeOptions options(RankGrid encoder) {
    return encoder.size(Dim.CP) > 1
        ? BridgeOptions.DEFAULT.withSourceContextParallel()
        : BridgeOptions.DEFAULT;
  }

  /** How the bridge is to be understood. */
  BridgeOptions options() {
    return isApart() ? BridgeOptions.DEFAULT : options(encoder);
  }

  /** The stages of a model on ranks of its own, and the order in which they work. */
  ModulePipelines.Stages stages(TwoModuleConfig model, int microbatches) {
    return pipelines.stages(model, encoder.size(Dim.PP), language.size(Dim.PP), microbatches);
  }

  /**
   * The schedule of a step of modules on ranks of their own.
   *
   * @throws LayoutException if there is none, or a module has too few layers
   */
  public PipelineSchedule schedule(TwoModuleConfig model, int microbatches) {
    return stages(model, microbatches).schedule();
  }

  /** Number of ranks. */
  public int ranks() {
    return isApart() ? encoder.size() + language.size() : encoder.size();
  }

  /** The first rank of either module. */
  public int firstRank() {
    return Math.min(encoder.offset(), language.offset());
  }

  /** Number of ranks that a run needs: those of neither module take no part. */
  public int worldSize() {
    return Math.max(encoder.offset() + encoder.size(), language.offset() + language.size());
  }

  /** Samples of a microbatch must be a multiple of this. */
  public int samplesFactor() {
    return Math.max(encoder.size(Dim.DP), language.size(Dim.DP));
  }

  /**
   * Sequences must be a multiple of this: of {@code 2 cp}, of {@code tp} with sequence parallelism,
   * of their product with both.
   */
  public int sequenceFactor() {
    int cp = language.size(Dim.CP);
    int tp = language.size(Dim.TP);
    return (cp > 1 ? 2 * cp : 1) * (sequenceParallel && tp > 1 ? tp : 1);
  }

  /** For example {@code tp=2,dp=4 -> tp=2,cp=2,dp=2 sp}. */
  @Override
  public String toString() {
    return encoder + " -> " + language + (sequenceParallel ? " sp" : "");
  }
}
