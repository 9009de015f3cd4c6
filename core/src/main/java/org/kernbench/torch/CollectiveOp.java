package org.kernbench.torch;

/** The collectives of {@link Distributed}. */
public enum CollectiveOp {
  /** Every rank ends with the reduction of all ranks' tensors. */
  ALL_REDUCE("allReduce"),
  /**
   * No rank goes on before all have arrived and their device work is done. The host performs it; no
   * {@link Communicator} is asked for a kernel.
   */
  BARRIER("barrier");

  private final String method;

  CollectiveOp(String method) {
    this.method = method;
  }

  /** The method of {@link Distributed} that asks for it, for reports. */
  public String method() {
    return method;
  }
}
