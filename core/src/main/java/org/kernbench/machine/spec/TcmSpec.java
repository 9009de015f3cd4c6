package org.kernbench.machine.spec;

import org.kernbench.sim.Rate;

/**
 * The scratch memory of a PE.
 *
 * @param sizeBytes size
 * @param rate port bandwidth
 * @param latencyPs access latency, ps; writes from the fabric have it on the link into the PE
 */
public record TcmSpec(long sizeBytes, Rate rate, long latencyPs) {}
