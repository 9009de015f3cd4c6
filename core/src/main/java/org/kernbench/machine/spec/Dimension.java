package org.kernbench.machine.spec;

/**
 * One dimension of a network of packages: along it, packages that have the same place in all other
 * dimensions are joined alike.
 *
 * @param kind how they are joined
 * @param size how many places it has, at least 1
 * @param link rate and latency of its links; with a switch, of those to it
 * @param fromSwitch rate and latency of the links from its switch; as {@code link} without one
 * @param wholeMessages whether its switch has to have all of what it passes on, in pieces of {@code
 *     fabric.chunk}; if not, it passes bytes on as they come
 * @param uncontended whether messages pass each other on its links: each takes its bytes at the
 *     rate of the link, however many do so at once
 * @param sumShareBillionths what share of a port's rate its switch combines at, in billionths; 0 if
 *     it only passes on
 */
public record Dimension(
    DimensionKind kind,
    int size,
    LinkSpec link,
    LinkSpec fromSwitch,
    boolean wholeMessages,
    boolean uncontended,
    long sumShareBillionths) {

  /** A switch that combines as fast as its ports bring. */
  public static final long FULL_SHARE = 1_000_000_000;

  /** One whose links are all the same. */
  public static Dimension of(DimensionKind kind, int size, LinkSpec link) {
    return new Dimension(kind, size, link, link, false, false, 0);
  }

  /** This dimension with a switch that combines at a share of its ports' rate. */
  public Dimension summing(long shareBillionths) {
    return new Dimension(kind, size, link, fromSwitch, wholeMessages, uncontended, shareBillionths);
  }

  /** Whether its switch adds up what comes from its ports. */
  public boolean reduces() {
    return sumShareBillionths > 0;
  }

  /** Whether every place of it has the same links: on a mesh, the ends have fewer. */
  public boolean isAlike() {
    return kind != DimensionKind.MESH || size < 2;
  }

  /** Whether it closes, so that a message may go on past the last place. */
  public boolean wraps() {
    return kind == DimensionKind.RING && size > 2;
  }
}
