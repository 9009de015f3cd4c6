package org.kernbench.machine;

/** A side of a cube, a package or the SIP grid; x grows to the east, y to the south. */
public enum Side {
  /** Towards smaller y. */
  N(0, -1),
  /** Towards larger x. */
  E(1, 0),
  /** Towards larger y. */
  S(0, 1),
  /** Towards smaller x. */
  W(-1, 0);

  private final int dx;
  private final int dy;

  Side(int dx, int dy) {
    this.dx = dx;
    this.dy = dy;
  }

  /** Step along x: 1 for E, -1 for W, else 0. */
  public int dx() {
    return dx;
  }

  /** Step along y: 1 for S, -1 for N, else 0. */
  public int dy() {
    return dy;
  }

  /** The side across. */
  public Side opposite() {
    return switch (this) {
      case N -> S;
      case E -> W;
      case S -> N;
      case W -> E;
    };
  }
}
