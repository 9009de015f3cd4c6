package org.kernbench.torch;

import java.util.Optional;
import org.kernbench.device.Mode;
import org.kernbench.device.Watch;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.placement.Spread;

/**
 * How a {@link Torch} is opened.
 *
 * @param mode what the run computes
 * @param simulator what it records
 * @param collectives the collective algorithms; without them ranks are packages and there is no
 *     process group
 * @param spread on how many PEs of its device a rank's layers compute; kernels that are launched on
 *     tensors run where these lie
 */
public record TorchOptions(
    Mode mode, SimulatorOptions simulator, Optional<CollectiveBackend> collectives, Spread spread) {
  /** Values and time, default records, no collectives. */
  public static final TorchOptions DEFAULT =
      new TorchOptions(Mode.FULL, SimulatorOptions.DEFAULT, Optional.empty());

  /** Options whose layers compute on the first PE of their devices. */
  public TorchOptions(
      Mode mode, SimulatorOptions simulator, Optional<CollectiveBackend> collectives) {
    this(mode, simulator, collectives, Spread.LEAD);
  }

  /** A copy with another mode. */
  public TorchOptions withMode(Mode other) {
    return new TorchOptions(other, simulator, collectives, spread);
  }

  /** A copy with other records. */
  public TorchOptions withSimulator(SimulatorOptions other) {
    return new TorchOptions(mode, other, collectives, spread);
  }

  /**
   * A copy whose execution is watched, for example by {@link org.kernbench.device.check.Findings}.
   *
   * @param source has seen all when the {@link Torch} is closed
   */
  public TorchOptions checkedBy(Watch.Source source) {
    return withSimulator(simulator.checkedBy(source));
  }

  /** A copy with collectives. */
  public TorchOptions withCollectives(CollectiveBackend backend) {
    return new TorchOptions(mode, simulator, Optional.of(backend), spread);
  }

  /** A copy whose layers compute on other PEs of their device. */
  public TorchOptions withSpread(Spread other) {
    return new TorchOptions(mode, simulator, collectives, other);
  }
}
