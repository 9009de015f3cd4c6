package org.kernbench.machine.spec;

import org.kernbench.config.ConfigMap;
import org.kernbench.sim.Rate;

/**
 * The SRAM that the PEs of a cube share.
 *
 * @param sizeBytes size
 * @param rate port bandwidth
 * @param latencyPs access latency, ps
 */
public record SramSpec(long sizeBytes, Rate rate, long latencyPs) {
  /** Reads {@code cube.sram}. */
  public static SramSpec read(ConfigMap map) {
    SramSpec spec =
        new SramSpec(
            map.size("size"),
            Rate.ofBytesPerSecond(map.bandwidth("bandwidth")),
            map.time("latency"));
    map.done();
    return spec;
  }
}
