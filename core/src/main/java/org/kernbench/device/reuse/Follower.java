package org.kernbench.device.reuse;

/** A stretch that does as another that is noted meanwhile. */
interface Follower {
  /** More has come of the other: a step, or a link that it had not used. */
  void lookLater();

  /**
   * The other has looked up an access in a TLB.
   *
   * @param slot number of the PE in the stretch
   */
  void accessed(int slot);
}
