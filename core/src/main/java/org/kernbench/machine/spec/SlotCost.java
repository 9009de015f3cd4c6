package org.kernbench.machine.spec;

import java.util.Optional;
import org.kernbench.config.ConfigMap;
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
  /** Reads the cost of one kind of memory. */
  static SlotCost read(ConfigMap map) {
    long setup = map.time("setup");
    Rate rate = Rate.ofBytesPerSecond(map.bandwidth("bandwidth"));
    Optional<Rate> bank = Optional.empty();
    if (!map.isText("bank_bandwidth", "none")) {
      bank = Optional.of(Rate.ofBytesPerSecond(map.bandwidth("bank_bandwidth")));
    }
    map.done();
    return new SlotCost(setup, rate, bank);
  }

  /** Picoseconds for one access of {@code bytes} bytes; each term is rounded up. */
  public long durationPs(long bytes) {
    long slot = setupPs + slotRate.durationPs(bytes);
    return bankRate.isPresent() ? slot + bankRate.get().durationPs(bytes) : slot;
  }
}
