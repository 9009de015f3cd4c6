package org.kernbench.machine.spec;

import org.kernbench.sim.Rate;

/**
 * The SRAM that the PEs of a cube share.
 *
 * @param sizeBytes size
 * @param rate port bandwidth
 * @param latencyPs access latency, ps
 */
public record SramSpec(long sizeBytes, Rate rate, long latencyPs) {}
