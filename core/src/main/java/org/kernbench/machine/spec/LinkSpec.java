package org.kernbench.machine.spec;

import org.kernbench.sim.Rate;

/**
 * Rate and latency of all links of one kind.
 *
 * @param rate bytes per second, per direction
 * @param latencyPs latency, the node entered included, ps
 */
public record LinkSpec(Rate rate, long latencyPs) {
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
