package org.kernbench.machine;

import org.kernbench.sim.Rate;

/**
 * Rate and latency of all links of one kind.
 *
 * @param rate bytes per second, per direction
 * @param latencyPs latency, the node entered included, ps
 */
public record LinkSpec(Rate rate, long latencyPs) {}
