package org.kernbench.machine.spec;

import org.kernbench.config.ConfigMap;
import org.kernbench.sim.Rate;

/**
 * The scratch memory of a PE.
 *
 * @param sizeBytes size
 * @param rate port bandwidth
 * @param latencyPs access latency, ps; writes from the fabric have it on the link into the PE
 */
public record TcmSpec(long sizeBytes, Rate rate, long latencyPs) {
  /** Reads {@code pe.tcm}. */
  public static TcmSpec read(ConfigMap map) {
    TcmSpec spec =
        new TcmSpec(
            map.size("size"),
            Rate.ofBytesPerSecond(map.bandwidth("bandwidth")),
            map.time("latency"));
    map.done();
    return spec;
  }
}
