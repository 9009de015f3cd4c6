package org.kernbench.tl;

/**
 * The SIPs of a launch, for axis 2 of {@link Tl#programId}.
 *
 * @param firstSip the lowest SIP that takes part
 * @param sips how many from there on
 */
public record LaunchGrid(int firstSip, int sips) {}
