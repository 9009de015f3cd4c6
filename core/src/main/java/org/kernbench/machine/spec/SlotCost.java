package org.kernbench.machine.spec;

import java.util.Optional;
import org.kernbench.sim.Rate;

/**
 * What one write or one read of a queue slot costs with serial access: {@code setup +
 * bytes/slotRate + bytes/bankRate}.
 *
 * @param setupPs fixed part, ps
 * @param slotRate bandwidth of the memory
 * @param bankRate bandwidth of the way to its bank, if that is charged
 */
public record SlotCost(long setupPs, Rate slotRate, Optional<Rate> bankRate) {
  /** Picoseconds for one access of {@code bytes} bytes; each term is rounded up. */
  public long durationPs(long bytes) {
    long slot = setupPs + slotRate.durationPs(bytes);
    return bankRate.isPresent() ? slot + bankRate.get().durationPs(bytes) : slot;
  }
}
