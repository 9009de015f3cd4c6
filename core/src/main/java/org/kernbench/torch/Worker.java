package org.kernbench.torch;

/**
 * One rank, as its body sees it. Bodies run one at a time and give way only where they wait: for a
 * kernel, a host read, a collective, a barrier.
 */
public final class Worker {
  private final int rank;
  private final int worldSize;
  private final Torch torch;

  Worker(int rank, int worldSize, Torch torch) {
    this.rank = rank;
    this.worldSize = worldSize;
    this.torch = torch;
  }

  /** Number of this rank, 0 to {@link #worldSize} less one. */
  public int rank() {
    return rank;
  }

  /** How many ranks were spawned. */
  public int worldSize() {
    return worldSize;
  }

  /**
   * The runtime; tensors lie on the device of this rank unless {@link Ahbm#setDevice} says else.
   */
  public Torch torch() {
    return torch;
  }

  /** What this rank does together with others. */
  public Distributed distributed() {
    return torch.distributed();
  }
}
