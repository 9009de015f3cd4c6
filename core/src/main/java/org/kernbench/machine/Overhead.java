package org.kernbench.machine;

/**
 * What a message costs the channel of its sender before its first byte leaves, by cause. A {@link
 * Route} lists those that its messages pay; time, forecasts, bounds and explanations go by that
 * list, so that a new one is added here alone.
 */
public enum Overhead {
  /** The DMA of the sender: {@code pe.dma.message_overhead}, of every message. */
  DMA {
    @Override
    boolean isPaidOn(Route route) {
      return true;
    }

    @Override
    public long ps(Machine machine) {
      return machine.config().pe().dma().messageOverheadPs();
    }
  };

  /** Whether messages on a route pay it. The longer of two routes on one way pays no less. */
  abstract boolean isPaidOn(Route route);

  /** Picoseconds on a machine. */
  public abstract long ps(Machine machine);
}
