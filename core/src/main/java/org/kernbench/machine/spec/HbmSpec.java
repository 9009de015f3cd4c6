package org.kernbench.machine.spec;

import org.kernbench.sim.Rate;

/**
 * The HBM slice that one PE owns.
 *
 * @param sizeBytes size of the slice
 * @param rate what the slice can give at most: with {@link HbmFidelity#FLAT} efficiency included,
 *     with {@link HbmFidelity#BANKED} the peak
 * @param peakRate bandwidth of its pseudo-channels before efficiency
 * @param channels pseudo-channels of the slice
 * @param burstBytes bytes on one pseudo-channel before the next takes over
 * @param latencyPs access latency, ps; with {@link HbmFidelity#BANKED} the shortest there is
 * @param fidelity which of the two models
 * @param dram timing of a pseudo-channel, used with {@link HbmFidelity#BANKED}
 */
public record HbmSpec(
    long sizeBytes,
    Rate rate,
    Rate peakRate,
    int channels,
    long burstBytes,
    long latencyPs,
    HbmFidelity fidelity,
    DramSpec dram) {

  /** Whether banks and rows are modelled. */
  public boolean isBanked() {
    return fidelity == HbmFidelity.BANKED;
  }
}
