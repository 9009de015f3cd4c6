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
  SWITCH,
  /** A product of dimensions, each joined in a way of its own: {@code system.network}. */
  NETWORK;

  private static final SipTopology[] SHORT_FORMS = {
    RING_1D, TORUS_2D, MESH_2D_NO_WRAP, FULLY_CONNECTED, SWITCH
  };

  /** Those that a configuration can name with one word. */
  public static SipTopology[] shortForms() {
    return SHORT_FORMS.clone();
  }

  /** True if packages have a place in a grid. */
  public boolean isGrid() {
    return this == TORUS_2D || this == MESH_2D_NO_WRAP;
  }
}
