package org.kernbench.nn.multimodal;

import java.util.List;
import org.kernbench.nn.bridge.BridgeOptions;
import org.kernbench.nn.bridge.BridgePlan;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.RankGrid;

/**
 * How two modules divide the same ranks, each by a grid of its own.
 *
 * @param encoder dimensions {@code tp}, {@code dp} and perhaps {@code cp}
 * @param language dimensions {@code tp}, {@code dp} and perhaps {@code cp}
 * @param sequenceParallel whether the language model divides rows of activations over {@code tp}
 */
public record TwoModuleLayout(RankGrid encoder, RankGrid language, boolean sequenceParallel) {
  /** Everything on one rank. */
  public static final TwoModuleLayout ONE_RANK =
      new TwoModuleLayout(
          RankGrid.of(List.of(Dim.TP, Dim.DP), 1, 1),
          RankGrid.of(List.of(Dim.TP, Dim.DP), 1, 1),
          false);

  /**
   * Checks that there can be a bridge between the modules.
   *
   * @throws LayoutException if there cannot, see {@link BridgePlan}
   */
  public TwoModuleLayout {
    plan(encoder, language); // refuses what cannot be joined
  }

  /** How samples go from one module to the other. */
  public BridgePlan bridge() {
    return plan(encoder, language);
  }

  private static BridgePlan plan(RankGrid encoder, RankGrid language) {
    BridgeOptions options =
        encoder.size(Dim.CP) > 1
            ? BridgeOptions.DEFAULT.withSourceContextParallel()
            : BridgeOptions.DEFAULT;
    return new BridgePlan(encoder, language, options);
  }

  /** Number of ranks. */
  public int ranks() {
    return encoder.size();
  }

  /** Number of ranks that a run needs: those before the offset take no part. */
  public int worldSize() {
    return encoder.offset() + encoder.size();
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
