package org.kernbench.tl;

/**
 * What the programs of a launch have in common: its SIPs, for axis 2 of {@link Tl#programId}.
 *
 * @param firstSip the lowest SIP that takes part
 * @param sips how many from there on
 * @param plans the tiles of products found so far
 */
public record LaunchGrid(int firstSip, int sips, TilePlans plans) {
  /** Of a launch that begins. */
  public LaunchGrid(int firstSip, int sips) {
    this(firstSip, sips, new TilePlans());
  }
}
