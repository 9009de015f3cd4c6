package org.kernbench.machine;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.kernbench.machine.spec.LinkKind;

/**
 * What a message costs the channel of its sender before its first byte leaves, by cause. A {@link
 * Route} lists those that its messages pay; time, forecasts, bounds and explanations go by that
 * list, so that a new one is added here alone.
 */
public enum Overhead {
  /** The DMA of the sender: {@code pe.dma.message_overhead}, of every message. */
  DMA {
    @Override
    boolean isPaidOver(Set<LinkKind> kinds) {
      return true;
    }

    @Override
    public long ps(Machine machine) {
      return machine.config().pe().dma().messageOverheadPs();
    }
  };

  /** Those that messages pay on a route over links of these kinds. */
  public static List<Overhead> over(Set<LinkKind> kinds) {
    return Stream.of(values()).filter(each -> each.isPaidOver(kinds)).toList();
  }

  /** Whether messages pay it on a route over links of these kinds; over more kinds no less. */
  abstract boolean isPaidOver(Set<LinkKind> kinds);

  /** Picoseconds on a machine. */
  public abstract long ps(Machine machine);
}
