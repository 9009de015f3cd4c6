package org.kernbench.machine.spec;

/** How the packages along one dimension of a network are joined. */
public enum DimensionKind {
  /** Each to the next and the one before, the last to the first; of two, with one link each way. */
  RING,
  /** Each to the next and the one before; none between the last and the first. */
  MESH,
  /** Each to each other, with a link of its own. */
  FULLY_CONNECTED,
  /** All to one switch, each with one link to it and one from it. */
  SWITCH
}
