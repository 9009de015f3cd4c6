package org.kernbench.machine.spec;

import org.kernbench.config.ConfigMap;
import org.kernbench.config.Quantity;
import org.kernbench.sim.Rate;

/**
 * Rate and latency of all links of one kind.
 *
 * @param rate bytes per second, per direction
 * @param latencyPs latency, the node entered included, ps
 */
public record LinkSpec(Rate rate, long latencyPs) {
  /** Reads the rate and latency of a kind of link; other keys of the section are the caller's. */
  public static LinkSpec read(ConfigMap map) {
    Rate rate = Rate.ofBytesPerSecond(map.bandwidth("bandwidth"));
    return new LinkSpec(rate, map.quantity("latency", Quantity.TIME, 1));
  }

  /** What bytes take at its rate, ps. */
  public long durationPs(long bytes) {
    return rate.durationPs(bytes);
  }

  /** Two such links side by side, which messages use as one. */
  public LinkSpec doubled() {
    return new LinkSpec(
        Rate.ofBytesPerSecond(Math.multiplyExact(2, rate.bytesPerSecond())), latencyPs);
  }
}
