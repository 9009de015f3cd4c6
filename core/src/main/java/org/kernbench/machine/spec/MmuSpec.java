package org.kernbench.machine.spec;

import org.kernbench.config.ConfigMap;
import org.kernbench.config.Quantity;

/**
 * The memory management unit of a PE, which translates the virtual addresses of its loads and
 * stores. Its translation look-aside buffer (TLB) forgets the entry that was used least recently.
 *
 * @param entries translations that the TLB holds, each of one page, or of the part of one page that
 *     one range of memory backs
 * @param pageBytes size of a page, a power of two
 * @param missPs what a translation takes that the TLB does not hold, ps; one that it holds takes
 *     nothing
 * @param fill when a translation enters the TLB
 */
public record MmuSpec(int entries, long pageBytes, long missPs, TlbFill fill) {
  /** Reads {@code pe.mmu}. */
  public static MmuSpec read(ConfigMap map) {
    MmuSpec spec =
        new MmuSpec(
            map.integer("entries", 1, 1 << 20),
            map.quantity("page_size", Quantity.SIZE, 64),
            map.time("miss"),
            map.choice("fill", TlbFill.values()));
    map.checkPowerOfTwo("page_size", spec.pageBytes());
    map.done();
    return spec;
  }
}
