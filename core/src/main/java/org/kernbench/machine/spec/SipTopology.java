package org.kernbench.machine.spec;

/** How packages are joined. */
public enum SipTopology {
  /** A ring along the E and W ports. */
  RING_1D,
  /** A grid whose rows and columns are rings. */
  TORUS_2D,
  /** A grid without wrap links. */
  MESH_2D_NO_WRAP,
  /** A link between each two packages, spread over the four sides. */
  FULLY_CONNECTED,
  /** One switch, to which each package has one link on its E side. */
  SWITCH;

  /** True if packages have a place in a grid. */
  public boolean isGrid() {
    return this == TORUS_2D || this == MESH_2D_NO_WRAP;
  }
}
