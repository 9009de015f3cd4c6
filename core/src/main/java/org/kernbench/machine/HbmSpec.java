package org.kernbench.machine;

import org.kernbench.sim.Rate;

/**
 * The HBM slice that one PE owns, in its flat model: a rate and a latency.
 *
 * @param sizeBytes size of the slice
 * @param rate effective bandwidth, efficiency included
 * @param peakRate bandwidth of its pseudo-channels before efficiency
 * @param channels pseudo-channels of the slice
 * @param burstBytes bytes on one pseudo-channel before the next takes over
 * @param latencyPs access latency, ps
 */
public record HbmSpec(
    long sizeBytes, Rate rate, Rate peakRate, int channels, long burstBytes, long latencyPs) {}
