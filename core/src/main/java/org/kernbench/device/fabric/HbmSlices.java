package org.kernbench.device.fabric;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.DramSpec;
import org.kernbench.machine.spec.LinkKind;

/**
 * The HBM slices of a machine, banked, by the link that is their port; and what the transfers of a
 * {@link Fabric} that begin or end there ask of them.
 */
final class HbmSlices {
  private static final int ANYWHERE_SHIFT = 14; // transfers that do not say where: 16 KiB apart

  private final Machine machine;
  private final DramSpec dram;
  private final boolean[] isPort;
  private final @Nullable HbmBanks[] banks;

  // by transfer: its port or -1, whether it writes, where
  private int[] ports = new int[64];
  private boolean[] writes = new boolean[64];
  private MemorySpan[] spans = new MemorySpan[64];

  HbmSlices(Machine machine) {
    this.machine = machine;
    this.dram = machine.hbm().dram();
    this.isPort = new boolean[machine.linkCount()];
    this.banks = new HbmBanks[machine.linkCount()];
    for (int i = 0; i < isPort.length; i++) {
      isPort[i] = machine.linkKind(i) == LinkKind.HBM_PORT;
    }
  }

  boolean isPort(int link) {
    return isPort[link];
  }

  long windowBytes() {
    return dram.windowBytes();
  }

  /** Notes a transfer; false if it neither begins nor ends in HBM. */
  boolean begin(int t, long id, FabricRoute route, long bytes, @Nullable MemorySpan span) {
    if (t >= ports.length) {
      ports = Arrays.copyOf(ports, Math.max(t + 1, 2 * t));
      writes = Arrays.copyOf(writes, ports.length);
      spans = Arrays.copyOf(spans, ports.length);
    }
    int last = route.links[route.links.length - 1];
    boolean write = isPort[last];
    ports[t] = write ? last : route.readPort;
    writes[t] = write;
    if (ports[t] < 0) {
      return false;
    }
    spans[t] =
        span != null
            ? span
            : new MemorySpan(
                (id << ANYWHERE_SHIFT) % machine.hbm().sizeBytes(), Integer.MAX_VALUE, 0);
    return true;
  }

  boolean isRead(int t) {
    return !writes[t];
  }

  int port(int t) {
    return ports[t];
  }

  /**
   * What an access takes in an idle memory whose banks are precharged, beyond its port's latency.
   */
  long idlePs(int t) {
    return writes[t]
        ? dram.tRcdWr() + dram.tCwl() + dram.tBl() - machine.hbm().latencyPs()
        : dram.rowClosedPs();
  }

  /** Moves part of a transfer now; the answer holds when. */
  HbmBanks access(int t, long from, long bytes, long nowPs) {
    HbmBanks slice = banks[ports[t]];
    if (slice == null) {
      slice = new HbmBanks(machine.hbm(), dram);
      banks[ports[t]] = slice;
    }
    final MemorySpan span = spans[t];
    long at = from;
    final long end = from + bytes;
    slice.begin(nowPs);
    while (at < end) {
      long inRow = at % span.rowBytes();
      long length = Math.min(end - at, span.rowBytes() - inRow);
      slice.add(
          span.offset() + at / span.rowBytes() * span.strideBytes() + inRow,
          length,
          writes[t],
          nowPs);
      at += length;
    }
    return slice;
  }

  /** How much later than from an idle memory the last access was done. */
  long waitedPs(int t, long nowPs) {
    HbmBanks slice = banks[ports[t]];
    return slice == null
        ? 0
        : slice.firstPs
            - nowPs
            - (writes[t] ? dram.tRcdWr() + dram.tCwl() + dram.tBl() : dram.rowClosedPs());
  }
}
